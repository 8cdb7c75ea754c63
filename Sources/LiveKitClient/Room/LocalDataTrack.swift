internal import Synchronization

/// A data track that we publish: frames of bytes that may be lost, as of sensors and poses. It stays the same over
/// reconnects.
///
/// ```swift
/// let track = try await room.publishDataTrack(name: "pose")
/// try await track.push(DataTrackFrame(payload: pose))
/// ```
public final class LocalDataTrack: Sendable {
    /// No other track of ours has it.
    public let name: String

    /// What our packets call it.
    let handle: UInt16
    private weak let room: Room?

    private struct State {
        var sid = TrackSID("")
        var isPublished = false
    }

    /// Written by the room.
    private let state = Mutex(State())

    init(name: String, handle: UInt16, room: Room?) {
        self.name = name
        self.handle = handle
        self.room = room
    }

    /// What the server calls it; another one in a new session.
    public var sid: TrackSID { state.withLock { $0.sid } }
    /// True until the track is withdrawn, the server ends it or refuses it in a new session, or the room is left, lost
    /// or released.
    public var isPublished: Bool { state.withLock { $0.isPublished } }

    /// Sends a frame, once, to the subscribers. Returns when it was handed on; while a new session is made, the frame
    /// is dropped. Before the data channel is open, and when the path carries less than is pushed, the newest 32 frames
    /// of all tracks wait. Before the channel is open they may have 1 MiB in all: a longer frame is dropped, without an
    /// error.
    ///
    /// - Throws: `dataTrackEnded` when it is not published any more, `dataTooLarge` when a frame is longer than others
    ///   take, which is 2 MB.
    public func push(_ frame: DataTrackFrame) async throws(RoomError) {
        guard let room else { throw .dataTrackEnded }
        try await room.push(frame, on: self)
    }

    /// Withdraws the track. Repeatable.
    public func unpublish() async { await room?.unpublish(self) }

    /// The server calls it so by now; nil when it is over.
    func changed(to sid: TrackSID?) {
        state.withLock { state in
            if let sid { state.sid = sid }
            state.isPublished = sid != nil
        }
    }
}
