import ChatModel
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
}
