internal import RTCEngine
internal import Synchronization

/// Frames on their way from encoders' threads to the connection, in the order in which they were handed over. Who hands
/// one over while the connection's thread sleeps sends it in its place; else they wait here, and nobody waits for it.
///
/// Guarded by its lock.
final class FrameOutbox: LoopCall {
    struct Entry {
        let frame: EncodedFrame
        /// Nil without simulcast.
        let rid: String?
        let transceiver: TransceiverID
    }

    private struct State {
        weak var connection: PeerConnection?
        var entries: [Entry] = []
        var bytes = 0
    }

    /// What waits at most: a connection's thread that is this far behind will not catch up by being given more.
    static let frameLimit = 256
    static let byteLimit = 8 << 20

    private let state = Mutex(State())

    /// Takes a frame for `connection`; false when there is no room. From any thread.
    func append(_ entry: Entry, for connection: PeerConnection) -> Bool {
        let size = entry.frame.payload.count
        let (isTaken, mustWake) = state.withLock { state in
            guard state.entries.count < Self.frameLimit, state.entries.isEmpty || state.bytes + size <= Self.byteLimit
            else { return (false, false) }
            state.connection = connection
            state.entries.append(entry)
            state.bytes += size
            return (true, state.entries.count == 1)
        }
        if mustWake { connection.loop.visit(self) }
        return isTaken
    }

    /// Who has the turn of the connection's loop sends what has come.
    func run() {
        let (connection, entries) = state.withLock { state in
            defer {
                state.entries.removeAll(keepingCapacity: true)
                state.bytes = 0
            }
            return (state.connection, state.entries)
        }
        connection?.assumeIsolated { $0.send(entries) }
    }
}
