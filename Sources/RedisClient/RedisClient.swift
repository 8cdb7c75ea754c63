package import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A client of one Redis server, version 6 or newer, or of Valkey: commands and publishing over one connection, each
/// subscription over one of its own. Every five seconds a connection is asked whether it lives; one that ends, or does
/// not answer, is made anew. From any thread.
///
/// It knows one server: of Redis Cluster and Sentinel it understands nothing, so behind its address has to be a server
/// that takes writes.
package final class RedisClient: Sendable {
    fileprivate enum Subscriptions {
        case open([ObjectIdentifier: RedisSubscription])
        case closed
    }

    private let endpoint: RedisEndpoint
    private let logger: Logger
    private let subscriptionLimit: Int
    private let commands: CommandQueue
    private let subscriptions = Mutex(Subscriptions.open([:]))

    /// Begins to connect, and goes on trying until `close`, with waits that grow to 2 s.
    ///
    /// - Parameters:
    ///   - trustedAuthorities: a file of certificates (PEM) that are trusted besides the system's.
    ///   - timeout: for making a connection, and for each answer.
    package convenience init(
        _ address: RedisAddress, trustedAuthorities: String? = nil, timeout: Duration = .seconds(2), logger: Logger
    ) {
        self.init(
            RedisEndpoint(address, trustedAuthorities: trustedAuthorities, timeout: timeout),
            subscriptionLimit: RedisSubscription.bufferLimit, logger: logger)
    }

    init(_ endpoint: RedisEndpoint, subscriptionLimit: Int, logger: Logger) {
        self.endpoint = endpoint
        self.subscriptionLimit = subscriptionLimit
        self.logger = logger
        commands = CommandQueue(endpoint, loop: MultiThreadedEventLoopGroup.singleton.next(), logger: logger)
        commands.start()
    }

    deinit {
        for subscription in takeSubscriptions() { subscription.close() }
        commands.close()
    }

    /// Waits for what comes of the first attempt to connect. Later: returns if there is a connection.
    ///
    /// - Throws: what the last attempt failed of, also `refused` for a wrong password or a database that is not there;
    ///   `timedOut` if the task is cancelled.
    package func waitUntilConnected() async throws(RedisFault) {
        try await commands.waitUntilConnected()
    }

    /// Sends a command, behind those that were sent before and without waiting for their answers. For commands that
    /// Redis answers at once and with one reply: one that waits (`BLPOP`), or that changes the connection, which many
    /// share (`SELECT`, `MULTI`, `SUBSCRIBE`, `CLIENT REPLY`), is not for here.
    ///
    /// - Returns: the reply; within arrays there may be errors.
    /// - Throws: `notConnected` at once while there is no connection, and when it ends before the reply; `timedOut`
    ///   after `timeout`, and when the task is cancelled: then it may have been carried out; `refused` for an error
    ///   reply.
    package func send(_ command: [String]) async throws(RedisFault) -> RedisValue {
        // Nobody answers an empty one, and later answers would be in its place.
        guard !command.isEmpty else { throw .refused("ERR the command is empty") }
        var bytes: [UInt8] = []
        RedisEncoder.append(command, to: &bytes)
        return try await commands.send(bytes)
    }

    /// Runs a script on the server: by its digest, and by its text if the server does not know it (any more).
    ///
    /// - Throws: as `send`.
    package func run(
        _ script: RedisScript, keys: [String], arguments: [String]
    ) async throws(RedisFault) -> RedisValue {
        let rest = [String(keys.count)] + keys + arguments
        do throws(RedisFault) {
            return try await send(["EVALSHA", script.digest] + rest)
        } catch .refused(let text) where text.hasPrefix("NOSCRIPT") {
            // redis.io, "EVAL": the server keeps it from then on.
            return try await send(["EVAL", script.text] + rest)
        }
    }

    /// Publishes a message, behind what was sent and published before by the same task, and waits for nothing. It is
    /// dropped while there is no connection, and while 16 MiB wait for the network.
    package func publish(_ message: [UInt8], on channel: String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(message.count + channel.utf8.count + 64)
        RedisEncoder.append(["PUBLISH", channel], payload: message, to: &bytes)
        commands.publish(bytes)
    }

    /// What is published on a channel, for one reader: over a connection of its own, which is made anew when it ends,
    /// until the reader goes away or the client is closed. Of a reader that leaves 64 MiB waiting what waits is
    /// dropped; it gets `down`, and when it has taken that, the connection is made anew.
    package func subscribe(to channel: String) -> AsyncStream<RedisSubscriptionEvent> {
        let subscription = RedisSubscription(
            to: channel, endpoint, bufferLimit: subscriptionLimit,
            loop: MultiThreadedEventLoopGroup.singleton.next(), logger: logger)
        let name = ObjectIdentifier(subscription)
        guard subscriptions.withLock({ $0.add(subscription, name) }) else { return AsyncStream { $0.finish() } }
        subscription.start()
        let reader = SubscriptionReader(subscription) { [weak self] in
            _ = self?.subscriptions.withLock { $0.remove(name) }
        }
        return AsyncStream {
            await reader.next()
        } onCancel: {
            reader.end()
        }
    }

    /// Ends all connections. What waits for an answer fails, subscriptions end.
    package func close() async {
        let ends = takeSubscriptions().map { $0.close() } + [commands.close()]
        for end in ends { try? await end.get() }
    }

    private func takeSubscriptions() -> [RedisSubscription] {
        subscriptions.withLock { $0.close() }
    }
}

extension RedisClient.Subscriptions {
    /// False when the client is closed.
    fileprivate mutating func add(_ subscription: RedisSubscription, _ name: ObjectIdentifier) -> Bool {
        guard case .open(var all) = self else { return false }
        all[name] = subscription
        self = .open(all)
        return true
    }

    /// The caller lets go of it when the lock is released.
    fileprivate mutating func remove(_ name: ObjectIdentifier) -> RedisSubscription? {
        guard case .open(var all) = self else { return nil }
        defer { self = .open(all) }
        return all.removeValue(forKey: name)
    }

    fileprivate mutating func close() -> [RedisSubscription] {
        defer { self = .closed }
        if case .open(let all) = self { return Array(all.values) }
        return []
    }
}

/// What happens on a subscription, in order.
package enum RedisSubscriptionEvent: Sendable, Equatable {
    /// From now on every message comes.
    case up
    case message([UInt8])
    /// From now on until the next `up` messages may be lost; after a reader that did not keep up, also some from
    /// before.
    case down
}
