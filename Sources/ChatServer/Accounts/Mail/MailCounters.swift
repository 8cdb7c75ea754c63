/// What has become of letters.
package final class MailCounters: Sendable {
    /// A mail server has taken them.
    let sent = Counter()
    /// Given up, or not taken on.
    let failed = Counter()
    /// To be sent, now.
    let waiting = Counter()

    init() {}
}
