/// What Redis answers, as RESP2 knows it (redis.io, "Redis serialization protocol specification").
package enum RedisValue: Sendable, Equatable {
    /// "Simple strings": a line.
    case simple(String)
    /// "Simple errors": a line, whose first word is the kind of error.
    case error(String)
    /// "Integers".
    case integer(Int64)
    /// "Bulk strings": any bytes.
    case bulk([UInt8])
    /// "Arrays".
    case array([RedisValue])
    /// "Null bulk strings" and "Null arrays": there is no such value.
    case null
}
