internal import NIOCore

/// One connection, from its first command to its end: writes commands in their order, and knows which reply is whose.
///
/// Redis answers in the order in which it was asked ("Request-Response model" and "Pipelining"), so each command has
/// its place in `expected` until its reply comes, also when nobody waits for that any more.
///
/// Belongs to its channel's loop.
final class RedisConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What happens on it, in order; nothing after `ended`.
    enum Fact {
        /// The server has taken the greeting, and the subscription.
        case ready
        /// To a subscriber.
        case message([UInt8])
        /// The first `PUBLISH` that was refused, by the kind of the error.
        case publishingRefused(Substring)
        case ended(RedisFault)
    }

    enum Purpose {
        case commands
        case subscription(channel: String)
    }

    /// Whose the next reply is.
    private enum Asker {
        case greeting
        /// `CLIENT SETNAME`: nothing depends on it, and access lists may forbid it.
        case naming
        /// The last of the greeting: when it is answered, all of it was.
        case last
        case ping
        case publishing
        case caller(Outcome<RedisValue>)
    }

    private struct Expected {
        let asker: Asker
        let since: NIODeadline
    }

    fileprivate enum Phase {
        /// Not begun; what it has failed of meanwhile.
        case idle(RedisFault?)
        case greeting
        case ready
        case ended
    }

    private let purpose: Purpose
    private let endpoint: RedisEndpoint
    private let report: (Fact) -> Void
    private var phase = Phase.idle(nil)
    private var decoder = RedisDecoder()
    private var context: ChannelHandlerContext?
    private var expected = CircularBuffer<Expected>()
    /// How many at the front of `expected` have been told that it took too long.
    private var overdue = 0
    private var lastHeard = NIODeadline.now()
    private var watch: Scheduled<Void>?
    private var pings: RepeatedTask?
    private var hasToldOfPublishing = false

    init(_ purpose: Purpose, _ endpoint: RedisEndpoint, report: @escaping (Fact) -> Void) {
        self.purpose = purpose
        self.endpoint = endpoint
        self.report = report
    }

    // MARK: Beginning

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// Greets the server. Of several channels that are made while a name's addresses are tried, only the one that
    /// has won begins.
    func begin() {
        guard case .idle(let fault) = phase, let loop = context?.eventLoop else { return }
        phase = .greeting
        if let fault { return end(fault) }
        lastHeard = .now()
        greet()
        // Where that could not be written the connection is over already.
        guard case .greeting = phase else { return }
        let loopBound = NIOLoopBound(self, eventLoop: loop)
        let interval = endpoint.pingInterval
        pings = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            loopBound.value.ping()
        }
    }

    /// One pipeline; what it ends with fails if what is before it was refused.
    private func greet() {
        var bytes: [UInt8] = []
        for command in endpoint.greeting {
            RedisEncoder.append(command, to: &bytes)
            expect(.greeting)
        }
        RedisEncoder.append(["CLIENT", "SETNAME", "roost"], to: &bytes)
        expect(.naming)
        switch purpose {
        case .commands: RedisEncoder.append(["PING"], to: &bytes)
        case .subscription(let channel): RedisEncoder.append(["SUBSCRIBE", channel], to: &bytes)
        }
        expect(.last)
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func ping() {
        guard case .ready = phase else { return }
        var bytes: [UInt8] = []
        RedisEncoder.append(["PING"], to: &bytes)
        expect(.ping)
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    // MARK: Commands

    /// Writes commands that are ready to be sent, all at once.
    ///
    /// - Parameter written: called when the system has taken them, or when it never will.
    func send(_ commands: [QueuedCommand], written: @escaping @Sendable () -> Void) {
        guard case .ready = phase, let context else {
            for command in commands { command.reply?.resolve(.failure(.notConnected("the connection has ended"))) }
            return written()
        }
        var bytes = ByteBuffer()
        bytes.reserveCapacity(commands.reduce(0) { $0 + $1.bytes.count })
        for command in commands {
            bytes.writeBytes(command.bytes)
            expect(command.reply.map { .caller($0) } ?? .publishing)
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in written() }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
    }

    // MARK: Replies

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase.isAlive else { return }
        lastHeard = .now()
        let buffer = unwrapInboundIn(data)
        // What a reply brings about never writes, so NIO hands over nothing else meanwhile.
        do throws(RedisFault) {
            try decoder.receive(buffer.readableBytesSpan) { received($0) }
        } catch {
            end(error)
        }
    }

    private func received(_ value: RedisValue) {
        guard phase.isAlive else { return }
        if case .subscription(let channel) = purpose, let message = Self.message(value, on: channel) {
            return report(.message(message))
        }
        guard let next = expected.popFirst() else {
            return end(.badReply("an answer to which there was no question"))
        }
        overdue = max(0, overdue - 1)
        switch next.asker {
        case .greeting: if value != .simple("OK") { end(Self.refusal(value)) }
        case .naming: break
        case .last: lastOfGreetingAnswered(value)
        case .ping: if !Self.isPong(value) { end(Self.refusal(value)) }
        case .publishing: publishingAnswered(value)
        case .caller(let reply):
            if case .error(let text) = value {
                reply.resolve(.failure(.refused(text)))
            } else {
                reply.resolve(.success(value))
            }
        }
    }

    private func lastOfGreetingAnswered(_ value: RedisValue) {
        let isRight =
            switch purpose {
            case .commands: Self.isPong(value)
            case .subscription(let channel): Self.isSubscription(value, to: channel)
            }
        guard isRight else { return end(Self.refusal(value)) }
        phase = .ready
        report(.ready)
    }

    private func publishingAnswered(_ value: RedisValue) {
        guard case .error(let text) = value, !hasToldOfPublishing else { return }
        hasToldOfPublishing = true
        report(.publishingRefused(text.prefix { $0 != " " }))
    }

    private static func refusal(_ value: RedisValue) -> RedisFault {
        if case .error(let text) = value { return .refused(text) }
        return .badReply("an answer to another question")
    }

    /// redis.io, "PING": a subscriber's is answered by an array in RESP2.
    private static func isPong(_ value: RedisValue) -> Bool {
        switch value {
        case .simple("PONG"): true
        case .array(let parts): parts.first == .bulk(Array("pong".utf8))
        case .simple, .error, .integer, .bulk, .null: false
        }
    }

    /// redis.io, "Redis Pub/Sub", "Format of pushed messages": `subscribe`, the channel, how many there are now.
    private static func isSubscription(_ value: RedisValue, to channel: String) -> Bool {
        value == .array([.bulk(Array("subscribe".utf8)), .bulk(Array(channel.utf8)), .integer(1)])
    }

    /// Likewise: `message`, the channel, the payload.
    private static func message(_ value: RedisValue, on channel: String) -> [UInt8]? {
        guard case .array(let parts) = value, parts.count == 3, case .bulk(let payload) = parts[2],
            case .bulk(let kind) = parts[0], kind.elementsEqual("message".utf8),
            case .bulk(let name) = parts[1], name.elementsEqual(channel.utf8)
        else { return nil }
        return payload
    }

    // MARK: Time

    private func expect(_ asker: Asker) {
        expected.append(Expected(asker: asker, since: .now()))
        if watch == nil { watchUntil(.now() + endpoint.timeout) }
    }

    private func watchUntil(_ deadline: NIODeadline) {
        guard let loop = context?.eventLoop else { return }
        let loopBound = NIOLoopBound(self, eventLoop: loop)
        watch = loop.scheduleTask(deadline: deadline) { loopBound.value.tick(at: .now()) }
    }

    /// Whoever has waited for `timeout` is told. The connection lives while anything comes over it: a long reply may be
    /// before the others.
    private func tick(at now: NIODeadline) {
        watch = nil
        guard let oldest = expected.first, phase.isAlive else { return }
        let silence = max(oldest.since, lastHeard) + endpoint.timeout
        guard now < silence else { return end(.timedOut) }
        while overdue < expected.count {
            let next = expected[offset: overdue]
            guard next.since + endpoint.timeout <= now else { break }
            if case .caller(let reply) = next.asker { reply.resolve(.failure(.timedOut)) }
            overdue += 1
        }
        let next = overdue < expected.count ? expected[offset: overdue].since + endpoint.timeout : silence
        watchUntil(min(silence, next))
    }

    // MARK: Ending

    /// Closes the connection. Who waits for a reply is told.
    func end(_ fault: RedisFault) {
        switch phase {
        case .idle(let first):
            phase = .idle(first ?? fault)
            context?.close(promise: nil)
            return
        case .ended: return
        case .greeting, .ready: phase = .ended
        }
        watch?.cancel()
        pings?.cancel()
        let unanswered = expected
        expected.removeAll()
        context?.close(promise: nil)
        for next in unanswered {
            if case .caller(let reply) = next.asker { reply.resolve(.failure(fault.ofOtherCommands)) }
        }
        report(.ended(fault))
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.notConnected("the server closed the connection"))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(.notConnected("the connection has ended"))
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(RedisFault(error)) }
}

extension RedisConnection.Phase {
    fileprivate var isAlive: Bool {
        switch self {
        case .greeting, .ready: true
        case .idle, .ended: false
        }
    }
}

extension RedisFault {
    /// What the other commands of a connection fail of: that one was refused is not their answer.
    fileprivate var ofOtherCommands: RedisFault {
        if case .refused(let text) = self { .notConnected("it has refused: \(text)") } else { self }
    }
}
