internal import ChatServer

extension Metrics {
    /// What has become of notifications.
    static func text(_ statistics: PushStatistics) -> String {
        var lines: [String] = []
        func metric(_ name: String, _ type: String, _ help: String, _ values: [(label: String, value: Int)]) {
            lines += ["# HELP roost_push_\(name) \(help)", "# TYPE roost_push_\(name) \(type)"]
            lines += values.map { "roost_push_\(name)\($0.label) \($0.value)" }
        }
        func one(_ value: Int) -> [(label: String, value: Int)] { [("", value)] }
        metric(
            "sent_total", "counter", "Notifications that Apple's service has taken, by kind.",
            ["alert", "voip"].map { ("{kind=\"\($0)\"}", statistics.sent[$0] ?? 0) })
        metric(
            "failed_total", "counter", "Notifications given up, by reason.",
            statistics.failed.sorted { $0.key < $1.key }.map { ("{reason=\"\($0.key)\"}", $0.value) })
        metric("retried_total", "counter", "Attempts that were to be repeated.", one(statistics.retried))
        metric("tokens_removed_total", "counter", "Tokens that were void.", one(statistics.tokensRemoved))
        metric("queued", "gauge", "Notifications that wait to be sent.", one(statistics.queued))
        metric("in_flight", "gauge", "Notifications that are being sent.", one(statistics.inFlight))
        return lines.joined(separator: "\n") + "\n"
    }
}
