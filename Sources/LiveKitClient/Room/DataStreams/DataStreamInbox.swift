internal import Synchronization

/// The content of a stream of somebody else's, between the room that gets it and who reads it. Guarded by its lock.
final class DataStreamInbox: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var decoder: StreamDecoder?
        /// What has come and was not decoded.
        var waiting: [UInt8] = []
        var end: IncomingStreamEnd?
        /// Nobody reads any more: what comes is dropped.
        var isAbandoned = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0

        mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let state: Mutex<State>
    private let broadcast: RoomEventBroadcast
    /// Told once.
    private let onAbandon: @Sendable () -> Void

    init(
        _ header: IncomingStreamHeader, broadcast: RoomEventBroadcast, onAbandon: @escaping @Sendable () -> Void = {}
    ) {
        self.broadcast = broadcast
        self.onAbandon = onAbandon
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
                state.waiting = []
                state.decoder = nil
            }
            return (state.waiting.count, state.takeWaiters(), !state.isAbandoned)
        }
        for waiter in waiters { waiter.resume() }
        if held > 0 { broadcast.streamsLetGo(held) }
        if isFirst { onAbandon() }
    }

    private enum Step {
        case piece([UInt8])
        case over
        case failed(StreamError)
        case nothing
    }

    private func take() -> Step {
        let (step, taken) = state.withLock { state -> (Step, Int) in
            var taken = 0
            do throws(StreamError) {
                guard !state.isAbandoned else { throw .cancelled }
                while true {
                    if let piece = try state.decoder?.next() { return (.piece(piece), taken) }
                    guard state.waiting.isEmpty else {
                        taken += state.waiting.count
                        state.decoder?.feed(state.waiting)
                        state.waiting = []
                        continue
                    }
                    guard let end = state.end else { return (.nothing, taken) }
                    _ = try end.get()
                    try state.decoder?.finish()
                    return (.over, taken)
                }
            } catch {
                // It stays so, whoever asks again.
                state.end = .failure(error)
                state.decoder = nil
                taken += state.waiting.count
                state.waiting = []
                return (.failed(error), taken)
            }
        }
        if taken > 0 { broadcast.streamsLetGo(taken) }
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
