internal import ChatModel

/// The chat's part of `/metrics`; docs/operations/chat.md has what each means.
extension ChatStatistics {
    /// - Parameters:
    ///   - routes: those that nobody has asked for are left out.
    ///   - waiting: transactions that wait for the database.
    ///   - runningCalls: nil where the database has not said.
    ///   - letters: nil where none are sent.
    func text(routes: [Route], waiting: Int, runningCalls: Int?, letters: MailCounters?) -> String {
        var text = MetricsText()
        addRequests(of: routes, to: &text)
        addRealtime(to: &text)
        text.add("roost_chat_messages_sent_total", .counter, "Messages that people have sent.", messages.value)
        if let runningCalls { text.add("roost_chat_calls", .gauge, "Calls that go on.", runningCalls) }
        text.add("roost_chat_calls_started_total", .counter, "Calls that have begun.", callsStarted.value)
        text.add(
            "roost_chat_calls_ended_total", .counter, "Calls that are over, by reason.",
            CallEndReason.allCases.map { ([("reason", $0.rawValue)], callsEnded[$0]?.value ?? 0) })
        addDatabase(waiting: waiting, to: &text)
        text.add("roost_chat_uploads_total", .counter, "Files that have arrived whole.", uploads.value)
        text.add("roost_chat_upload_bytes_total", .counter, "Bytes of files received.", uploadedBytes.value)
        text.add(
            "roost_chat_download_bytes_total", .counter, "Bytes of files sent by this server.", downloadedBytes.value)
        return text.text + (letters?.text ?? "")
    }

    private func addRequests(of routes: [Route], to text: inout MetricsText) {
        let asked =
            routes.map { ([("method", $0.method), ("route", $0.pattern)], $0.counters) } + [
                ([("method", ""), ("route", "")], unknownRequests)
            ]
        text.add(
            "roost_chat_http_requests_total", .counter, "Requests to the API, by route and class of status.",
            asked.flatMap { labels, counters in
                counters.byStatus.map { (labels + [("code", $0.status)], $0.count) }
            })
        text.add(
            "roost_chat_http_request_duration_seconds", "Time until the answer was there, by route.",
            asked.filter { !$1.byStatus.isEmpty }.map { ($0, $1.durations) })
        text.add(
            "roost_chat_limited_total", .counter, "What was refused with 429, by what it was.",
            [([("kind", "request")], limitedRequests.value), ([("kind", "frame")], limitedFrames.value)])
    }

    private func addRealtime(to text: inout MetricsText) {
        let open = realtime.open
        text.add("roost_chat_realtime_sockets", .gauge, "Realtime sockets that are open.", open.sockets)
        text.add("roost_chat_realtime_people", .gauge, "People who have one.", open.people)
        text.add(
            "roost_chat_realtime_sockets_total", .counter, "Realtime sockets that were opened.", realtime.opened.value)
        text.add(
            "roost_chat_realtime_sockets_closed_total", .counter, "Sockets that the server has closed, by reason.",
            realtime.closedByReason.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], $0.value) })
        text.add(
            "roost_chat_realtime_events_read_total", .counter, "Events read to be passed on.",
            realtime.eventsRead.value)
        text.add(
            "roost_chat_realtime_frames_sent_total", .counter, "Frames handed to sockets, each receiver counted.",
            realtime.framesSent.value)
        text.add(
            "roost_chat_realtime_resumes_total", .counter, "Workspaces in which a client got what it had missed.",
            realtime.resumes.value)
        text.add(
            "roost_chat_realtime_reloads_total", .counter, "Workspaces of which a client had missed too much.",
            realtime.reloads.value)
    }

    private func addDatabase(waiting: Int, to text: inout MetricsText) {
        let kinds = [("read", reads), ("write", writes)]
        text.add(
            "roost_chat_database_transaction_duration_seconds", "Time of transactions, waiting among it, by kind.",
            kinds.map { ([("kind", $0)], $1.durations) })
        text.add(
            "roost_chat_database_failures_total", .counter, "Transactions that failed for the database's reasons.",
            kinds.map { ([("kind", $0)], $1.failures.value) })
        text.add("roost_chat_database_waiting", .gauge, "Transactions that wait for their turn.", waiting)
    }
}

extension MailCounters {
    var text: String {
        var text = MetricsText()
        text.add("roost_mail_sent_total", .counter, "Letters that a mail server has taken.", sent.value)
        text.add("roost_mail_failed_total", .counter, "Letters given up.", failed.value)
        text.add("roost_mail_waiting", .gauge, "Letters that no mail server has taken yet.", waiting.value)
        return text.text
    }
}
