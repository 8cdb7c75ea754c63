/// Why a command to a peer connection was refused. Nothing has changed when one is thrown.
public enum PeerError: Error, Sendable, Equatable {
    /// The connection is closed (W3C: InvalidStateError).
    case closed
    /// There is no such transceiver (W3C: InvalidAccessError).
    case unknownTransceiver
    /// The transceiver was not made with such a layer (W3C: InvalidAccessError).
    case unknownLayer
    /// The transceiver is not negotiated for sending just now, or another payload format was negotiated.
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
        case .notSending: "Nothing is negotiated to be sent on this transceiver."
        case .negotiation(let error): "\(error)"
        }
    }
}
