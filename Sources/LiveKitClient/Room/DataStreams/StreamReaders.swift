internal import Foundation

/// A text of somebody else's as it comes, for one reader.
///
/// ```swift
/// await room.registerTextStreamHandler(for: "lk.chat") { reader, sender in
///     print(sender, try await reader.readAll())
/// }
/// ```
/// Content that is not read waits here. When 4 MiB of a room's streams wait, the senders of all reliable messages have
/// to wait too. So call `cancel`, or release the reader, when you want no more of a stream.
public final class TextStreamReader: Sendable, AsyncSequence {
    /// What the sender said before the content.
    public let info: TextStreamInfo
    private let content: DataStreamContent

    init(_ info: TextStreamInfo, _ inbox: DataStreamInbox) {
        self.info = info
        content = DataStreamContent(inbox)
    }

    /// Those of the beginning and, once the stream has ended, those of its end, which take precedence.
    public var attributes: [String: String] { info.attributes.merging(content.inbox.lastAttributes) { $1 } }

    /// Waits for the end of the text and returns what was not read before.
    ///
    /// - Parameter limit: in bytes of UTF-8; `tooLong` beyond it.
    public func readAll(limit: Int = .max) async throws(StreamError) -> String {
        String(decoding: try await content.readAll(limit), as: UTF8.self)
    }

    /// Ends reading: content that still comes is dropped, and reading throws `cancelled`. Calling it again does
    /// nothing.
    public func cancel() { content.inbox.abandon() }

    /// For `for try await`. Iterators of one reader share the content: each piece goes to one of them.
    public func makeAsyncIterator() -> Iterator { Iterator(content: content) }

    /// Pieces as they come, each of whole characters in Unicode's sense of scalars.
    public struct Iterator: AsyncIteratorProtocol {
        let content: DataStreamContent

        /// The next piece, as soon as it is there; nil at the end.
        ///
        /// - Throws: when the stream breaks off or cannot be read, and `cancelled` when the task is cancelled.
        public mutating func next() async throws(StreamError) -> String? {
            try await content.inbox.next().map { String(decoding: $0, as: UTF8.self) }
        }

        /// As `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> String? {
            try await content.inbox.next().map { String(decoding: $0, as: UTF8.self) }
        }
    }
}

/// Bytes of somebody else's as they come, for one reader. See `TextStreamReader`.
public final class ByteStreamReader: Sendable, AsyncSequence {
    /// What the sender said before the content.
    public let info: ByteStreamInfo
    private let content: DataStreamContent

    init(_ info: ByteStreamInfo, _ inbox: DataStreamInbox) {
        self.info = info
        content = DataStreamContent(inbox)
    }

    /// Those of the beginning and, once the stream has ended, those of its end, which take precedence.
    public var attributes: [String: String] { info.attributes.merging(content.inbox.lastAttributes) { $1 } }

    /// Waits for the end of the stream and returns the bytes that were not read before.
    ///
    /// - Parameter limit: in bytes; `tooLong` beyond it.
    public func readAll(limit: Int = .max) async throws(StreamError) -> [UInt8] { try await content.readAll(limit) }

    /// Ends reading: content that still comes is dropped, and reading throws `cancelled`. Calling it again does
    /// nothing.
    public func cancel() { content.inbox.abandon() }

    /// For `for try await`. Iterators of one reader share the content: each piece goes to one of them.
    public func makeAsyncIterator() -> Iterator { Iterator(content: content) }

    /// Pieces as they come, of any length.
    public struct Iterator: AsyncIteratorProtocol {
        let content: DataStreamContent

        /// The next piece, as soon as it is there; nil at the end.
        ///
        /// - Throws: when the stream breaks off or cannot be read, and `cancelled` when the task is cancelled.
        public mutating func next() async throws(StreamError) -> [UInt8]? { try await content.inbox.next() }

        /// As `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> [UInt8]? {
            try await content.inbox.next()
        }
    }
}

/// What a reader and its iterators share: when the last of them goes, nobody reads.
final class DataStreamContent: Sendable {
    let inbox: DataStreamInbox

    init(_ inbox: DataStreamInbox) { self.inbox = inbox }

    deinit { inbox.abandon() }

    func readAll(_ limit: Int) async throws(StreamError) -> [UInt8] {
        var all: [UInt8] = []
        while let piece = try await inbox.next() {
            guard piece.count <= limit - all.count else { throw .tooLong(limit: limit) }
            all += piece
        }
        return all
    }
}
