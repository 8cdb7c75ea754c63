internal import LiveKitServer
internal import SocketIO
internal import Synchronization
internal import TURNServer

/// Lets the metrics route, which is made before the server, read the server's counters.
final class StatisticsSource: Sendable {
    private let server = Mutex<SocketIOServer?>(nil)

    func follow(_ server: SocketIOServer) { self.server.withLock { $0 = server } }
    /// Nil before the server is made.
    func read() -> SocketIOStatistics? { server.withLock { $0 }?.statistics }
    /// Nil without TLS, too.
    var certificate: ServerCertificate? { server.withLock { $0 }?.certificate }
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

    /// What the server of LiveKit's protocol counts.
    static func text(_ server: LiveKitServer) -> String {
        let loads = server.loads
        let webhooks = server.webhookStatistics
        var lines: [String] = []
        func metric(_ name: String, _ type: String, _ help: String, _ values: [(label: String, value: Int)]) {
            lines += ["# HELP roost_livekit_\(name) \(help)", "# TYPE roost_livekit_\(name) \(type)"]
            lines += values.map { "roost_livekit_\(name)\($0.label) \($0.value)" }
        }
        func one(_ value: Int) -> [(label: String, value: Int)] { [("", value)] }
        func each(_ value: (MediaWorkerStatistics) -> Int) -> [(label: String, value: Int)] {
            loads.enumerated().map { ("{worker=\"\($0)\"}", value($1)) }
        }
        metric("rooms", "gauge", "Rooms that exist, by worker.", each(\.rooms))
        metric("rooms_total", "counter", "Rooms made.", each(\.roomsMade))
        metric("draining", "gauge", "Whether no new rooms are taken.", each { $0.isDraining ? 1 : 0 })
        metric(
            "signaling_connections", "gauge", "Participants with signaling, or a session of WHIP or WHEP.",
            each(\.signals))
        metric("joins_total", "counter", "Participants who have joined.", each(\.joins))
        let sessions = server.httpSessionStatistics
        metric(
            "http_sessions", "gauge", "Sessions of WHIP and WHEP.",
            sessions.open.map { ("{kind=\"\($0.kind)\"}", $0.count) })
        metric(
            "http_sessions_total", "counter", "Sessions of WHIP and WHEP that have begun.",
            sessions.opened.map { ("{kind=\"\($0.kind)\"}", $0.count) })
        metric("peer_connections", "gauge", "Peer connections of participants.", each(\.peers))
        metric("tcp_connections", "gauge", "TCP connections for media.", each(\.streams))
        metric(
            "tcp_refused_total", "counter", "TCP connections for media closed at once, for there were too many.",
            each(\.streamsRefused))
        metric("received_packets_total", "counter", "Datagrams received.", each(\.datagramsReceived))
        metric("received_bytes_total", "counter", "Bytes of them.", each(\.bytesReceived))
        metric("sent_packets_total", "counter", "Datagrams sent.", each(\.datagramsSent))
        metric("sent_bytes_total", "counter", "Bytes of them.", each(\.bytesSent))
        metric(
            "send_dropped_total", "counter", "Of those sent by UDP, datagrams that the system did not take.",
            each(\.datagramsUnsent))
        metric(
            "receive_overrun_total", "counter", "Datagrams lost before they were read, because others waited.",
            each(\.datagramsOverrun))
        metric(
            "dropped_total", "counter", "Datagrams that were nobody's, by reason.",
            loads.enumerated().flatMap { worker, load in
                load.drops.byReason.map { ("{worker=\"\(worker)\",reason=\"\($0.reason)\"}", $0.count) }
            })
        metric("webhooks_delivered_total", "counter", "Webhooks delivered.", one(webhooks.delivered))
        metric("webhooks_lost_total", "counter", "Webhooks given up.", one(webhooks.lost))
        metric("webhook_failures_total", "counter", "Attempts that failed.", one(webhooks.failedAttempts))
        let agents = server.agentStatistics
        metric("agent_workers", "gauge", "Workers of agents that have registered.", one(agents.workers))
        metric("agent_jobs", "gauge", "Jobs that agents do.", one(agents.running))
        metric("agent_jobs_waiting", "gauge", "Jobs that no worker has taken yet.", one(agents.waiting))
        metric(
            "agent_jobs_ended_total", "counter", "Jobs that are over, by what became of them.",
            [("{outcome=\"failed\"}", agents.failed), ("{outcome=\"other\"}", agents.ended)])
        if let recordings = server.egressStatistics {
            metric("egress_tracks", "gauge", "Tracks that are being recorded.", one(recordings.tracks))
            metric("egress_active", "gauge", "Recordings that are not over.", one(recordings.active))
            metric("egress_started_total", "counter", "Recordings that have begun.", one(recordings.started))
            metric(
                "egress_ended_total", "counter", "Recordings that are over, by what became of them.",
                [
                    ("{outcome=\"complete\"}", recordings.completed), ("{outcome=\"failed\"}", recordings.failed),
                    ("{outcome=\"aborted\"}", recordings.aborted),
                ])
            metric(
                "egress_omitted_total", "counter", "Tracks that were to be recorded and could not be, or not at once.",
                one(recordings.omitted))
            metric("egress_recorded_bytes_total", "counter", "Bytes of files that are complete.", one(recordings.bytes))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What goes through to a cluster of LiveKit's protocol.
    static func text(_ cluster: LiveKitCluster) -> String {
        let statistics = cluster.statistics
        let webhooks = cluster.webhookStatistics
        var lines: [String] = []
        func metric(_ name: String, _ type: String, _ help: String, _ values: [(label: String, value: Int)]) {
            lines += ["# HELP roost_livekit_\(name) \(help)", "# TYPE roost_livekit_\(name) \(type)"]
            lines += values.map { "roost_livekit_\(name)\($0.label) \($0.value)" }
        }
        func one(_ value: Int) -> [(label: String, value: Int)] { [("", value)] }
        func each(_ counts: [ClusterStatistics.Kind: Int]) -> [(label: String, value: Int)] {
            ClusterStatistics.Kind.allCases.map { ("{kind=\"\($0.rawValue)\"}", counts[$0] ?? 0) }
        }
        metric("cluster_reachable", "gauge", "Whether the cluster can be reached.", one(statistics.isReachable ? 1 : 0))
        metric("cluster_sessions", "gauge", "Participants whose signaling goes through.", one(statistics.sessions))
        metric(
            "cluster_requests_total", "counter", "Requests that the cluster has answered, by kind.",
            each(statistics.answered))
        metric(
            "cluster_failures_total", "counter", "Requests that it has not answered, by kind.",
            each(statistics.failed))
        metric(
            "cluster_refused_total", "counter", "Requests refused for their tokens without asking it, by kind.",
            each(statistics.refused))
        metric(
            "cluster_webhooks_total", "counter", "Its webhooks, by what became of them.",
            [
                ("{outcome=\"taken\"}", statistics.events.taken),
                ("{outcome=\"repeated\"}", statistics.events.repeated),
                ("{outcome=\"refused\"}", statistics.events.refused),
            ])
        metric("webhooks_delivered_total", "counter", "Webhooks delivered.", one(webhooks.delivered))
        metric("webhooks_lost_total", "counter", "Webhooks given up.", one(webhooks.lost))
        metric("webhook_failures_total", "counter", "Attempts that failed.", one(webhooks.failedAttempts))
        return lines.joined(separator: "\n") + "\n"
    }

    /// What the TURN server counts.
    static func text(_ statistics: TURNServerStatistics) -> String {
        var lines: [String] = []
        func metric(_ name: String, _ type: String, _ help: String, _ values: [(label: String, value: Int)]) {
            lines += ["# HELP roost_turn_\(name) \(help)", "# TYPE roost_turn_\(name) \(type)"]
            lines += values.map { "roost_turn_\(name)\($0.label) \($0.value)" }
        }
        func one(_ value: Int) -> [(label: String, value: Int)] { [("", value)] }
        metric("allocations", "gauge", "Allocations that exist.", one(statistics.allocations))
        metric("allocations_total", "counter", "Allocations made.", one(statistics.allocationsMade))
        metric(
            "relayed_bytes_total", "counter", "Bytes relayed, by direction.",
            [
                ("{to=\"peers\"}", statistics.bytesToPeers), ("{to=\"clients\"}", statistics.bytesToClients),
            ])
        metric(
            "relayed_packets_total", "counter", "Datagrams relayed, by direction.",
            [
                ("{to=\"peers\"}", statistics.packetsToPeers), ("{to=\"clients\"}", statistics.packetsToClients),
            ])
        metric(
            "dropped_total", "counter", "Datagrams not relayed, by reason.",
            TURNServerStatistics.Drop.allCases.map {
                ("{reason=\"\($0.rawValue)\"}", statistics.drops[$0] ?? 0)
            })
        metric(
            "receive_overrun_total", "counter",
            "Datagrams that the system dropped because those before them waited to be read.", one(statistics.overrun))
        metric(
            "refused_total", "counter", "Requests refused, by the number of the error.",
            statistics.errors.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", $0.value) })
        metric(
            "strangers_ignored_total", "counter", "Requests without credential beyond what one address may send.",
            one(statistics.strangersIgnored))
        return lines.joined(separator: "\n") + "\n"
    }
}
