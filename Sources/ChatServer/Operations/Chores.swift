internal import ChatCore
internal import Logging

/// What a server's chat does beside answering: it takes away what is left of files, workspaces, refresh tokens,
/// sessions, invitations and registrations, and does what other processes have left to do. From its making until
/// `stop`.
struct Chores: Sendable {
    private let hasLeftovers: AsyncStream<Void>.Continuation
    private let hasDeletions: AsyncStream<Void>.Continuation
    private let tasks: [Task<Void, Never>]

    /// - Parameter files: nil on a server that takes none.
    init(service: ChatService, files: ChatFiles?, storage: StorageWatch, logger: Logger) {
        let (leftovers, hasLeftovers) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (deletions, hasDeletions) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.hasLeftovers, self.hasDeletions) = (hasLeftovers, hasDeletions)
        let workspaces = WorkspaceSweep(service: service, logger: logger)
        let tokens = HourlySweep(
            service: service, logger: logger, failure: "old refresh tokens could not be taken away"
        ) { try $0.sweepFormerTokens() }
        let sessions = HourlySweep(
            service: service, logger: logger, failure: "sessions that are over could not be taken away"
        ) { try $0.sweepSessions() }
        let invitations = HourlySweep(
            service: service, logger: logger, failure: "old invitations could not be taken away"
        ) { try $0.sweepInvitations() }
        let registrations = HourlySweep(
            service: service, logger: logger, failure: "old registrations could not be taken away"
        ) { try $0.sweepRegistrations() }
        let reader = LeftChangesReader(service: service, logger: logger)
        var tasks = [
            Task {
                async let regularly: Void = workspaces.sweepRegularly()
                for await _ in deletions { await workspaces.sweepSoon() }
                await regularly
            },
            Task { await tokens.run() },
            Task { await sessions.run() },
            Task { await invitations.run() },
            Task { await registrations.run() },
            Task { await reader.run() },
            Task { await storage.run() },
        ]
        if let files {
            tasks.append(
                Task {
                    await files.lookIntoAwaitedPictures()
                    async let regularly: Void = files.sweepRegularly()
                    for await _ in leftovers { await files.removeLeftovers() }
                    await regularly
                })
        }
        self.tasks = tasks
    }

    /// Some changes leave something to take away, which does not wait for the next round.
    func changed(_ changes: ChatChanges) {
        if changes.hasLeftovers { hasLeftovers.yield() }
        if changes.hasDeletedWorkspaces { hasDeletions.yield() }
    }

    func stop() { for task in tasks { task.cancel() } }
}
