package import Logging
internal import RedisClient

/// How several servers of one database are one.
package struct NodesConfiguration: Sendable {
    /// Through which they tell each other, and which counts for all of them.
    let redis: RedisClient
    /// As clients reach this one server: `https://one.chat.example.org`.
    let url: String

    /// Why something is no address of a Redis; nil for one that may be.
    package static func problem(withRedis address: String) -> String? {
        do {
            _ = try RedisAddress(address)
            return nil
        } catch {
            return error.description
        }
    }

    /// Connects to Redis.
    ///
    /// - Parameters:
    ///   - address: `redis://user:password@host:port/database`, or `rediss://` with TLS.
    ///   - trustedAuthorities: a file of certificates (PEM) that are trusted besides the system's.
    ///   - url: without a last `/`.
    /// - Throws: what can be told to whoever has configured it, without the password.
    package static func connect(
        redis address: String, trustedAuthorities: String?, url: String, logger: Logger
    ) async throws -> NodesConfiguration {
        let address = try RedisAddress(address)
        let redis = RedisClient(address, trustedAuthorities: trustedAuthorities, logger: logger)
        do {
            try await redis.waitUntilConnected()
        } catch {
            await redis.close()
            throw Problem(description: "Redis at \(address) cannot be used: \(error)")
        }
        return NodesConfiguration(redis: redis, url: url)
    }

    private struct Problem: Error, CustomStringConvertible { let description: String }
}
