import ChatModel
import ChatStoreSQLite
import Foundation
import Logging
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

@Suite(.timeLimit(.minutes(2))) struct StorageWatchTests {
    /// A folder with a database, in which Ann has a workspace.
    private final class Place: Sendable {
        let folder = URL.temporaryDirectory.appending(path: "roost-copy-\(UUID().uuidString)")
        let logged = Mutex<[String]>([])
        static let time = Timestamp(milliseconds: 1_790_000_000_000)

        var file: URL { folder.appending(path: "chat.sqlite") }
        var stamp: URL { folder.appending(path: "chat.sqlite-stamp") }

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(at: folder) }

        /// As long as a server runs.
        func withServer<Value: Sendable>(
            endsOrderly: Bool = false, _ body: @escaping @Sendable (StorageWatch) async throws -> Value
        ) async throws -> Value {
            let database = try SQLiteChatDatabase(path: file.path, at: Self.time)
            let service = ChatService(database: database, now: { Self.time })
            let logger = Logger(label: "test") { label in
                JSONLogHandler(label: label, now: { Self.time }) { line in self.logged.withLock { $0.append(line) } }
            }
            let watch = StorageWatch(service: service, logger: logger, interval: .milliseconds(1))
            try await watch.begin()
            let value = try await body(watch)
            if endsOrderly { await watch.end() }
            try database.close()
            return value
        }

        func change<Value: Sendable>(
            _ body: @escaping @Sendable (ChatTransaction) throws -> Value
        ) async throws -> Value {
            try await withServer { try await $0.service.write(body) }
        }

        func settle() async throws -> (ann: UserID, workspace: WorkspaceID) {
            try await change { chat in
                let ann = try #require(
                    try chat.register(
                        NewAccount(email: "ann@example.org", username: "ann", displayName: "Ann", passwordHash: "x")))
                return (ann, try chat.createWorkspace(name: "Harbour", slug: "harbour", by: ann).listing.workspace.id)
            }
        }

        /// The database, with what is not in its one file yet.
        func copy() throws -> [String: Data] {
            var copy: [String: Data] = [:]
            for name in ["chat.sqlite", "chat.sqlite-wal"] {
                copy[name] = try? Data(contentsOf: folder.appending(path: name))
            }
            return copy
        }

        /// Into the same file.
        func putBack(_ copy: [String: Data]) throws {
            for name in ["chat.sqlite-wal", "chat.sqlite-shm"] {
                try? FileManager.default.removeItem(at: folder.appending(path: name))
            }
            for (name, data) in copy {
                let file = folder.appending(path: name)
                if name != "chat.sqlite" { try Data().write(to: file) }
                let handle = try FileHandle(forWritingTo: file)
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: data)
                try handle.close()
            }
        }
    }

    @Test func `a server that starts on a copy of its database lets nobody go on from lost events`() async throws {
        let place = try Place()
        let (ann, workspace) = try await place.settle()
        let copied = try place.copy()
        @Sendable func change(_ chat: ChatTransaction) throws -> Int64 {
            for number in 0..<5 {
                _ = try chat.createChannel(.public, name: "c\(number)", in: workspace, by: ann)
            }
            return try chat.sequence(of: workspace)
        }
        // A restart is none: whoever was there goes on.
        let seen = try await place.change { try change($0) }
        let missed = try await place.change { try $0.missedEvents(of: workspace, after: seen, by: ann) }
        #expect(missed == .events([], upTo: seen))
        // Put back, into the same file, and as far again.
        try place.putBack(copied)
        let answer = try await place.change { chat in
            _ = try change(chat)
            return try chat.missedEvents(of: workspace, after: seen, by: ann)
        }
        guard case .reload = answer else {
            Issue.record("\(answer)")
            return
        }
    }

    @Test func `a copy from the last hour of a server that has ended is told, too`() async throws {
        let place = try Place()
        let (_, workspace) = try await place.settle()
        let (copied, seen) = try await place.withServer(endsOrderly: true) { watch in
            let seen = try await watch.service.write { try $0.sequence(of: workspace) }
            return (try place.copy(), seen)
        }
        let restarted = try await place.withServer(endsOrderly: true) { watch in
            let seen = try await watch.service.read { try $0.sequence(of: workspace) }
            return (try place.copy(), seen)
        }
        #expect(restarted.1 == seen)
        // The stamp is from the end of the server, and none that the copy knows.
        try place.putBack(restarted.0)
        #expect(try await place.change { try $0.sequence(of: workspace) } == seen + 1 << 32)
        try place.putBack(copied)
        #expect(try await place.change { try $0.sequence(of: workspace) } == seen + 1 << 32)
    }

    @Test func `a database that is put back behind a server that runs is found while it runs`() async throws {
        let place = try Place()
        let (_, workspace) = try await place.settle()
        try await place.withServer { watch in
            let before = try await watch.service.read { try $0.sequence(of: workspace) }
            // Its place is another one now.
            try Data("another".utf8).write(to: place.stamp)
            let task = Task { await watch.run() }
            defer { task.cancel() }
            try await until { try await watch.service.read { try $0.sequence(of: workspace) } == before + 1 << 32 }
            task.cancel()
            await task.value
        }
        #expect(place.logged.withLock { $0.contains { $0.contains("was put back or has moved") } })
    }

    @Test func `a server starts where the place cannot be marked, and names the file`() async throws {
        let place = try Place()
        let (_, workspace) = try await place.settle()
        try FileManager.default.removeItem(at: place.stamp)
        try FileManager.default.createDirectory(at: place.stamp, withIntermediateDirectories: false)
        let first = try await place.change { try $0.sequence(of: workspace) }
        let lines = place.logged.withLock { $0 }
        #expect(lines.contains { $0.contains("could not be marked") && $0.contains(place.stamp.path) }, "\(lines)")
        // What it is known by without one is remembered.
        let second = try await place.change { try $0.sequence(of: workspace) }
        #expect(first == second)
    }
}
