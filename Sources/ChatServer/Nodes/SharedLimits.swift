internal import ChatModel
internal import LiveKitProtocol
internal import RedisClient

/// The limits of several servers that are one: the buckets are in Redis, where what is full again is forgotten.
struct SharedLimits: Sendable {
    private let redis: RedisClient
    /// In front of each name. What follows is a hash, for a limit's name can be an address.
    private let prefix: String
    private let salt: [UInt8]

    /// - Parameters:
    ///   - chat: the name of this chat among those that share the Redis.
    ///   - salt: nobody else knows it.
    init(_ redis: RedisClient, chat: String, salt: String) {
        self.redis = redis
        self.salt = Array(salt.utf8)
        prefix = "\(chat):limit:"
    }

    /// A bucket is one number, the time at which it is full again: a token more moves it on by the time in which one
    /// comes back, and none is given that would move it further from now than a whole bucket takes (the generic cell
    /// rate algorithm, ITU-T I.371 §A). By Redis' own clock, in microseconds.
    private static let script = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local step, whole = tonumber(ARGV[1]), tonumber(ARGV[2])
        local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + step
        if full - now > whole then return full - now - whole end
        redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
        return 0
        """)

    /// Takes a token.
    ///
    /// - Returns: how long to wait for one; zero when it was there. Nil while Redis cannot be asked.
    func take(_ name: String, at rate: RequestLimits.Rate) async -> Duration? {
        let step = 1_000_000 / rate.perSecond
        let arguments = [step, step * rate.burst].map { "\(Int64($0.rounded()))" }
        let key = prefix + Hex.text(SHA256.digest(of: salt + Array(name.utf8)))
        guard case .integer(let wait) = try? await redis.run(Self.script, keys: [key], arguments: arguments) else {
            return nil
        }
        return .microseconds(wait)
    }
}
