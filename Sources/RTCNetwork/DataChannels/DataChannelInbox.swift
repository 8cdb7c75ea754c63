public import RTCEngine
internal import Synchronization

/// Bytes that the channels of one connection have received and nobody has taken.
final class UnreadData: Sendable {
    private let bytes = Atomic(0)
    /// Told when enough was taken for the peer to go on.
    private let onRelief = Mutex(Relief())

    /// In a structure: a function that is read out of a `Mutex` by itself is wrapped anew each time.
    private struct Relief {
        var body: (@Sendable () -> Void)?
    }

    /// Beyond this the peer is asked to hold back.
    static let highMark = 1 << 20

    var count: Int { bytes.load(ordering: .relaxed) }

    func whenRelieved(_ body: @escaping @Sendable () -> Void) { onRelief.withLock { $0.body = body } }

    func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }

    func remove(_ count: Int) {
        let before = bytes.subtract(count, ordering: .relaxed).oldValue
        guard before > Self.highMark, before - count <= Self.highMark else { return }
        onRelief.withLock { $0.body }?()
    }
}

/// Messages of one channel between the connection's thread and the tasks that take them. Guarded by its lock; tasks go
/// on outside it.
final class DataChannelInbox: Sendable {
    private struct Waiter {
        let ticket: UInt64
        let continuation: CheckedContinuation<DataChannelMessage?, Never>
    }

    private struct State {
        var messages: [DataChannelMessage?] = []
        var head = 0
        var bytes = 0
        var waiters: [Waiter] = []
        var nextTicket: UInt64 = 0
        var isFinished = false

        var count: Int { messages.count - head }

        mutating func popFirst() -> DataChannelMessage? {
            guard head < messages.count, let message = messages[head] else { return nil }
            messages[head] = nil
            head += 1
            bytes -= message.byteCount
            if head == messages.count || head >= 1_024 {
                messages.removeFirst(head)
                head = 0
            }
            return message
        }
    }

    /// What one channel keeps for an application that does not take it. A peer gets that far only when it does not hold
    /// back as it is asked to.
    static let byteLimit = 16 << 20
    static let messageLimit = 65_536

    private let state = Mutex(State())
    private let unread: UnreadData

    init(unread: UnreadData) { self.unread = unread }

    // What nobody will take any more is not unread.
    deinit { unread.remove(state.withLock { $0.bytes }) }

    /// Keeps a message; `deliver` gives it to who waits. False when there is no room.
    func append(_ message: DataChannelMessage) -> Bool {
        let size = message.byteCount
        let isTaken = state.withLock { state in
            guard state.bytes + size <= Self.byteLimit, state.count < Self.messageLimit else { return false }
            state.messages.append(message)
            state.bytes += size
            return true
        }
        if isTaken { unread.add(size) }
        return isTaken
    }

    /// Wakes those who wait, as far as there are messages for them: after several messages, so that a reader is not
    /// woken for each.
    func deliver() {
        while let (waiter, message) = state.withLock({ state in
            state.waiters.isEmpty ? nil : state.popFirst().map { (state.waiters.removeFirst(), $0) }
        }) {
            waiter.continuation.resume(returning: taken(message))
        }
    }

    /// The oldest message that waits, or the next one that comes; nil at the end, and for a cancelled task.
    func next() async -> DataChannelMessage? {
        let (message, ticket) = state.withLock { state in
            state.nextTicket &+= 1
            return (state.popFirst(), state.nextTicket)
        }
        if let message { return taken(message) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(ticket, continuation) }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
    }

    private func wait(_ ticket: UInt64, _ continuation: CheckedContinuation<DataChannelMessage?, Never>) {
        enum Step {
            case wait
            case goOn(DataChannelMessage?)
        }
        let step = state.withLock { state -> Step in
            if let message = state.popFirst() { return .goOn(message) }
            // A cancellation that came before the waiter was there finds nobody to wake.
            if state.isFinished || Task.isCancelled { return .goOn(nil) }
            state.waiters.append(Waiter(ticket: ticket, continuation: continuation))
            return .wait
        }
        if case .goOn(let message) = step { continuation.resume(returning: message.map(taken)) }
    }

    private func taken(_ message: DataChannelMessage) -> DataChannelMessage {
        unread.remove(message.byteCount)
        return message
    }

    /// No more messages will come; those that wait may still be taken.
    func finish() {
        deliver()
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }
}

/// The messages of a data channel; see `DataChannel.messages`.
public struct DataChannelMessages: AsyncSequence, Sendable {
    let inbox: DataChannelInbox

    public func makeAsyncIterator() -> Iterator { Iterator(inbox: inbox) }

    public struct Iterator: AsyncIteratorProtocol {
        let inbox: DataChannelInbox

        public mutating func next() async -> DataChannelMessage? { await inbox.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> DataChannelMessage? {
            await inbox.next()
        }
    }
}
