/// Why a command to a peer connection was refused. Nothing has changed when one is thrown.
public enum PeerError: Error, Sendable, Equatable {
    /// The connection is closed (W3C: InvalidStateError).
    case closed
    /// There is no such transceiver (W3C: InvalidAccessError).
    case unknownTransceiver
    /// The transceiver was not made with such a layer (W3C: InvalidAccessError).
    case unknownLayer
    /// Nothing can be sent on this transceiver now, or nothing of this format: `PeerConnection.sendingFormat(of:)` says
    /// which was negotiated.
    case notSending
    /// A description or candidate was refused.
    case negotiation(NegotiationError)
}

extension PeerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .closed: "The peer connection is closed."
        case .unknownTransceiver: "This transceiver belongs to another peer connection."
        case .unknownLayer: "The transceiver has no layer of this name."
        case .notSending: "Nothing can be sent on this transceiver now, or nothing of this format."
        case .negotiation(let error): "\(error)"
        }
    }
}
