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
                    logger.error("changes of other processes could not be read", metadata: ["error": "\(error)"])
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

/// Takes refresh tokens of the past away, each hour.
struct FormerTokensSweep: Sendable {
    let service: ChatService
    let logger: Logger

    private static let interval = Duration.seconds(3_600)
    /// Others come in between two parts.
    private static let pause = Duration.milliseconds(20)

    func run() async {
        while !Task.isCancelled {
            do {
                while try await service.write({ try $0.sweepFormerTokens() }), !Task.isCancelled {
                    try? await Task.sleep(for: Self.pause)
                }
            } catch {
                logger.error("old refresh tokens could not be taken away", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
