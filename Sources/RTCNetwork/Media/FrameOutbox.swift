internal import RTCEngine
internal import Synchronization

/// Frames on their way from encoders' threads to the connection, in the order in which they were handed over. While the
/// connection's thread sleeps, the thread that hands over a frame also sends it. Otherwise the frame waits here, and
/// the thread that handed it over goes on.
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

    /// At most this many frames, and bytes, wait: a thread that is this far behind does not catch up with still more.
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

    /// Sends the frames that wait. Called by the thread that has the turn of the connection's loop.
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
