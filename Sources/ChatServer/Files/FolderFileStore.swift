package import ChatModel
internal import Foundation
internal import NIOPosix

/// Files in a folder: whole ones in `files/7f/IDENTIFIER`, by the end of the identifier, whose beginning is the time,
/// with `IDENTIFIER.thumbnail` beside them; those on their way in `uploads/IDENTIFIER`, whose length is the offset: a
/// part is acknowledged when the disk has it, and a part that a crash tore is there as far as it came.
///
/// The disk is waited for on NIO's threads for blocking work, never on an event loop.
package struct FolderFileStore: FileStore {
    private let root: String

    package let partSize: Int
    package let takesShortParts = true

    /// - Parameter folder: is made if it is not there; nobody else on the machine can read it.
    package init(folder: String, partSize: Int = 4 << 20) throws {
        root = URL(filePath: folder, directoryHint: .isDirectory).standardizedFileURL.path
        self.partSize = partSize
        for name in ["", "/files", "/uploads"] {
            try FileManager.default.createDirectory(
                atPath: root + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    private func path(of upload: FileID) -> String { "\(root)/uploads/\(upload)" }

    private func folder(of id: FileID) -> String { "\(root)/files/\(id.description.suffix(2))" }

    private func path(of object: StoredObject) -> String {
        let path = "\(folder(of: object.id))/\(object.id)"
        switch object.part {
        case .content: return path
        case .thumbnail: return path + ".thumbnail"
        }
    }

    private func onDisk<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(body)
    }

    // MARK: Uploads

    package func begin(_ id: FileID) async throws -> String {
        try await onDisk {
            let file = try Descriptor(path(of: id), O_WRONLY | O_CREAT | O_EXCL)
            try file.sync()
            try Descriptor(root + "/uploads", O_RDONLY | O_DIRECTORY).sync()
        }
        return ""
    }

    package func offset(of upload: StoredUpload) async throws -> Int64 {
        try await onDisk { () throws -> Int64 in
            do {
                return try Descriptor(path(of: upload.id), O_RDONLY).size()
            } catch FileStoreFault.missing {
                // Completed, and the server ended before it had written so.
                return try Descriptor(path(of: StoredObject(upload.id)), O_RDONLY).size()
            }
        }
    }

    package func append(_ bytes: [UInt8], to upload: StoredUpload, at offset: Int64) async throws {
        try await onDisk {
            let file = try Descriptor(path(of: upload.id), O_WRONLY)
            try file.write(bytes, at: offset)
            try file.sync()
        }
    }

    package func complete(_ upload: StoredUpload) async throws {
        let object = StoredObject(upload.id)
        try await onDisk {
            do {
                try makeFolder(of: upload.id)
                try move(path(of: upload.id), to: path(of: object))
                try Descriptor(folder(of: upload.id), O_RDONLY | O_DIRECTORY).sync()
            } catch FileStoreFault.missing {
                _ = try Descriptor(path(of: object), O_RDONLY)
            }
        }
    }

    private func makeFolder(of id: FileID) throws {
        guard mkdir(folder(of: id), 0o700) != 0 else {
            return try Descriptor(root + "/files", O_RDONLY | O_DIRECTORY).sync()
        }
        guard errno == EEXIST else { throw FileStoreFault(of: "mkdir") }
    }

    private func move(_ path: String, to other: String) throws {
        guard rename(path, other) == 0 else { throw FileStoreFault(of: "rename") }
    }

    // MARK: Objects

    package func put(_ bytes: [UInt8], as object: StoredObject) async throws {
        try await onDisk {
            let draft = path(of: object.id) + ".draft"
            let file = try Descriptor(draft, O_WRONLY | O_CREAT | O_TRUNC)
            try file.write(bytes, at: 0)
            try file.sync()
            try makeFolder(of: object.id)
            try move(draft, to: path(of: object))
            try Descriptor(folder(of: object.id), O_RDONLY | O_DIRECTORY).sync()
        }
    }

    package func get(_ object: StoredObject) async throws -> [UInt8] {
        try await onDisk {
            let file = try Descriptor(path(of: object), O_RDONLY)
            let size = Int(try file.size())
            var bytes: [UInt8] = []
            while bytes.count < size { bytes += try file.read(size - bytes.count, at: Int64(bytes.count)) }
            return bytes
        }
    }

    package func exists(_ object: StoredObject) async throws -> Bool {
        try await onDisk { access(path(of: object), F_OK) == 0 }
    }

    package func size(of object: StoredObject) async throws -> Int {
        try await onDisk { Int(try Descriptor(path(of: object), O_RDONLY).size()) }
    }

    package func read(_ object: StoredObject, _ range: Range<Int64>) async throws -> FileChunks {
        FolderChunks(file: try await onDisk { try Descriptor(path(of: object), O_RDONLY) }, range: range)
    }

    package func remove(_ id: FileID, handle: String?) async throws {
        try await onDisk {
            for path in [
                path(of: id), path(of: id) + ".draft", path(of: StoredObject(id)),
                path(of: StoredObject(id, .thumbnail)),
            ] {
                guard unlink(path) == 0 || errno == ENOENT else { throw FileStoreFault(of: "unlink") }
            }
        }
    }

    package func link(to object: StoredObject, as response: LinkedResponse, until end: Timestamp) -> String? { nil }
}

/// Reads the next chunk when it is asked for.
private struct FolderChunks: AsyncSequence, Sendable {
    let file: Descriptor
    let range: Range<Int64>

    struct Iterator: AsyncIteratorProtocol {
        let file: Descriptor
        var offset: Int64
        let end: Int64

        mutating func next() async throws -> [UInt8]? {
            guard offset < end else { return nil }
            let (file, offset, count) = (file, offset, Int(Swift.min(end - offset, 128 << 10)))
            let chunk = try await NIOThreadPool.singleton.runIfActive { try file.read(count, at: offset) }
            self.offset += Int64(chunk.count)
            return chunk
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(file: file, offset: range.lowerBound, end: range.upperBound)
    }
}

/// An open file, which closes when nobody has it any more.
private final class Descriptor: Sendable {
    private let number: CInt

    init(_ path: String, _ flags: CInt) throws {
        number = openFile(path, flags | O_CLOEXEC)
        guard number >= 0 else { throw FileStoreFault(of: "open") }
    }

    deinit { close(number) }

    func size() throws -> Int64 {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw FileStoreFault(of: "fstat") }
        return Int64(status.st_size)
    }

    func sync() throws {
        guard fsync(number) == 0 else { throw FileStoreFault(of: "fsync") }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(
                    number, $0.baseAddress?.advanced(by: written), bytes.count - written, off_t(offset) + off_t(written)
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileStoreFault(of: "pwrite") }
            written += count
        }
    }

    /// As many bytes, or fewer; never none.
    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            repeat {
                length = Swift.max(-1, pread(number, buffer.baseAddress, count, off_t(offset)))
            } while length < 0
                && errno == EINTR
            length = Swift.max(0, length)
        }
        guard !bytes.isEmpty else { throw FileStoreFault(of: "pread") }
        return bytes
    }
}

extension FileStoreFault {
    /// What the system says of the call that has just failed.
    fileprivate init(of call: String) { self = errno == ENOENT ? .missing : .system(call: call, number: errno) }
}

/// Outside the class, where the names are the system's.
private func openFile(_ path: String, _ flags: CInt) -> CInt { open(path, flags, 0o600) }
