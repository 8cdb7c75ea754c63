internal import ChatCore
internal import Logging

/// Finds out at a server's start whether its database was put back from a copy, and has copies told from it.
struct StorageWatch: Sendable {
    let service: ChatService
    let logger: Logger

    private static let interval = Duration.seconds(3_600)

    /// Before anybody resumes.
    func begin() async throws {
        guard let found = try await service.database.storage() else { return }
        if try await service.write({ try $0.leaveFormerNumbers(at: found) }) {
            logger.notice("the database was put back or has moved: clients read everything anew")
        }
        try await stamp()
    }

    /// From then on a copy of before that is put into the place is known for one. Who dies in between takes itself for
    /// one, which costs clients a reading.
    private func stamp() async throws {
        let database = service.database
        try database.stampStorage(Secret.random().text)
        guard let storage = try await database.storage() else { return }
        try await service.write { try $0.remember(storage: storage) }
    }

    /// Each hour, so that also a copy of this process's time is told, until it is cancelled.
    func run() async {
        while true {
            try? await Task.sleep(for: Self.interval)
            guard !Task.isCancelled else { return }
            do {
                try await stamp()
            } catch {
                logger.error("the database's place could not be marked", metadata: ["error": "\(error)"])
            }
        }
    }
}
