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
    /// Until it is withdrawn, the server ends it or does not take it in a new session, or the room is over or let go
    /// of.
    public var isPublished: Bool { state.withLock { $0.isPublished } }

    /// Sends a frame, once, to those who have subscribed. Back when it is on its way; passed over while a new session
    /// is made. Before there is a channel, and where the path takes less than is pushed, 32 frames of all tracks wait,
    /// and the oldest go; before there is a channel no more than 1 MiB of packets, so that a longer frame is lost
    /// without a word.
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
