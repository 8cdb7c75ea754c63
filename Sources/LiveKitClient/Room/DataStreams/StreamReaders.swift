internal import Foundation

/// A text of somebody else's as it comes, for one reader.
///
/// ```swift
/// await room.registerTextStreamHandler(for: "lk.chat") { reader, sender in
///     print(sender, try await reader.readAll())
/// }
/// ```
/// What is not taken waits, and when 4 MiB of a room's streams do, those who send wait, whatever they send reliably:
/// whoever wants no more of a stream says so (`cancel`) or lets go of its reader.
public final class TextStreamReader: Sendable, AsyncSequence {
    /// What the sender said before the content.
    public let info: TextStreamInfo
    private let content: DataStreamContent

    init(_ info: TextStreamInfo, _ inbox: DataStreamInbox) {
        self.info = info
        content = DataStreamContent(inbox)
    }

    /// What was said with the beginning, and at the end with the end too, which has the last word.
    public var attributes: [String: String] { info.attributes.merging(content.inbox.lastAttributes) { $1 } }

    /// All that is left of the text, when it has ended.
    ///
    /// - Parameter limit: in bytes of UTF-8; `tooLong` beyond it.
    public func readAll(limit: Int = .max) async throws(StreamError) -> String {
        String(decoding: try await content.readAll(limit), as: UTF8.self)
    }

    /// Wants no more of it: what comes is dropped, and who reads all the same gets `cancelled`. Repeatable.
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

    /// What was said with the beginning, and at the end with the end too, which has the last word.
    public var attributes: [String: String] { info.attributes.merging(content.inbox.lastAttributes) { $1 } }

    /// All bytes that are left, when the stream has ended.
    ///
    /// - Parameter limit: `tooLong` beyond so many.
    public func readAll(limit: Int = .max) async throws(StreamError) -> [UInt8] { try await content.readAll(limit) }

    /// Wants no more of it: what comes is dropped, and who reads all the same gets `cancelled`. Repeatable.
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
