package import RedisClient

/// How several servers of one database are one.
package struct NodesConfiguration: Sendable {
    /// Through which they tell each other, and which counts for all of them.
    package var redis: RedisClient
    /// As clients reach this one server: `https://one.chat.example.org`.
    package var url: String

    package init(redis: RedisClient, url: String) {
        self.redis = redis
        self.url = url
    }
}
