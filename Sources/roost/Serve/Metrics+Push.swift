internal import ChatServer

extension Metrics {
    /// What has become of notifications.
    static func text(_ statistics: PushStatistics) -> String {
        var text = MetricsText()
        text.add(
            "roost_push_sent_total", .counter, "Notifications that Apple's service has taken, by kind.",
            ["alert", "voip"].map { ([("kind", $0)], statistics.sent[$0] ?? 0) })
        text.add(
            "roost_push_failed_total", .counter, "Notifications given up, by reason.",
            statistics.failed.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], $0.value) })
        text.add("roost_push_retried_total", .counter, "Attempts that were to be repeated.", statistics.retried)
        text.add("roost_push_tokens_removed_total", .counter, "Tokens that were void.", statistics.tokensRemoved)
        text.add("roost_push_queued", .gauge, "Notifications that wait to be sent.", statistics.queued)
        text.add("roost_push_in_flight", .gauge, "Notifications that are being sent.", statistics.inFlight)
        return text.text
    }
}
