internal import ChatModel

/// When a push is tried again.
enum PushRetries {
    static let longestWait = Duration.seconds(300)
    /// Whoever is called does not wait for long: then an alert is better than nothing.
    static let attemptsOfCall = 3

    /// - Parameters:
    ///   - attempts: how often it was tried.
    ///   - after: the shortest wait that Apple asks for.
    ///   - spread: from 0 to 1, so that not all come at the same time.
    /// - Returns: nil when there is no point in trying again.
    static func next(
        for push: Push, attempts: Int, after: Duration?, spread: Double, at now: Timestamp
    ) -> Timestamp? {
        if push.kind == .voip, attempts >= attemptsOfCall { return nil }
        let growing = min(longestWait, Duration.seconds(1 << min(max(attempts - 1, 0), 10)))
        let wait = max(growing * (0.75 + 0.5 * spread), after ?? .zero)
        let time = now.advanced(by: wait)
        return time < push.expiresAt ? time : nil
    }
}
