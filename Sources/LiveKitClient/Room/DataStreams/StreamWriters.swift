internal import Synchronization

/// A text of ours that is written as it comes into being. Pieces of two tasks that write at once may change places.
public final class TextStreamWriter: Sendable {
    /// What receivers are told before the content; without the attributes of `close`.
    public let info: TextStreamInfo
    private let stream: OutgoingStreamSlot

    init(_ info: TextStreamInfo, _ stream: OutgoingStreamSlot) {
        self.info = info
        self.stream = stream
    }

    /// Sends the next piece. Back when it is on its way; waits while 4 MiB of messages do, or 2 MiB for a connection.
    ///
    /// - Throws: `streamClosed` after the end, `streamInterrupted` in another session of ours than it was begun in or
    ///   where the task is cancelled, `notConnected` outside a room.
    public func write(_ text: String) async throws(RoomError) { try await stream.write(Array(text.utf8)) }

    /// Ends the text.
    ///
    /// - Parameters:
    ///   - attributes: beside those of the beginning, or in their place.
    ///   - reason: why it does not come to a good end; empty where it does.
    /// - Throws: as `write`; `dataTooLarge` for attributes that are, after which it may be closed with others.
    public func close(attributes: [String: String] = [:], reason: String = "") async throws(RoomError) {
        try await stream.close(attributes, reason)
    }
}

/// Bytes of ours that are written as they come into being. Pieces of two tasks that write at once may change places.
public final class ByteStreamWriter: Sendable {
    /// What receivers are told before the content; without the attributes of `close`.
    public let info: ByteStreamInfo
    private let stream: OutgoingStreamSlot

    init(_ info: ByteStreamInfo, _ stream: OutgoingStreamSlot) {
        self.info = info
        self.stream = stream
    }

    /// Sends the next piece; as `TextStreamWriter.write`.
    public func write(_ bytes: [UInt8]) async throws(RoomError) { try await stream.write(bytes) }

    /// Ends the stream; as `TextStreamWriter.close`.
    public func close(attributes: [String: String] = [:], reason: String = "") async throws(RoomError) {
        try await stream.close(attributes, reason)
    }
}

/// A stream of ours while it goes on. One that its writer let go of is ended for those who read it.
final class OutgoingStreamSlot: Sendable {
    private weak let room: Room?
    /// Nil when it is over. Changed by the room.
    let stream: Mutex<OutgoingStream?>

    init(_ stream: OutgoingStream, room: Room) {
        self.stream = Mutex(stream)
        self.room = room
    }

    deinit {
        guard let stream = stream.withLock({ $0 }), let room else { return }
        Task { await room.forget(stream) }
    }

    func write(_ content: [UInt8]) async throws(RoomError) {
        guard let room else { throw .notConnected }
        try await room.write(content, on: self)
    }

    func close(_ attributes: [String: String], _ reason: String) async throws(RoomError) {
        guard let room else { throw .notConnected }
        try await room.close(self, attributes, reason)
    }
}
