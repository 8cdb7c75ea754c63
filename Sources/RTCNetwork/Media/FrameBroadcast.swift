internal import RTCEngine
internal import Synchronization

/// The frames of one receiver and any number of listeners, each with an `AsyncStream` and a bounded backlog of its own.
/// What comes before the first listener waits for it, within the same bounds.
///
/// Guarded by its lock; frames are sent by one thread, outside it.
final class FrameBroadcast: Sendable {
    private struct State {
        var listeners: [WeakListener] = []
        /// Until there has been a listener.
        var early: FrameBacklog? = FrameBacklog()
        var dropped: UInt64 = 0
        var isFinished = false
    }

    private struct WeakListener {
        weak var listener: FrameListener?
    }

    private let state = Mutex(State())

    /// Frames that were not taken in time, over all listeners.
    var dropped: UInt64 { state.withLock { $0.dropped } }

    /// A stream of the frames from now on. It ends when the source finishes.
    func stream() -> AsyncStream<EncodedFrame> { listen().frames }

    /// The same, with what ends it before the source does (what waits is still taken), and what it has missed.
    ///
    /// - Parameter transform: what the listener gets of each frame, or nothing; in its task.
    func listen(
        transform: (@Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) -> (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames) {
        let listener = state.withLock { state in
            let listener = FrameListener(taking: state.early ?? FrameBacklog(), isFinished: state.isFinished)
            state.early = nil
            state.listeners.append(WeakListener(listener: listener))
            return listener
        }
        // The stream alone keeps the listener: who drops the one is rid of the other.
        return (
            AsyncStream(
                unfolding: {
                    while let frame = await listener.next() {
                        guard let transform else { return frame }
                        if let frame = transform(frame) { return frame }
                    }
                    return nil
                }, onCancel: { [weak listener] in listener?.finish() }),
            FrameStreamEnd(listener: listener), listener.missed
        )
    }

    /// Gives a frame to every listener. True when one of them can go on at a key frame only; before the first listener
    /// nobody needs one.
    ///
    /// - Parameter now: when it came: what a reader finds in it, however late.
    func send(_ frame: EncodedFrame, at now: Instant = NetworkLoop.now) -> Bool {
        var frame = frame
        frame.receivedAt = now
        return distribute(frame)
    }

    private func distribute(_ frame: EncodedFrame) -> Bool {
        let (listeners, early) = state.withLock { state in
            state.listeners.removeAll { $0.listener == nil }
            return (state.listeners.compactMap(\.listener), state.early?.append(frame))
        }
        let outcomes = listeners.map { $0.send(frame) }
        let dropped = outcomes.reduce(early?.dropped ?? 0) { $0 + $1.dropped }
        if dropped > 0 { state.withLock { $0.dropped += UInt64(dropped) } }
        return outcomes.contains(where: \.wantsKeyFrame)
    }

    /// No more frames will come; listeners still take those that wait.
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return state.listeners.compactMap(\.listener)
        }
        for listener in listeners { listener.finish() }
    }
}

/// Ends one stream of frames.
package struct FrameStreamEnd: Sendable {
    fileprivate weak var listener: FrameListener?

    /// Of a stream that ends by itself.
    package static let nothing = FrameStreamEnd(listener: nil)

    /// Nobody has the stream any more: there is nothing to end.
    package var isOver: Bool { listener == nil }

    /// What waits is still taken.
    package func callAsFunction() { listener?.finish() }

    /// What waits is not taken any more, and counts as missed.
    package func atOnce() { listener?.finish(isEmptied: true) }
}

/// One listener's frames, between the thread that sends and the tasks that wait. Guarded by its lock; tasks go on
/// outside it.
private final class FrameListener: Sendable {
    private typealias Waiter = CheckedContinuation<EncodedFrame?, Never>

    private struct State {
        var backlog: FrameBacklog
        var waiters: [Waiter] = []
        var isFinished: Bool
    }

    /// Since it listens: what was dropped of the frames before, nobody wanted.
    let missed = MissedFrames()
    private let state: Mutex<State>

    init(taking backlog: FrameBacklog, isFinished: Bool) {
        state = Mutex(State(backlog: backlog, isFinished: isFinished))
    }

    func send(_ frame: EncodedFrame) -> FrameBacklog.Outcome {
        let (outcome, waiter, next) = state.withLock { state -> (FrameBacklog.Outcome, Waiter?, EncodedFrame?) in
            guard !state.isFinished else { return (FrameBacklog.Outcome(), nil, nil) }
            let outcome = state.backlog.append(frame)
            if outcome.dropped > 0 { missed.add(outcome.dropped) }
            guard !state.waiters.isEmpty, let next = state.backlog.popFirst() else { return (outcome, nil, nil) }
            return (outcome, state.waiters.removeFirst(), next)
        }
        waiter?.resume(returning: next)
        return outcome
    }

    /// The oldest frame that waits, or the next one that comes; nil at the end.
    func next() async -> EncodedFrame? {
        await withCheckedContinuation { continuation in
            enum Step {
                case wait
                case goOn(EncodedFrame?)
            }
            let step = state.withLock { state -> Step in
                if let frame = state.backlog.popFirst() { return .goOn(frame) }
                if state.isFinished { return .goOn(nil) }
                state.waiters.append(continuation)
                return .wait
            }
            if case .goOn(let frame) = step { continuation.resume(returning: frame) }
        }
    }

    /// - Parameter isEmptied: what waits is missed, instead of taken.
    func finish(isEmptied: Bool = false) {
        let waiters = state.withLock { state in
            if isEmptied {
                missed.add(state.backlog.count)
                state.backlog = FrameBacklog()
            }
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
