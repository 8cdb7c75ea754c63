internal import RTCEngine
internal import Synchronization

/// Messages of one connection's channels on their way from the tasks that send them to the connection's thread, in the
/// order in which they were sent. The thread is woken for the first of them and takes as many as there are then: who
/// sends many waits for none, and they share packets and system calls.
///
/// Guarded by its lock.
final class DataChannelOutbox: LoopCall {
    struct Entry {
        let channel: DataChannel
        let message: DataChannelMessage
    }

    /// What has come of a message.
    enum Admission {
        /// It goes out; the first one that waits has the connection's thread woken.
        case taken
        case tooLarge(limit: Int)
        case full
    }

    private struct State {
        var entries: [Entry] = []
        /// What `entries` will take of the association's buffer.
        var cost = 0
        var limits = DataSendLimits()
        /// A message was refused, and its sender waits.
        var isRoomWanted = false
    }

    private let state = Mutex(State())
    private weak let connection: PeerConnection?
    private let loop: NetworkLoop

    init(_ connection: PeerConnection) {
        self.connection = connection
        self.loop = connection.loop
    }

    /// Takes a message, or nothing of it. From any thread.
    func append(_ message: DataChannelMessage, of channel: DataChannel) -> Admission {
        let size = message.byteCount
        let cost = DataSendLimits.cost(ofBytes: size)
        let (admission, mustWake) = state.withLock { state -> (Admission, Bool) in
            guard size <= state.limits.messageSize else { return (.tooLarge(limit: state.limits.messageSize), false) }
            // What is empty takes a message of any size, as the association does.
            guard state.cost + state.limits.used == 0 || state.cost + state.limits.used + cost <= state.limits.buffer
            else {
                state.isRoomWanted = true
                return (.full, false)
            }
            state.entries.append(Entry(channel: channel, message: message))
            state.cost += cost
            return (.taken, state.entries.count == 1)
        }
        if mustWake { loop.call(self) }
        return admission
    }

    // MARK: On the connection's thread

    /// Puts what waits into `entries`, which is empty. It counts as used until `update` says more.
    func take(into entries: inout [Entry]) {
        state.withLock { state in
            swap(&state.entries, &entries)
            state.limits.used += state.cost
            state.cost = 0
        }
    }

    /// What the association takes now. True when somebody has waited for room and half of the buffer is free: less
    /// would wake senders for every message.
    func update(_ limits: DataSendLimits) -> Bool {
        state.withLock { state in
            state.limits = limits
            guard state.isRoomWanted, state.cost + limits.used <= limits.buffer / 2 else { return false }
            state.isRoomWanted = false
            return true
        }
    }

    /// Nothing more goes out. Entries hold their channels, and those this.
    func removeAll() {
        state.withLock { state in
            state.entries = []
            state.cost = 0
        }
    }

    func run() {
        guard let connection else { return removeAll() }
        connection.assumeIsolated { $0.sendQueuedData() }
    }
}
