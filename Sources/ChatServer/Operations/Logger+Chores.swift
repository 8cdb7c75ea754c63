internal import Logging

extension Logger {
    /// Tells of a chore that has failed. Once the task is cancelled nothing is told: the server goes down, and its
    /// database is closed.
    func failedChore(_ what: String, _ error: any Error) {
        guard !Task.isCancelled else { return }
        self.error("\(what)", metadata: ["error": "\(error)"])
    }
}
