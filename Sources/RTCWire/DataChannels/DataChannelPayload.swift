/// What the bytes of an SCTP message on a data channel are (RFC 8831 §8): its payload protocol identifier.
public enum DataChannelPayload: UInt32, Sendable, CaseIterable {
    /// DATA_CHANNEL_OPEN and DATA_CHANNEL_ACK.
    case control = 50
    /// A string in UTF-8, or the last piece of one.
    case string = 51
    /// A piece of binary data; deprecated, and only understood.
    case binaryPartial = 52
    /// Binary data, or the last piece of it.
    case binary = 53
    /// A piece of a string; deprecated, and only understood.
    case stringPartial = 54
    /// A string of no bytes. SCTP has no empty messages, so it carries one byte that is ignored (RFC 8831 §6.6).
    case stringEmpty = 56
    /// Binary data of no bytes, likewise.
    case binaryEmpty = 57
}
