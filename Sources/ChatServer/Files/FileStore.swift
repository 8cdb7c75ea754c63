package import ChatModel

/// Where the bytes of files are. What is known of them is in the tables; a store knows identifiers alone, and never a
/// name that people gave.
package protocol FileStore: Sendable {
    /// The largest part of an upload, in bytes.
    var partSize: Int { get }
    /// Whether a part in the middle of an upload may be shorter than that.
    var takesShortParts: Bool { get }

    /// Begins an upload.
    ///
    /// - Returns: what the store calls it from now on.
    func begin(_ id: FileID) async throws -> String
    /// How many bytes of an upload would outlive the machine's power now.
    func offset(of upload: StoredUpload) async throws -> Int64
    /// Adds a part; when this returns, it is kept.
    ///
    /// - Parameter offset: as `offset(of:)` gives it. Of one upload nothing else is asked for meanwhile.
    func append(_ bytes: [UInt8], to upload: StoredUpload, at offset: Int64) async throws
    /// Makes a file of an upload that is whole; again is the same as once.
    func complete(_ upload: StoredUpload) async throws
    /// Keeps something small, all at once.
    func put(_ bytes: [UInt8], as object: StoredObject) async throws
    /// All of something small.
    ///
    /// - Throws: `FileStoreFault.missing` where there is none.
    func get(_ object: StoredObject) async throws -> [UInt8]
    /// Bytes of what is there, read as they are asked for.
    ///
    /// - Parameter range: within the object, and not empty.
    /// - Throws: `FileStoreFault.missing` where there is none.
    func read(_ object: StoredObject, _ range: Range<Int64>) async throws -> FileChunks
    /// Whether there is such an object.
    func exists(_ object: StoredObject) async throws -> Bool
    /// How large an object is, in bytes.
    ///
    /// - Throws: `FileStoreFault.missing` where there is none.
    func size(of object: StoredObject) async throws -> Int
    /// Takes everything of a file away, and of its upload; what is not there is no error.
    ///
    /// - Parameter handle: of an upload that had begun.
    func remove(_ id: FileID, handle: String?) async throws
    /// A link of the store's own for anybody who has it; nil where the server has to serve the bytes.
    func link(to object: StoredObject, as response: LinkedResponse, until end: Timestamp) -> String?
}

/// Parts of a file, one after the other.
package typealias FileChunks = any AsyncSequence<[UInt8], any Error> & Sendable

/// Something that a store keeps.
package struct StoredObject: Sendable, Hashable {
    package enum Part: Sendable { case content, thumbnail }

    package let id: FileID
    package let part: Part

    package init(_ id: FileID, _ part: Part = .content) {
        self.id = id
        self.part = part
    }
}

/// An upload that a store has begun.
package struct StoredUpload: Sendable, Equatable {
    package let id: FileID
    package let handle: String
    /// Of the whole file, in bytes.
    package let size: Int64

    package init(id: FileID, handle: String, size: Int64) {
        self.id = id
        self.handle = handle
        self.size = size
    }
}

/// How a store of its own links is to answer.
package struct LinkedResponse: Sendable {
    package let mediaType: String
    package let disposition: String
}

package enum FileStoreFault: Error, Equatable {
    case missing
    /// The system's number of what went wrong.
    case system(call: String, number: Int32)
    /// The store answered so; `code` is its name of the error, if it gave one.
    case answer(status: Int, code: String)
    /// An answer that says nothing that can be used.
    case notUnderstood
}
