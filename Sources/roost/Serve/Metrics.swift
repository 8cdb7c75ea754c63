internal import SocketIO
internal import Synchronization

/// Lets the metrics route, which is made before the server, read the server's counters.
final class StatisticsSource: Sendable {
    private let server = Mutex<SocketIOServer?>(nil)

    func follow(_ server: SocketIOServer) { self.server.withLock { $0 = server } }
    /// Nil before the server is made.
    func read() -> SocketIOStatistics? { server.withLock { $0 }?.statistics }
}

/// Prometheus' text format (0.0.4) of what the server counts.
enum Metrics {
    static func text(_ statistics: SocketIOStatistics) -> String {
        var lines: [String] = []
        func metric(_ name: String, _ type: String, _ help: String, _ value: Int) {
            lines += ["# HELP roost_\(name) \(help)", "# TYPE roost_\(name) \(type)", "roost_\(name) \(value)"]
        }
        metric("signaling_connections", "gauge", "Open Engine.IO sessions.", statistics.connections)
        metric("signaling_websockets", "gauge", "Open sessions on a WebSocket.", statistics.webSockets)
        metric("signaling_connections_total", "counter", "Engine.IO sessions opened.", statistics.connectionsOpened)
        metric("signaling_events_received_total", "counter", "Socket.IO events received.", statistics.eventsIn)
        metric("signaling_events_sent_total", "counter", "Socket.IO events delivered.", statistics.eventsOut)
        metric("signaling_bytes_received_total", "counter", "Bytes of messages received.", statistics.bytesIn)
        metric("signaling_bytes_sent_total", "counter", "Bytes of messages sent.", statistics.bytesOut)
        metric("signaling_requests_refused_total", "counter", "Requests refused.", statistics.requestsRefused)
        metric("signaling_connect_errors_total", "counter", "Joins refused.", statistics.connectErrors)
        lines.append("# HELP roost_signaling_closed_total Sessions ended, by reason.")
        lines.append("# TYPE roost_signaling_closed_total counter")
        for (reason, count) in statistics.closedByReason.sorted(by: { $0.key < $1.key }) {
            lines.append("roost_signaling_closed_total{reason=\"\(reason)\"} \(count)")
        }
        lines.append("# HELP roost_echo_calls_total Calls that the echo peer has answered.")
        lines.append("# TYPE roost_echo_calls_total counter")
        lines.append("roost_echo_calls_total \(EchoPeer.callsAnswered)")
        return lines.joined(separator: "\n") + "\n"
    }
}
