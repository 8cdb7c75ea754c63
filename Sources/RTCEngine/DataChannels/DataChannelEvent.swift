/// One message of a data channel.
public enum DataChannelMessage: Sendable, Hashable {
    case text(String)
    case binary([UInt8])

    /// Of the text in UTF-8, or of the data.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }
}

/// Why a data channel closed without anybody's having asked for it.
public enum DataChannelFailure: Error, Sendable, Hashable {
    /// The connection has ended.
    case connectionClosed
    /// The peer accepts no data channels.
    case refused
    /// The association under the channels has ended.
    case transport(SCTPCloseReason)
    /// The peer has lost what it knew of the association and begun anew.
    case restarted
    /// The peer has sent what the protocol does not allow; the text is for a log and holds nothing of the message.
    case protocolViolation(String)
    /// The peer grants fewer streams than the channel's id needs, or there is none left.
    case noStreamLeft
    /// The peer takes no message as large as the one that would open the channel.
    case nameTooLong
    /// The application has left more unread than is kept for it.
    case unread
}

/// What happens on a data channel.
public enum DataChannelEvent: Sendable, Hashable {
    /// The peer has opened it; `open` follows (W3C: `datachannel`).
    case announced(DataChannelDescription)
    case open
    case message(DataChannelMessage)
    /// The amount of data that waits to be sent has fallen.
    case bufferedAmount(Int)
    /// It has fallen to the threshold (W3C: `bufferedamountlow`).
    case bufferedAmountLow
    /// One side has begun to close it.
    case closing
    /// It is over. A failure when neither side has closed it.
    case closed(DataChannelFailure?)
}
