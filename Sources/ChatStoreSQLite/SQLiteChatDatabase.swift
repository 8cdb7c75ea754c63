internal import CFileBirth
package import ChatCore
package import ChatModel
internal import Foundation
internal import GRDB
internal import Synchronization

/// The chat of a server in one file, which needs nobody to run it.
///
/// Many read at once, each a state that does not change under them (SQLite's write-ahead log). Writing is done by one
/// thread, which takes all changes that wait for it into one transaction: they share the wait for the disk, and each is
/// still all or nothing.
package final class SQLiteChatDatabase: ChatDatabase {
    private let pool: any DatabaseWriter
    private let waiting = Mutex(Waiting())
    /// Nil for one in memory.
    private let path: String?

    private struct Waiting {
        var changes: [any QueuedChange] = []
        var isWriting = false
    }

    /// How many changes share a transaction at most, so that the first of them does not wait for long.
    private static let mostTogether = 128

    /// Opens a file, and makes it if there is none. When a newer server needs other tables than it has, a copy of it as
    /// it was is left beside it first.
    ///
    /// - Parameters:
    ///   - path: of the file; its folder is there.
    ///   - migrates: whether it may get the tables that it lacks.
    /// - Throws: `OutdatedSchema` where it may not and lacks some, `SchemaFault` where it is a newer server's,
    ///   `SQLiteFileFault` where the file is of no use.
    package init(path: String, at now: Timestamp, migrates: Bool = true) throws {
        self.path = path
        let isThere = FileManager.default.fileExists(atPath: path)
        Self.keepPrivate(path)
        do {
            pool = try DatabasePool(path: path, configuration: Self.configuration)
        } catch {
            throw SQLiteFileFault(error, path: path) ?? error
        }
        do {
            if migrates {
                try prepare(at: now, copyTo: isThere ? path : nil)
            } else {
                try pool.write { try Schema.demandAllSteps(of: SQLiteSession($0)) }
            }
        } catch {
            try? pool.close()
            throw SQLiteFileFault(error, path: path) ?? error
        }
    }

    /// One in memory, for tests: gone with it.
    package init(inMemoryAt now: Timestamp) throws {
        path = nil
        pool = try DatabaseQueue(configuration: Self.configuration)
        try prepare(at: now, copyTo: nil)
    }

    /// Nobody else on the machine reads what people write, whoever may read the folder. SQLite gives the files beside
    /// it the same permissions when it makes them. A system that does not let us is the operator's business.
    private static func keepPrivate(_ path: String) {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        for file in [path, path + "-wal", path + "-shm"] {
            try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
    }

    /// For the triggers and the view of the index of words.
    private static let searchText = DatabaseFunction(SearchText.function, argumentCount: 1, pure: true) { values in
        values.first.flatMap(String.fromDatabaseValue).map(SearchText.text)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // What was acknowledged outlives the machine's power (https://sqlite.org/pragma.html#pragma_synchronous).
            try db.execute(sql: "PRAGMA synchronous = FULL")
            db.add(function: searchText)
        }
        configuration.busyMode = .timeout(10)
        configuration.maximumReaderCount = 8
        return configuration
    }

    private func prepare(at now: Timestamp, copyTo path: String?) throws {
        try pool.writeWithoutTransaction { db in
            let steps = try Schema.missingSteps(of: SQLiteSession(db))
            guard let first = steps.first else { return }
            if let path, steps.count < Schema.steps.count {
                let copy = SQLiteCopy(of: path, before: first.name, at: now)
                // SQLite takes a file that is empty.
                Self.keepPrivate(copy.path)
                try db.execute(sql: "VACUUM INTO ?", arguments: [copy.path])
                // Only now: a disk that is full leaves the old ones.
                copy.removeOlder()
            }
            try db.inTransaction(.immediate) {
                try Schema.take(steps, of: SQLiteSession(db), at: now)
                return .commit
            }
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Value
    ) async throws -> Value {
        try await pool.read { db in try body(SQLiteSession(db)) }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLSession) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let change = Change(body: body, continuation: continuation)
            let isFirst = waiting.withLock { waiting in
                waiting.changes.append(change)
                defer { waiting.isWriting = true }
                return !waiting.isWriting
            }
            if isFirst { writeWhatWaits() }
        }
    }

    private func writeWhatWaits() {
        pool.asyncWriteWithoutTransaction { [self] db in
            while true {
                let changes = waiting.withLock { waiting in
                    let changes = waiting.changes.prefix(Self.mostTogether)
                    waiting.changes.removeFirst(changes.count)
                    if changes.isEmpty { waiting.isWriting = false }
                    return Array(changes)
                }
                guard !changes.isEmpty else { return }
                do {
                    try db.inTransaction(.immediate) {
                        for change in changes { try change.perform(in: db) }
                        return .commit
                    }
                    for change in changes { change.committed() }
                } catch {
                    for change in changes { change.failed(error) }
                }
            }
        }
    }

    /// The file's number in its file system and when it was made, of which a copy of a folder has another one, and what
    /// is written beside it, which a copy of the file alone does not know. File systems give a number that has become
    /// free to the next file; those without a time of making leave only that.
    package func storage() async throws -> String? {
        guard let path else { return nil }
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let stamp = try? String(contentsOfFile: Self.stampPath(of: path), encoding: .utf8)
        return "\(status.st_ino)/\(cfilebirth(path))/\(stamp ?? "")"
    }

    package func stampStorage(_ stamp: String) throws -> Bool {
        guard let path else { return false }
        let file = Self.stampPath(of: path)
        Self.keepPrivate(file)
        do {
            // In its place, with the permissions that it has.
            try Data(stamp.utf8).write(to: URL(filePath: file))
        } catch {
            throw (error as? CocoaError)?.code == .fileWriteOutOfSpace
                ? SQLiteFileFault.diskFull(path: file) : SQLiteFileFault.unmarked(path: file)
        }
        return true
    }

    private static func stampPath(of path: String) -> String { path + "-stamp" }

    package var waitingTransactions: Int { waiting.withLock { $0.changes.count } }

    /// Ends it after what was written.
    /// Everything is in the one file afterwards, so that a copy of it alone is whole.
    package func close() throws {
        try? pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try pool.close()
    }
}

/// What somebody wants written, and waits for.
private protocol QueuedChange: AnyObject, Sendable {
    /// - Throws: only what makes the whole transaction void.
    func perform(in db: Database) throws
    func committed()
    func failed(_ error: any Error)
}

private final class Change<Value: Sendable>: QueuedChange {
    private let body: @Sendable (any SQLSession) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private let outcome = Mutex<Result<Value, any Error>?>(nil)

    init(
        body: @escaping @Sendable (any SQLSession) throws -> Value, continuation: CheckedContinuation<Value, any Error>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func perform(in db: Database) throws {
        // One that fails takes back its own part, and nothing of the others'.
        var result: Result<Value, any Error>?
        try db.inSavepoint {
            do {
                result = .success(try body(SQLiteSession(db)))
                return .commit
            } catch {
                result = .failure(error)
                return .rollback
            }
        }
        outcome.withLock { $0 = result }
    }

    func committed() {
        guard let outcome = outcome.withLock({ $0 }) else { return }
        continuation.resume(with: outcome)
    }

    func failed(_ error: any Error) { continuation.resume(throwing: error) }
}
