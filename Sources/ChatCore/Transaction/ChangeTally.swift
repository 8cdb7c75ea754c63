package import ChatModel

/// What a transaction has done that servers count. Of one that was not kept nothing is counted.
package struct ChangeTally: Sendable, Equatable, Codable {
    package var messages = 0
    package var callsStarted = 0
    package var callsEnded: [CallEndReason: Int] = [:]

    package init() {}
}

extension ChatTransaction {
    /// How many calls go on.
    package func runningCallCount() throws -> Int {
        guard var row = try session.row("SELECT COUNT(*) FROM calls WHERE ended_at IS NULL") else { return 0 }
        return try row.int()
    }
}
