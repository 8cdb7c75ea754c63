/// Why Redis could not be asked, or what it answered instead. The texts hold no address and no password; those of
/// `badAddress`, `notConnected` and `badReply` are parts of a sentence.
package enum RedisFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with a `RedisAddress`.
    case badAddress(String)
    /// There is no connection; why the last one ended, or could not be made.
    case notConnected(String)
    /// No answer within the client's `timeout`. Whether the command was carried out is not known.
    case timedOut
    /// An error reply, word for word: its first word is the kind of error (`WRONGPASS`, `NOSCRIPT`, `ERR`).
    case refused(String)
    /// What came is not RESP2, or no answer to what was asked. The connection is closed.
    case badReply(String)

    package var description: String {
        switch self {
        case .badAddress(let why): "This is not the address of a Redis server: \(why)."
        case .notConnected(let why): "There is no connection to Redis: \(why)."
        case .timedOut: "Redis has not answered in time."
        case .refused(let text): "Redis has refused: \(text)"
        case .badReply(let why): "What Redis has answered cannot be read: \(why)."
        }
    }
}
