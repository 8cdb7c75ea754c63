import ChatModel
import ChatStorePostgres
import ChatStoreSQLite
import Foundation
import Testing

@testable import ChatCore

struct SQLiteCopiesTests {
    @Test func `a database that gets other tables is copied first, and the last three copies are kept`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-copies-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "chat.sqlite").path
        var time = ChatWorld.start
        func copies() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".before-") }.sorted()
        }
        for round in 0..<6 {
            let database = try SQLiteChatDatabase(path: path, at: time)
            let kept = try copies()
            #expect(kept.count == min(round, 3))
            if round > 0 {
                #expect(kept.last?.hasPrefix("chat.sqlite.before-former_tokens-2026") == true)
            }
            // As one that an older version has made.
            try await database.write { session in
                try session.run("DROP TABLE former_tokens")
                try session.run("DELETE FROM schema_steps WHERE name = 'former_tokens'")
            }
            try database.close()
            time = time.advanced(by: .seconds(60))
        }
        #expect(try copies().first?.contains("T") == true)
    }

    @Test func `one that nothing is missing from is not copied`() throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-copies-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "chat.sqlite").path
        for _ in 0..<2 { try SQLiteChatDatabase(path: path, at: ChatWorld.start).close() }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.allSatisfy { !$0.contains("before") })
    }

    @Test func `who may not change the tables of an older version is told, and changes nothing`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-copies-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "chat.sqlite").path
        let database = try SQLiteChatDatabase(path: path, at: ChatWorld.start)
        try await database.write { try Self.makeOlder($0) }
        try database.close()
        for _ in 0..<2 {
            #expect(throws: OutdatedSchema(missingSteps: ["left_changes"])) {
                try SQLiteChatDatabase(path: path, at: ChatWorld.start, migrates: false)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("before") })
        try SQLiteChatDatabase(path: path, at: ChatWorld.start).close()
        let again = try SQLiteChatDatabase(path: path, at: ChatWorld.start, migrates: false)
        try await again.write { session in
            _ = try session.run("INSERT INTO schema_steps (name, taken_at) VALUES ('of_the_future', 0)")
        }
        try again.close()
        #expect(throws: SchemaFault(unknownSteps: ["of_the_future"])) {
            try SQLiteChatDatabase(path: path, at: ChatWorld.start, migrates: false)
        }
    }

    @Test func `nor does PostgreSQL give them to who may not change them`() async throws {
        let address = try await PostgresServer.shared.emptyDatabase()
        let all = Schema.steps.map(\.name)
        await #expect(throws: OutdatedSchema(missingSteps: all)) {
            _ = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start, migrates: false)
        }
        let database = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start)
        try await database.write { try Self.makeOlder($0) }
        await #expect(throws: OutdatedSchema(missingSteps: ["left_changes"])) {
            _ = try await PostgresChatDatabase(address, connections: 1, at: ChatWorld.start, migrates: false)
        }
    }

    /// As a version was that knew nothing of changes that are left.
    private static func makeOlder(_ session: any SQLSession) throws {
        try session.run("DROP TABLE left_changes")
        try session.run("DROP INDEX former_tokens_by_time")
        try session.run("DELETE FROM schema_steps WHERE name = 'left_changes'")
    }
}
