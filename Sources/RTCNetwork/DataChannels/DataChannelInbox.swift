public import RTCEngine
internal import Synchronization

/// How much the channels of one connection have received that the application has not taken, in bytes as `cost` counts
/// them.
final class UnreadData: Sendable {
    /// In channels that more may come in.
    private let ofOpen = Atomic(0)
    /// In those that are over.
    private let ofClosed = Atomic(0)
    /// Told when enough was taken for the peer to go on.
    private let onRelief = Mutex(Relief())

    /// In a structure: a function that is read out of a `Mutex` by itself is wrapped anew each time.
    private struct Relief {
        var body: (@Sendable () -> Void)?
    }

    /// Beyond this the peer is asked to hold back.
    static let highMark = 1 << 20
    /// Above the high mark, the peer is told of the new room each time that this much was taken.
    private static let step = highMark / 4
    /// Unread bytes of closed channels do not hold the peer back, up to this many. The rest counts, because a peer
    /// could fill and close one channel after the other.
    static let closedAllowance = DataChannelInbox.byteLimit
    /// What a message costs beside its bytes. If only bytes counted, a peer that keeps to its window could still reach
    /// `DataChannelInbox.messageLimit` with small messages.
    static let overhead = 128

    static func cost(of message: DataChannelMessage) -> Int { message.byteCount + overhead }

    /// What holds the peer back.
    var count: Int { ofOpen.load(ordering: .relaxed) + Self.excess(ofClosed.load(ordering: .relaxed)) }

    private static func excess(_ closed: Int) -> Int { max(closed - closedAllowance, 0) }

    func whenRelieved(_ body: @escaping @Sendable () -> Void) { onRelief.withLock { $0.body = body } }

    func add(_ cost: Int) { ofOpen.add(cost, ordering: .relaxed) }

    func remove(_ cost: Int) {
        let before = ofOpen.subtract(cost, ordering: .relaxed).oldValue
        let others = Self.excess(ofClosed.load(ordering: .relaxed))
        fell(from: before + others, to: before - cost + others)
    }

    /// A channel was closed with this much unread in it.
    func close(_ cost: Int) {
        ofClosed.add(cost, ordering: .relaxed)
        remove(cost)
    }

    /// From a channel that is over.
    func removeClosed(_ cost: Int) {
        let before = ofClosed.subtract(cost, ordering: .relaxed).oldValue
        let others = ofOpen.load(ordering: .relaxed)
        fell(from: others + Self.excess(before), to: others + Self.excess(before - cost))
    }

    private func fell(from before: Int, to after: Int) {
        // What is left may stay for long: the peer is not to wait until all of it is taken.
        guard before > Self.highMark, after / Self.step < before / Self.step else { return }
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
        /// Of all messages, as `UnreadData` counts them.
        var cost: Int { bytes + count * UnreadData.overhead }

        mutating func popFirst() -> Taken? {
            guard head < messages.count, let message = messages[head] else { return nil }
            messages[head] = nil
            head += 1
            bytes -= message.byteCount
            if head == messages.count || head >= 1_024 {
                messages.removeFirst(head)
                head = 0
            }
            return Taken(message: message, isOfClosed: isFinished)
        }
    }

    private struct Taken {
        let message: DataChannelMessage
        /// The channel was over already.
        let isOfClosed: Bool
    }

    /// What one channel keeps for an application that does not take it. A peer gets that far only when it does not hold
    /// back as it is asked to.
    static let byteLimit = 16 << 20
    static let messageLimit = 262_144

    private let state = Mutex(State())
    private let unread: UnreadData

    init(unread: UnreadData) { self.unread = unread }

    // What nobody will take any more is not unread.
    deinit {
        let (cost, isFinished) = state.withLock { ($0.cost, $0.isFinished) }
        if isFinished { unread.removeClosed(cost) } else { unread.remove(cost) }
    }

    /// Keeps a message; `deliver` gives it to who waits. False when there is no room.
    func append(_ message: DataChannelMessage) -> Bool {
        let size = message.byteCount
        let isTaken = state.withLock { state in
            guard state.bytes + size <= Self.byteLimit, state.count < Self.messageLimit else { return false }
            state.messages.append(message)
            state.bytes += size
            return true
        }
        if isTaken { unread.add(UnreadData.cost(of: message)) }
        return isTaken
    }

    /// Wakes those who wait, as far as there are messages for them: after several messages, so that a reader is not
    /// woken for each.
    func deliver() {
        while let (waiter, taken) = state.withLock({ state in
            state.waiters.isEmpty ? nil : state.popFirst().map { (state.waiters.removeFirst(), $0) }
        }) {
            waiter.continuation.resume(returning: handOut(taken))
        }
    }

    /// The oldest message that waits, or the next one that comes; nil at the end, and for a cancelled task.
    func next() async -> DataChannelMessage? {
        let (taken, ticket) = state.withLock { state in
            state.nextTicket &+= 1
            return (state.popFirst(), state.nextTicket)
        }
        if let taken { return handOut(taken) }
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
            case goOn(Taken?)
        }
        let step = state.withLock { state -> Step in
            if let taken = state.popFirst() { return .goOn(taken) }
            // A cancellation that came before the waiter was there finds nobody to wake.
            if state.isFinished || Task.isCancelled { return .goOn(nil) }
            state.waiters.append(Waiter(ticket: ticket, continuation: continuation))
            return .wait
        }
        if case .goOn(let taken) = step { continuation.resume(returning: taken.map(handOut)) }
    }

    private func handOut(_ taken: Taken) -> DataChannelMessage {
        let cost = UnreadData.cost(of: taken.message)
        if taken.isOfClosed { unread.removeClosed(cost) } else { unread.remove(cost) }
        return taken.message
    }

    /// No more messages will come; those that wait may still be taken, and hold up no other channel.
    func finish() {
        deliver()
        let (waiters, left) = state.withLock { state -> ([Waiter], Int) in
            // The second time nothing is left to count.
            let left = state.isFinished ? 0 : state.cost
            state.isFinished = true
            defer { state.waiters = [] }
            return (state.waiters, left)
        }
        unread.close(left)
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
