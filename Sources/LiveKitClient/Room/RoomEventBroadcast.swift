internal import Synchronization

/// The events of one room and any number of listeners, each with an `AsyncStream` and a backlog of its own. What comes
/// before the first listener waits for it. Whoever reads reliable messages from the network waits for the slowest
/// listener, and for the readers of streams (`waitForRoom`), and with it those who send them.
///
/// Guarded by its lock; events are sent by the room alone, and tasks go on outside the lock.
final class RoomEventBroadcast: Sendable {
    private typealias Waiter = CheckedContinuation<RoomEvent?, Never>
    private typealias Reader = CheckedContinuation<Void, Never>

    private struct Listener {
        let id: Int
        var backlog: RoomEventBacklog
        /// They wait for the next event, so that the backlog is empty.
        var waiters: [Waiter] = []
        /// No event follows those that wait: the room was left, whatever it has become since.
        var isOver = false
    }

    private struct State {
        var listeners: [Listener] = []
        var lastListener = 0
        /// Until there has been a listener.
        var early: RoomEventBacklog? = RoomEventBacklog(reliableLimit: RoomEventBacklog.messageLimit)
        /// They wait for listeners, by number.
        var readers: [Int: Reader] = [:]
        var lastReader = 0
        var isFinished = false

        func place(of id: Int) -> Int? { listeners.firstIndex { $0.id == id } }

        /// Bytes of streams that their readers have not taken.
        var inStreams = 0

        /// What the slowest listener has not taken, or the readers of streams.
        var untaken: Int { listeners.reduce(inStreams) { $1.isOver ? $0 : max($0, $1.backlog.reliableCost) } }

        /// Whether enough is free: half of it, or each message that is taken would wake them. Of streams an eighth is
        /// enough, for what waits may be one reader's who waits for another.
        private var hasRoomAgain: Bool {
            let limit = RoomEventBroadcast.reliableLimit
            return inStreams <= limit - limit / 8
                && listeners.allSatisfy { $0.isOver || $0.backlog.reliableCost <= limit / 2 }
        }

        /// Those who may go on.
        mutating func takeReaders() -> [Reader] {
            guard !readers.isEmpty, isFinished || hasRoomAgain else { return [] }
            defer { readers = [:] }
            return Array(readers.values)
        }
    }

    /// So much of reliable messages waits for a listener; what is beyond it waits in the network. Bytes.
    static let reliableLimit = 4 << 20

    private let state = Mutex(State())

    /// A stream of what is sent from now on. It ends when the source finishes.
    ///
    /// - Parameter isFirst: whether it may take what came before the first stream; otherwise that goes on waiting.
    func stream(isFirst: Bool = true) -> AsyncStream<RoomEvent> {
        let id = state.withLock { state -> Int in
            var backlog = (isFirst ? state.early : nil) ?? RoomEventBacklog()
            // From now on who reads messages waits.
            backlog.reliableLimit = .max
            if isFirst { state.early = nil }
            state.lastListener += 1
            state.listeners.append(Listener(id: state.lastListener, backlog: backlog, isOver: state.isFinished))
            return state.lastListener
        }
        let listener = RoomEventListener(id, of: self)
        // The stream alone keeps the listener: who drops the one is rid of the other.
        return AsyncStream(unfolding: { await listener.next() }, onCancel: { [weak listener] in listener?.leave() })
    }

    /// How many listen now, and how many wait for them.
    var listenerCount: Int { state.withLock { $0.listeners.count } }
    var readerCount: Int { state.withLock { $0.readers.count } }

    func send(_ event: RoomEvent) {
        let waiters = state.withLock { state -> [Waiter] in
            guard !state.isFinished else { return [] }
            state.early?.append(event)
            var waiters: [Waiter] = []
            for place in state.listeners.indices where !state.listeners[place].isOver {
                if state.listeners[place].waiters.isEmpty {
                    state.listeners[place].backlog.append(event)
                } else {
                    waiters.append(state.listeners[place].waiters.removeFirst())
                }
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: event) }
    }

    /// So much has come for the readers of streams.
    func streamsHold(_ bytes: Int) { state.withLock { $0.inStreams += bytes } }

    /// Readers of streams have taken so much, or want it no more.
    func streamsLetGo(_ bytes: Int) {
        let readers = state.withLock { state in
            state.inStreams -= bytes
            return state.takeReaders()
        }
        for reader in readers { reader.resume() }
    }

    /// Back when there is room for another reliable message: when nobody has too many, nobody listens, it is over, or
    /// the task is cancelled.
    func waitForRoom() async {
        let number = state.withLock { state -> Int in
            state.lastReader += 1
            return state.lastReader
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(number, continuation) }
        } onCancel: {
            let reader = state.withLock { $0.readers.removeValue(forKey: number) }
            reader?.resume()
        }
    }

    private func wait(_ number: Int, _ continuation: Reader) {
        let mustWait = state.withLock { state -> Bool in
            // A cancellation that came before the reader was there finds nobody to wake.
            guard !state.isFinished, !Task.isCancelled, state.untaken > Self.reliableLimit else { return false }
            state.readers[number] = continuation
            return true
        }
        if !mustWait { continuation.resume() }
    }

    /// No more events will come; listeners still take those that wait.
    func finish() {
        let (waiters, readers) = state.withLock { state -> ([Waiter], [Reader]) in
            state.isFinished = true
            let waiters = state.listeners.flatMap(\.waiters)
            for place in state.listeners.indices {
                state.listeners[place].waiters = []
                state.listeners[place].isOver = true
            }
            return (waiters, state.takeReaders())
        }
        for waiter in waiters { waiter.resume(returning: nil) }
        for reader in readers { reader.resume() }
    }

    /// The room is joined anew: events come again, for streams that are asked for from now on.
    func begin() {
        state.withLock { state in
            guard state.isFinished else { return }
            state.isFinished = false
            state.early = RoomEventBacklog(reliableLimit: RoomEventBacklog.messageLimit)
        }
    }

    // MARK: From the listeners

    /// The oldest event that waits, or the next one that comes; nil at the end.
    fileprivate func next(of id: Int) async -> RoomEvent? {
        await withCheckedContinuation { continuation in
            enum Step {
                case wait
                case goOn(RoomEvent?, [Reader])
            }
            let step = state.withLock { state -> Step in
                guard let place = state.place(of: id) else { return .goOn(nil, []) }
                if let event = state.listeners[place].backlog.popFirst() { return .goOn(event, state.takeReaders()) }
                if state.listeners[place].isOver { return .goOn(nil, []) }
                state.listeners[place].waiters.append(continuation)
                return .wait
            }
            guard case .goOn(let event, let readers) = step else { return }
            for reader in readers { reader.resume() }
            continuation.resume(returning: event)
        }
    }

    /// Nobody waits for this one any more.
    fileprivate func leave(_ id: Int) {
        // The listener goes outside the lock, with all that it has not taken.
        let (listener, readers) = state.withLock { state -> (Listener?, [Reader]) in
            let listener = state.place(of: id).map { state.listeners.remove(at: $0) }
            return (listener, state.takeReaders())
        }
        for waiter in listener?.waiters ?? [] { waiter.resume(returning: nil) }
        for reader in readers { reader.resume() }
    }
}

/// What a stream knows of its place in the broadcast. It leaves when the stream is dropped.
private final class RoomEventListener: Sendable {
    private let id: Int
    private let broadcast: RoomEventBroadcast

    init(_ id: Int, of broadcast: RoomEventBroadcast) {
        self.id = id
        self.broadcast = broadcast
    }

    deinit { leave() }

    func next() async -> RoomEvent? { await broadcast.next(of: id) }

    func leave() { broadcast.leave(id) }
}
