internal import RTCWire

/// Which way media flows through a transceiver, seen from us (W3C WebRTC §5.4).
public enum TransceiverDirection: String, Sendable, Hashable, CaseIterable {
    case sendrecv, sendonly, recvonly, inactive
    /// For good.
    case stopped

    public var sends: Bool {
        switch self {
        case .sendrecv, .sendonly: true
        case .recvonly, .inactive, .stopped: false
        }
    }

    public var receives: Bool {
        switch self {
        case .sendrecv, .recvonly: true
        case .sendonly, .inactive, .stopped: false
        }
    }

    init(_ direction: SDP.Direction) {
        switch direction {
        case .sendrecv: self = .sendrecv
        case .sendonly: self = .sendonly
        case .recvonly: self = .recvonly
        case .inactive: self = .inactive
        }
    }

    /// As it is written in a description: a stopped transceiver's section is inactive besides being rejected.
    var described: SDP.Direction { SDP.Direction(sends: sends, receives: receives) }
}
