internal import Synchronization

/// A text of ours that is written piece by piece. The pieces of two tasks that write at once may come in any order.
public final class TextStreamWriter: Sendable {
    /// What receivers are told before the content; without the attributes of `close`.
    public let info: TextStreamInfo
    private let stream: OutgoingStreamSlot

    init(_ info: TextStreamInfo, _ stream: OutgoingStreamSlot) {
        self.info = info
        self.stream = stream
    }

    /// Sends the next piece. Returns when it was handed to the data channel; waits as `Room.sendText` does.
    ///
    /// - Throws: `streamClosed` after the end, `streamInterrupted` in another session of ours than it was begun in or
    ///   where the task is cancelled, `notConnected` outside a room.
    public func write(_ text: String) async throws(RoomError) { try await stream.write(Array(text.utf8)) }

    /// Ends the text.
    ///
    /// - Parameters:
    ///   - attributes: added to those of the beginning, or in place of those of the same name.
    ///   - reason: why the text is given up; empty when it is complete.
    /// - Throws: as `write`; `dataTooLarge` when the attributes are too long: the text may then be closed with others.
    public func close(attributes: [String: String] = [:], reason: String = "") async throws(RoomError) {
        try await stream.close(attributes, reason)
    }
}

/// Bytes of ours that are written piece by piece. The pieces of two tasks that write at once may come in any order.
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
