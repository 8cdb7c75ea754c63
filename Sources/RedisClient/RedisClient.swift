package import Logging

/// A client of one Redis server, version 6 or newer, or of Valkey: commands and publishing over one connection, each
/// subscription over one of its own. Connections that end, or do not answer, are made anew. From any thread.
///
/// It knows one server: of Redis Cluster and Sentinel it understands nothing, so behind its address has to be a server
/// that takes writes.
package final class RedisClient: Sendable {
    /// Begins to connect, and goes on trying until `close`, with waits that grow to 2 s.
    ///
    /// - Parameters:
    ///   - trustedAuthorities: a file of certificates (PEM) that are trusted besides the system's.
    ///   - timeout: for making a connection, and for each answer.
    package init(
        _ address: RedisAddress, trustedAuthorities: String? = nil, timeout: Duration = .seconds(2), logger: Logger
    ) {
    }

    /// Waits for what comes of the first attempt to connect. Later: returns if there is a connection.
    ///
    /// - Throws: what the last attempt failed of, also `refused` for a wrong password or a database that is not there.
    package func waitUntilConnected() async throws(RedisFault) {
    }

    /// Sends a command, behind those that were sent before and without waiting for their answers. For commands that
    /// Redis answers at once and with one reply: one that waits (`BLPOP`), or that changes the connection, which many
    /// share (`SELECT`, `MULTI`, `SUBSCRIBE`, `CLIENT REPLY`), is not for here.
    ///
    /// - Returns: the reply; within arrays there may be errors.
    /// - Throws: `notConnected` at once while there is no connection; `timedOut` after `timeout`, and when the task is
    ///   cancelled; `refused` for an error reply.
    package func send(_ command: [String]) async throws(RedisFault) -> RedisValue {
        throw .notConnected("not yet")
    }

    /// Runs a script on the server: by its digest, and by its text if the server does not know it (any more).
    ///
    /// - Throws: as `send`.
    package func run(
        _ script: RedisScript, keys: [String], arguments: [String]
    ) async throws(RedisFault) -> RedisValue {
        throw .notConnected("not yet")
    }

    /// Publishes a message, behind what was sent and published before by the same task, and waits for nothing. It is
    /// dropped while there is no connection, and while 16 MiB wait for the network.
    package func publish(_ message: [UInt8], on channel: String) {
    }

    /// What is published on a channel, for one reader: over a connection of its own, which is made anew when it ends,
    /// until the reader goes away or the client is closed.
    package func subscribe(to channel: String) -> AsyncStream<RedisSubscriptionEvent> {
        AsyncStream { $0.finish() }
    }

    /// Ends all connections. What waits for an answer fails, subscriptions end.
    package func close() async {
    }
}

/// What happens on a subscription, in order.
package enum RedisSubscriptionEvent: Sendable, Equatable {
    /// From now on every message comes.
    case up
    case message([UInt8])
    /// From now on until the next `up` messages may be lost; after a reader that did not keep up, also some from before.
    case down
}
