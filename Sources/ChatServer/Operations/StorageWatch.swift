internal import ChatCore
internal import Logging

/// Finds out whether a server's database was put back from a copy, and has copies told from it.
struct StorageWatch: Sendable {
    let service: ChatService
    let logger: Logger
    /// Each hour, so that also a copy of this process's time is told, and a database is that was put back behind a
    /// server that runs.
    var interval = Duration.seconds(3_600)

    /// Before anybody resumes.
    func begin() async throws {
        guard let found = try await service.database.storage() else { return }
        if try await service.write({ try $0.leaveFormerNumbers(at: found) }) {
            logger.notice("the database was put back or has moved: clients read everything anew")
        }
        try await stamp()
    }

    /// From then on, until it is cancelled.
    func run() async {
        while true {
            try? await Task.sleep(for: interval)
            guard !Task.isCancelled else { return }
            do {
                try await begin()
            } catch {
                logger.failedChore("the database's place could not be looked at", error)
            }
        }
    }

    /// When nothing is written any more: a copy of the last hour is told as well.
    func end() async {
        do {
            try await stamp()
        } catch {
            logger.failedChore("the database's place could not be marked", error)
        }
    }

    /// From then on a copy of before that is put into the place is known for one. Who dies in between takes itself for
    /// one, which costs clients a reading. Where the mark cannot be written the one of before stays: then copies since
    /// that one are not told where they are written into the very file.
    private func stamp() async throws {
        let database = service.database
        do {
            guard try database.stampStorage(Secret.random().text) else { return }
        } catch {
            logger.failedChore("the database's place could not be marked", error)
            return
        }
        guard let storage = try await database.storage() else { return }
        try await service.write { try $0.remember(storage: storage) }
    }
}
