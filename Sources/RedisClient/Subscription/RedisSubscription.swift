internal import Logging
internal import NIOCore
internal import Synchronization

/// One channel for one reader: its connection, and what waits for the reader. From any thread.
final class RedisSubscription: Sendable {
    /// What may wait for the reader, in bytes.
    static let bufferLimit = 64 << 20

    fileprivate typealias Waiting = CheckedContinuation<RedisSubscriptionEvent?, Never>

    fileprivate struct State {
        var buffer: SubscriptionBuffer
        /// Who waits for an event, the first first; then the buffer is empty.
        var readers: [Waiting] = []
    }

    /// What to do when the state's lock is released.
    fileprivate struct Handover {
        var readers: [(Waiting, RedisSubscriptionEvent?)] = []
        var resumes = false
    }

    private let state: Mutex<State>
    private let link: RedisLink

    init(
        to channel: String, _ endpoint: RedisEndpoint, bufferLimit: Int, loop: any EventLoop, logger: Logger
    ) {
        state = Mutex(State(buffer: SubscriptionBuffer(limit: bufferLimit)))
        link = RedisLink(.subscription(channel: channel), endpoint, loop: loop, logger: logger)
    }

    func start() {
        link.start { [weak self] fact in
            switch fact {
            case .ready: self?.add(.up)
            case .message(let message): self?.add(.message(message))
            case .ended: self?.add(.down)
            case .publishingRefused: break
            }
        }
    }

    /// On the link's loop.
    private func add(_ event: RedisSubscriptionEvent) {
        let (action, handover) = state.withLock { state in
            let action = state.buffer.add(event)
            return (action, state.handOver())
        }
        carryOut(handover)
        switch action {
        case .none: break
        case .pause: link.pause()
        }
    }

    /// The next event; nil when there will be none.
    func next() async -> RedisSubscriptionEvent? {
        await withCheckedContinuation { continuation in
            let handover = state.withLock { state in
                state.readers.append(continuation)
                return state.handOver()
            }
            carryOut(handover)
        }
    }

    private func carryOut(_ handover: Handover) {
        for (reader, event) in handover.readers { reader.resume(returning: event) }
        if handover.resumes { link.loop.execute { self.link.connect() } }
    }

    /// Ends it: the reader gets what waits for it, and then nothing.
    @discardableResult
    func close() -> EventLoopFuture<Void> {
        let handover = state.withLock { state in
            state.buffer.finish()
            return state.handOver()
        }
        carryOut(handover)
        return link.close()
    }
}

extension RedisSubscription.State {
    /// Gives readers what there is for them.
    fileprivate mutating func handOver() -> RedisSubscription.Handover {
        var handover = RedisSubscription.Handover()
        while let reader = readers.first {
            switch buffer.next() {
            case .nothingYet: return handover
            case .finished: handover.readers.append((reader, nil))
            case .event(let event, let resumes):
                handover.readers.append((reader, event))
                if resumes { handover.resumes = true }
            }
            readers.removeFirst()
        }
        return handover
    }
}

/// A stream's end of a subscription: when the stream is gone, so is the subscription.
final class SubscriptionReader: Sendable {
    private let subscription: RedisSubscription
    private let ended: @Sendable () -> Void

    init(_ subscription: RedisSubscription, ended: @escaping @Sendable () -> Void) {
        self.subscription = subscription
        self.ended = ended
    }

    deinit { end() }

    func next() async -> RedisSubscriptionEvent? { await subscription.next() }

    func end() {
        subscription.close()
        ended()
    }
}
