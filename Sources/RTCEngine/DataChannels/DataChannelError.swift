/// Why a call to a data channel, or for a new one, was refused. Nothing has changed when one is thrown.
public enum DataChannelError: Error, Sendable, Hashable {
    /// The peer connection is closed, or its transport for data has ended.
    case connectionClosed
    /// The channel belongs to another connection, or has been closed.
    case unknownChannel
    /// Messages can be sent while the channel is open only.
    case notOpen(DataChannelState)
    /// The peer takes no message of this size. Bytes.
    case messageTooLarge(limit: Int)
    /// Too much waits to be sent; wait until `bufferedAmount` is low.
    case bufferFull
    /// `maxPacketLifeTime` and `maxRetransmits` exclude each other.
    case conflictingReliability
    /// The label has more than 65,535 bytes.
    case labelTooLong
    /// The protocol has more than 65,535 bytes.
    case protocolTooLong
    /// A negotiated channel needs an `id`, and 65,535 is none (RFC 8832 §6).
    case invalidID
    /// Another channel has this `id`.
    case idInUse(UInt16)
    /// The association has no stream left for another channel.
    case noStreamLeft
}

extension DataChannelError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .connectionClosed: "The peer connection is closed, or carries no data any more."
        case .unknownChannel: "This data channel belongs to another peer connection, or is closed."
        case .notOpen(let state): "The data channel is \(state.rawValue); messages can be sent while it is open."
        case .messageTooLarge(let limit): "The message is larger than the \(limit) bytes that can be sent."
        case .bufferFull: "Too much waits to be sent on the data channels."
        case .conflictingReliability: "A data channel has a maxPacketLifeTime or a maxRetransmits, not both."
        case .labelTooLong: "The data channel's label is longer than 65535 bytes."
        case .protocolTooLong: "The data channel's protocol is longer than 65535 bytes."
        case .invalidID: "A negotiated data channel needs an id from 0 to 65534."
        case .idInUse(let id): "The data channel id \(id) is in use."
        case .noStreamLeft: "There is no stream left for another data channel."
        }
    }
}

extension DataChannelError {
    /// The exception that a browser throws for it.
    public var w3cName: NegotiationError.W3CName {
        switch self {
        case .connectionClosed, .unknownChannel, .notOpen: .invalidState
        case .messageTooLarge, .conflictingReliability, .labelTooLong, .protocolTooLong, .invalidID: .type
        case .bufferFull, .idInUse, .noStreamLeft: .operation
        }
    }
}
