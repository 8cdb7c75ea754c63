import ChatModel
import ChatStoreSQLite
import Foundation
import Logging
import Testing

@testable import ChatCore
@testable import ChatServer

struct StorageWatchTests {
    @Test func `a server that starts on a copy of its database lets nobody go on from lost events`() async throws {
        let folder = URL.temporaryDirectory.appending(path: "roost-copy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "chat.sqlite")
        let time = Timestamp(milliseconds: 1_790_000_000_000)
        func withServer<Value: Sendable>(
            _ body: @escaping @Sendable (ChatTransaction) throws -> Value
        ) async throws -> Value {
            let database = try SQLiteChatDatabase(path: file.path, at: time)
            let service = ChatService(database: database, now: { time })
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            try await StorageWatch(service: service, logger: logger).begin()
            let value = try await service.write(body)
            try database.close()
            return value
        }
        let (ann, workspace) = try await withServer { chat in
            let ann = try #require(
                try chat.register(
                    NewAccount(email: "ann@example.org", username: "ann", displayName: "Ann", passwordHash: "x")))
            return (ann, try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann).listing.workspace.id)
        }
        let copied = try Data(contentsOf: file)
        @Sendable func change(_ chat: ChatTransaction) throws -> Int64 {
            for number in 0..<5 {
                _ = try chat.createChannel(.public, name: "c\(number)", in: workspace, by: ann)
            }
            return try chat.sequence(of: workspace)
        }
        // A restart is none: whoever was there goes on.
        let seen = try await withServer { try change($0) }
        let missed = try await withServer { try $0.missedEvents(of: workspace, after: seen, by: ann) }
        #expect(missed == .events([], upTo: seen))
        // Put back, into the same file, and as far again.
        for name in ["chat.sqlite-wal", "chat.sqlite-shm"] {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: copied)
        try handle.close()
        let answer = try await withServer { chat in
            _ = try change(chat)
            return try chat.missedEvents(of: workspace, after: seen, by: ann)
        }
        guard case .reload = answer else {
            Issue.record("\(answer)")
            return
        }
    }
}
