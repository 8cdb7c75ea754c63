internal import Synchronization

/// The content of a stream of somebody else's, between the room that gets it and who reads it. Guarded by its lock.
final class DataStreamInbox: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var decoder: StreamDecoder?
        /// What has come; before `head` it was decoded.
        var waiting: [UInt8] = []
        var head = 0
        var end: IncomingStreamEnd?
        /// Nobody reads any more: what comes is dropped.
        var isAbandoned = false
        /// It was told that nothing more of it is wanted.
        var isReleased = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0

        /// So much is decoded at a time: what waits is counted, and what is decoded is not.
        private static let partLength = 64 << 10

        var heldBytes: Int { waiting.count - head }

        mutating func nextPart() -> [UInt8] {
            let end = min(head + Self.partLength, waiting.count)
            let part = Array(waiting[head..<end])
            head = end
            if head == waiting.count { drop() }
            if head >= 1 << 20 {
                waiting.removeFirst(head)
                head = 0
            }
            return part
        }

        mutating func drop() {
            waiting = []
            head = 0
        }

        mutating func release() -> Bool {
            defer { isReleased = true }
            return !isReleased
        }

        mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let state: Mutex<State>
    private let broadcast: RoomEventBroadcast
    /// Nothing more of it is wanted, or there is no more. Told once.
    private let onRelease: @Sendable () -> Void

    init(
        _ header: IncomingStreamHeader, broadcast: RoomEventBroadcast, onRelease: @escaping @Sendable () -> Void = {}
    ) {
        self.broadcast = broadcast
        self.onRelease = onRelease
        var state = State()
        do throws(StreamError) {
            state.decoder = try header.decoder()
        } catch {
            state.end = .failure(error)
        }
        self.state = Mutex(state)
    }

    // MARK: From the room

    func receive(_ chunk: [UInt8]) {
        let waiters = state.withLock { state -> [Waiter] in
            guard !state.isAbandoned, state.end == nil else { return [] }
            state.waiting += chunk
            // Before somebody can take it.
            broadcast.streamsHold(chunk.count)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// No more comes.
    func end(_ end: IncomingStreamEnd) {
        let waiters = state.withLock { state -> [Waiter] in
            if state.end == nil { state.end = end }
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// How many wait for it.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    // MARK: From who reads

    /// The attributes that came last; none before the end.
    var lastAttributes: [String: String] {
        state.withLock { state in
            guard case .success(let attributes)? = state.end else { return [:] }
            return attributes
        }
    }

    /// The next piece of the content; nil at its end.
    func next() async throws(StreamError) -> [UInt8]? {
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            switch take() {
            case .piece(let piece): return piece
            case .over: return nil
            case .failed(let error): throw error
            case .nothing: await wait()
            }
        }
    }

    /// Nobody reads it any more; whoever does all the same is told that they do not. Repeatable.
    func abandon() {
        let (held, waiters, isFirst) = state.withLock { state -> (Int, [Waiter], Bool) in
            defer {
                state.isAbandoned = true
                state.drop()
                state.decoder = nil
            }
            return (state.heldBytes, state.takeWaiters(), state.release())
        }
        for waiter in waiters { waiter.resume() }
        if held > 0 { broadcast.streamsLetGo(held) }
        if isFirst { onRelease() }
    }

    private enum Step {
        case piece([UInt8])
        case over
        case failed(StreamError)
        case nothing
    }

    private func take() -> Step {
        let (step, taken, isLast) = state.withLock { state -> (Step, Int, Bool) in
            var taken = 0
            do throws(StreamError) {
                guard !state.isAbandoned else { throw .cancelled }
                while true {
                    if let piece = try state.decoder?.next() { return (.piece(piece), taken, false) }
                    guard state.waiting.isEmpty else {
                        let part = state.nextPart()
                        taken += part.count
                        state.decoder?.feed(part)
                        continue
                    }
                    guard let end = state.end else { return (.nothing, taken, false) }
                    _ = try end.get()
                    try state.decoder?.finish()
                    return (.over, taken, state.release())
                }
            } catch {
                // It stays so, whoever asks again.
                state.end = .failure(error)
                state.decoder = nil
                taken += state.heldBytes
                state.drop()
                return (.failed(error), taken, state.release())
            }
        }
        if taken > 0 { broadcast.streamsLetGo(taken) }
        if isLast { onRelease() }
        return step
    }

    /// Until something has come, or the task is cancelled.
    private func wait() async {
        let number = state.withLock { state -> Int in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let isNeeded = state.withLock { state -> Bool in
                    // A cancellation that came before the waiter was there finds nobody to wake.
                    guard state.waiting.isEmpty, state.end == nil, !state.isAbandoned, !Task.isCancelled else {
                        return false
                    }
                    state.waiters[number] = waiter
                    return true
                }
                if !isNeeded { waiter.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume()
        }
    }
}
