/// What pushing has come to.
package struct PushStatistics: Sendable, Equatable {
    /// Taken by Apple's service, by the kind of push.
    package var sent: [String: Int] = [:]
    /// Given up, by reason: Apple's words, or `expired`, `queue_full`, `unreachable`, `call_over`,
    /// `outdated` for what nobody is to hear of any more.
    package var failed: [String: Int] = [:]
    /// Attempts that are to be repeated.
    package var retried = 0
    /// Tokens that were taken out because Apple knows them no more.
    package var tokensRemoved = 0
    /// Waiting to be sent, now.
    package var queued = 0
    /// Being sent, now.
    package var inFlight = 0

    package init() {}
}
