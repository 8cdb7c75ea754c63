internal import ChatCore
internal import Logging

/// Does what other processes have left to do: `roost admin` ends an account, and its call's room is here.
struct LeftChangesReader: Sendable {
    let service: ChatService
    let logger: Logger

    private static let interval = Duration.seconds(2)

    /// Looks every two seconds, until it is cancelled.
    func run() async {
        // Of a database that is away the log tells once.
        var hasFailed = false
        while !Task.isCancelled {
            do {
                try await look()
                hasFailed = false
            } catch {
                if !hasFailed {
                    logger.failedChore("changes of other processes could not be read", error)
                }
                hasFailed = true
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// What is taken and not done, because the process ends in between, is not done: as with changes of its own.
    func look() async throws {
        // Mostly there is nothing, and to look is not to write.
        guard try await service.read({ try $0.hasLeftChanges() }) else { return }
        for changes in try await service.write({ try $0.takeLeftChanges() }) { service.changed(changes) }
    }
}
