internal import ChatCore
internal import Logging

/// Takes away what is too old, part by part, each hour.
struct HourlySweep: Sendable {
    let service: ChatService
    let logger: Logger
    /// What the log says when it cannot be done.
    let failure: String
    /// Takes a part away, and tells whether there may be more.
    let part: @Sendable (ChatTransaction) throws -> Bool

    private static let interval = Duration.seconds(3_600)
    /// Others come in between two parts.
    private static let pause = Duration.milliseconds(20)

    /// Begins at once, and goes on until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                while try await service.write(part), !Task.isCancelled { try? await Task.sleep(for: Self.pause) }
            } catch {
                logger.failedChore(failure, error)
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
