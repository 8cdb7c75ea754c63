internal import ChatCore
internal import Logging

/// Takes away what deleted workspaces have left, part by part, so that nobody who writes meanwhile waits for long.
actor WorkspaceSweep {
    private let service: ChatService
    private let logger: Logger
    private var isSweeping = false
    /// Others come in between two parts.
    private static let pause = Duration.milliseconds(5)
    /// Calls that end with a workspace are still read by those who have them fall silent, here and at other servers.
    static let patience = Duration.seconds(10)

    init(service: ChatService, logger: Logger) {
        self.service = service
        self.logger = logger
    }

    /// Looks at once and every ten minutes, until it is cancelled: for what a process that ended has not done.
    func sweepRegularly() async {
        while !Task.isCancelled {
            await sweep()
            try? await Task.sleep(for: .seconds(600))
        }
    }

    /// The same for a workspace that has just been deleted, some seconds later.
    func sweepSoon() async {
        try? await Task.sleep(for: Self.patience)
        await sweep()
    }

    /// Takes all of it away. A second one at the same time leaves it to the first.
    func sweep() async {
        guard !isSweeping else { return }
        isSweeping = true
        defer { isSweeping = false }
        do {
            while !Task.isCancelled, try await service.write({ try $0.takeAwayWorkspaceLeftovers() }) {
                try? await Task.sleep(for: Self.pause)
            }
        } catch {
            logger.failedChore("what a deleted workspace has left could not be taken away", error)
        }
    }
}
