import ChatModel
import ChatStorePostgres
import ChatStoreSQLite
import Foundation
import Testing

@testable import ChatCore

struct PuttingBackTests {
    @Test(arguments: TestDatabase.allCases)
    func `whoever has seen numbers of before reads everything anew, however many there are again`(
        database: TestDatabase
    ) async throws {
        var limits = Limits()
        limits.keptEvents = 50
        let world = try await ChatWorld(database, limits: limits)
        let company = try await world.company()
        // Of a database that remembers no place nobody can tell that it is no copy; and the same place is none to
        // leave.
        let unknown = try await world.sequence(of: company.workspace)
        let first = try await world.run { try $0.leaveFormerNumbers(at: "one") }
        let copied = try await world.sequence(of: company.workspace)
        let same = try await world.run { try $0.leaveFormerNumbers(at: "one") }
        #expect(!first && !same && copied == unknown + 1 << 32)
        #expect(try await world.missed(by: company.mia, in: company.workspace, after: unknown) == nil)
        #expect(try await world.sequence(of: company.workspace) == copied)
        #expect(try await world.missed(by: company.mia, in: company.workspace, after: copied) == [])
        // Its 20 newest events are lost, and as many come again.
        let other = try await world.run { try $0.leaveFormerNumbers(at: "two") }
        let again = try await world.run { try $0.leaveFormerNumbers(at: "two") }
        #expect(other && !again)
        for number in 0..<20 { try await world.say("\(number)", in: company.general, by: company.olga) }
        for seen in [copied, copied + 1, copied + 10, copied + 20] {
            #expect(try await world.missed(by: company.mia, in: company.workspace, after: seen) == nil, "\(seen)")
        }
        let newest = try await world.sequence(of: company.workspace)
        #expect(newest == copied + 1 << 32 + 20)
        #expect(
            try await world.missed(by: company.mia, in: company.workspace, after: newest - 2)
                == [.messageSent, .messageSent])
    }

    @Test func `a file of SQLite's knows its place from that of a copy`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-place-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "chat.sqlite")
        func storage(_ stamp: String? = nil) async throws -> String? {
            let database = try SQLiteChatDatabase(path: file.path, at: ChatWorld.start)
            if let stamp { _ = try database.stampStorage(stamp) }
            let storage = try await database.storage()
            try database.close()
            return storage
        }
        let first = try #require(try await storage())
        let stamped = try #require(try await storage("a"))
        #expect(stamped != first)
        #expect(try await storage() == stamped)
        #expect(try await storage("b") != stamped)
        #expect(try await storage("a") == stamped)
        // A folder that was copied has the same stamp.
        let copy = folder.appending(path: "copy")
        try FileManager.default.copyItem(at: file, to: copy)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: copy, to: file)
        #expect(try await storage() != stamped)
        let inMemory = try SQLiteChatDatabase(inMemoryAt: ChatWorld.start)
        let isStamped = try inMemory.stampStorage("a")
        #expect(try await inMemory.storage() == nil && !isStamped)
    }

    /// The whole of it, with the stamp. A file system may give the file the number that it had.
    @Test func `a folder of SQLite's that was put back is known for another one`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-folder-\(UUID().uuidString)")
        let copy = URL.temporaryDirectory.appending(path: "roost-folder-\(UUID().uuidString)")
        defer { for folder in [folder, copy] { try? FileManager.default.removeItem(at: folder) } }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func storage() async throws -> String? {
            let database = try SQLiteChatDatabase(path: folder.appending(path: "chat.sqlite").path, at: ChatWorld.start)
            let storage = try await database.storage()
            try database.close()
            return storage
        }
        let file = try SQLiteChatDatabase(path: folder.appending(path: "chat.sqlite").path, at: ChatWorld.start)
        let isStamped = try file.stampStorage("a")
        try file.close()
        let first = try #require(try await storage())
        #expect(isStamped && first.split(separator: "/").count == 3)
        try FileManager.default.copyItem(at: folder, to: copy)
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.copyItem(at: copy, to: folder)
        #expect(try await storage() != first)
    }

    @Test func `PostgreSQL's tables are known from those that were made anew`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let first = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        let storage = try #require(try await first.storage())
        let parts = storage.split(separator: "/")
        // Of a cluster that was never promoted.
        #expect(parts.count == 4 && parts[1] == "00000001")
        let second = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        let isStamped = try second.stampStorage("a")
        #expect(try await second.storage() == storage && !isStamped)
        // As a copy that is read in again.
        try await second.write { _ = try $0.run("TRUNCATE workspaces CASCADE") }
        #expect(try await second.storage() != storage)
    }
}
