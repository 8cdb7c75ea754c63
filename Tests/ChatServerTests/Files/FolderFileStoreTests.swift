import ChatModel
import Foundation
import Testing

@testable import ChatServer

/// Files in a folder of the test's own.
struct FolderFileStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "roost-files-\(UUID())")
    private let id = FileID(UUID())

    private func open() throws -> FolderFileStore { try FolderFileStore(folder: folder.path, partSize: 8) }

    private func inFolder(_ body: (FolderFileStore, StoredUpload) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        try await body(store, StoredUpload(id: id, handle: try await store.begin(id), size: 12))
    }

    private func bytes(_ store: FolderFileStore, _ range: Range<Int64>, _ part: StoredObject.Part = .content)
        async throws -> [UInt8]
    {
        var bytes: [UInt8] = []
        for try await chunk in try await store.read(StoredObject(id, part), range) { bytes += chunk }
        return bytes
    }

    @Test func `parts become a file, which is read in any range`() async throws {
        try await inFolder { store, upload in
            #expect(try await store.offset(of: upload) == 0)
            try await store.append(Array("hello wo".utf8), to: upload, at: 0)
            #expect(try await store.offset(of: upload) == 8)
            // Another server on the same folder goes on where this one was.
            let later = try open()
            #expect(try await later.offset(of: upload) == 8)
            try await later.append(Array("rld!".utf8), to: upload, at: 8)
            #expect(try await later.exists(StoredObject(id)) == false)
            try await later.complete(upload)
            #expect(try await later.exists(StoredObject(id)))
            #expect(try await bytes(later, 0..<12) == Array("hello world!".utf8))
            #expect(try await bytes(later, 4..<7) == Array("o w".utf8))
            // A server that ended before it had written that it was complete asks again.
            #expect(try await later.offset(of: upload) == 12)
            try await later.complete(upload)
            #expect(try await bytes(later, 11..<12) == Array("!".utf8))
        }
    }

    @Test func `a part that was torn is there as far as it came`() async throws {
        try await inFolder { store, upload in
            try await store.append(Array("hello wo".utf8), to: upload, at: 0)
            let path = folder.appending(path: "uploads/\(id)").path
            #expect(truncate(path, 3) == 0)
            #expect(try await store.offset(of: upload) == 3)
            try await store.append(Array("lo world".utf8), to: upload, at: 3)
            try await store.append(Array("!".utf8), to: upload, at: 11)
            try await store.complete(upload)
            #expect(try await bytes(store, 0..<12) == Array("hello world!".utf8))
        }
    }

    @Test func `large files come in pieces, and a file that ends early is an error`() async throws {
        try await inFolder { store, upload in
            let all = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
            try await store.put(all, as: StoredObject(id, .thumbnail))
            #expect(try await store.get(StoredObject(id, .thumbnail)) == all)
            var sizes: [Int] = []
            for try await chunk in try await store.read(StoredObject(id, .thumbnail), 10..<300_000) {
                sizes.append(chunk.count)
            }
            #expect(sizes.count > 1 && sizes.reduce(0, +) == 299_990)
            await #expect(throws: FileStoreFault.self) { try await bytes(store, 0..<300_001, .thumbnail) }
        }
    }

    @Test func `what was taken away is gone, and taking it away again is no error`() async throws {
        try await inFolder { store, upload in
            try await store.append(Array("hello wo".utf8), to: upload, at: 0)
            try await store.put([1], as: StoredObject(id, .thumbnail))
            for _ in 0..<2 {
                try await store.remove(id, handle: upload.handle)
                #expect(try await store.exists(StoredObject(id, .thumbnail)) == false)
                await #expect(throws: FileStoreFault.missing) { try await store.offset(of: upload) }
                await #expect(throws: FileStoreFault.missing) { try await store.complete(upload) }
                await #expect(throws: FileStoreFault.missing) { try await store.read(StoredObject(id), 0..<1) }
            }
        }
    }

    @Test func `nobody else on the machine reads it`() async throws {
        try await inFolder { store, upload in
            try await store.append([1], to: upload, at: 0)
            for path in ["", "/files", "/uploads", "/uploads/\(id)"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + path)
                #expect((attributes[.posixPermissions] as? Int ?? 0) & 0o077 == 0)
            }
        }
    }
}
