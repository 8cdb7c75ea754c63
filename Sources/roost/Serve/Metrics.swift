internal import ChatServer
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
        var text = MetricsText()
        text.add("roost_signaling_connections", .gauge, "Open Engine.IO sessions.", statistics.connections)
        text.add("roost_signaling_websockets", .gauge, "Open sessions on a WebSocket.", statistics.webSockets)
        text.add(
            "roost_signaling_connections_total", .counter, "Engine.IO sessions opened.", statistics.connectionsOpened)
        text.add("roost_signaling_events_received_total", .counter, "Socket.IO events received.", statistics.eventsIn)
        text.add("roost_signaling_events_sent_total", .counter, "Socket.IO events delivered.", statistics.eventsOut)
        text.add("roost_signaling_bytes_received_total", .counter, "Bytes of messages received.", statistics.bytesIn)
        text.add("roost_signaling_bytes_sent_total", .counter, "Bytes of messages sent.", statistics.bytesOut)
        text.add("roost_signaling_requests_refused_total", .counter, "Requests refused.", statistics.requestsRefused)
        text.add("roost_signaling_connect_errors_total", .counter, "Joins refused.", statistics.connectErrors)
        text.add(
            "roost_signaling_closed_total", .counter, "Sessions ended, by reason.",
            statistics.closedByReason.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], $0.value) })
        text.add(
            "roost_echo_calls_total", .counter, "Calls that the echo peer has answered.", EchoPeer.callsAnswered)
        return text.text
    }

    /// What the server of LiveKit's protocol counts.
    static func text(_ server: LiveKitServer) -> String {
        let loads = server.loads
        var text = MetricsText()
        func each(_ value: (MediaWorkerStatistics) -> Int) -> [(labels: [(String, String)], value: Int)] {
            loads.enumerated().map { ([("worker", "\($0)")], value($1)) }
        }
        text.add("roost_livekit_rooms", .gauge, "Rooms that exist, by worker.", each(\.rooms))
        text.add("roost_livekit_rooms_total", .counter, "Rooms made.", each(\.roomsMade))
        text.add("roost_livekit_draining", .gauge, "Whether no new rooms are taken.", each { $0.isDraining ? 1 : 0 })
        text.add(
            "roost_livekit_signaling_connections", .gauge, "Participants with signaling, or a session of WHIP or WHEP.",
            each(\.signals))
        text.add("roost_livekit_joins_total", .counter, "Participants who have joined.", each(\.joins))
        let sessions = server.httpSessionStatistics
        text.add(
            "roost_livekit_http_sessions", .gauge, "Sessions of WHIP and WHEP.",
            sessions.open.map { ([("kind", $0.kind)], $0.count) })
        text.add(
            "roost_livekit_http_sessions_total", .counter, "Sessions of WHIP and WHEP that have begun.",
            sessions.opened.map { ([("kind", $0.kind)], $0.count) })
        text.add("roost_livekit_peer_connections", .gauge, "Peer connections of participants.", each(\.peers))
        text.add("roost_livekit_tcp_connections", .gauge, "TCP connections for media.", each(\.tcpConnections))
        text.add(
            "roost_livekit_tcp_refused_total", .counter,
            "TCP connections for media closed at once, for there were too many.", each(\.tcpConnectionsRefused))
        text.add("roost_livekit_received_packets_total", .counter, "Datagrams received.", each(\.datagramsReceived))
        text.add("roost_livekit_received_bytes_total", .counter, "Bytes of them.", each(\.bytesReceived))
        text.add("roost_livekit_sent_packets_total", .counter, "Datagrams sent.", each(\.datagramsSent))
        text.add("roost_livekit_sent_bytes_total", .counter, "Bytes of them.", each(\.bytesSent))
        text.add(
            "roost_livekit_send_dropped_total", .counter,
            "Of those sent by UDP, datagrams that the system did not take.", each(\.datagramsUnsent))
        text.add(
            "roost_livekit_receive_overrun_total", .counter,
            "Datagrams lost before they were read, because others waited.", each(\.datagramsOverrun))
        text.add(
            "roost_livekit_dropped_total", .counter, "Datagrams that were nobody's, by reason.",
            loads.enumerated().flatMap { worker, load in
                load.drops.byReason.map { ([("worker", "\(worker)"), ("reason", $0.reason)], $0.count) }
            })
        add(server.webhookStatistics, to: &text)
        let agents = server.agentStatistics
        text.add("roost_livekit_agent_workers", .gauge, "Workers of agents that have registered.", agents.workers)
        text.add("roost_livekit_agent_jobs", .gauge, "Jobs that agents do.", agents.running)
        text.add("roost_livekit_agent_jobs_waiting", .gauge, "Jobs that no worker has taken yet.", agents.waiting)
        text.add(
            "roost_livekit_agent_jobs_ended_total", .counter, "Jobs that are over, by what became of them.",
            [([("outcome", "failed")], agents.failed), ([("outcome", "other")], agents.ended)])
        if let recordings = server.egressStatistics {
            text.add("roost_livekit_egress_tracks", .gauge, "Tracks that are being recorded.", recordings.tracks)
            text.add("roost_livekit_egress_active", .gauge, "Recordings that are not over.", recordings.active)
            text.add("roost_livekit_egress_started_total", .counter, "Recordings that have begun.", recordings.started)
            text.add(
                "roost_livekit_egress_ended_total", .counter, "Recordings that are over, by what became of them.",
                [
                    ([("outcome", "complete")], recordings.completed), ([("outcome", "failed")], recordings.failed),
                    ([("outcome", "aborted")], recordings.aborted),
                ])
            text.add(
                "roost_livekit_egress_omitted_total", .counter,
                "Tracks that were to be recorded and could not be, or not at once.", recordings.omitted)
            text.add(
                "roost_livekit_egress_recorded_bytes_total", .counter, "Bytes of files that are complete.",
                recordings.bytes)
        }
        return text.text
    }

    /// What goes through to a cluster of LiveKit's protocol.
    static func text(_ cluster: LiveKitCluster) -> String {
        let statistics = cluster.statistics
        var text = MetricsText()
        func each(_ counts: [ClusterStatistics.Kind: Int]) -> [(labels: [(String, String)], value: Int)] {
            ClusterStatistics.Kind.allCases.map { ([("kind", $0.rawValue)], counts[$0] ?? 0) }
        }
        text.add(
            "roost_livekit_cluster_reachable", .gauge, "Whether the cluster can be reached.",
            statistics.isReachable ? 1 : 0)
        text.add(
            "roost_livekit_cluster_sessions", .gauge, "Participants whose signaling goes through.", statistics.sessions)
        text.add(
            "roost_livekit_cluster_requests_total", .counter, "Requests that the cluster has answered, by kind.",
            each(statistics.answered))
        text.add(
            "roost_livekit_cluster_failures_total", .counter, "Requests that it has not answered, by kind.",
            each(statistics.failed))
        text.add(
            "roost_livekit_cluster_refused_total", .counter,
            "Requests refused for their tokens without asking it, by kind.", each(statistics.refused))
        text.add(
            "roost_livekit_cluster_webhooks_total", .counter, "Its webhooks, by what became of them.",
            [
                ([("outcome", "taken")], statistics.events.taken),
                ([("outcome", "repeated")], statistics.events.repeated),
                ([("outcome", "refused")], statistics.events.refused),
            ])
        add(cluster.webhookStatistics, to: &text)
        return text.text
    }

    private static func add(_ webhooks: WebhookStatistics, to text: inout MetricsText) {
        text.add("roost_livekit_webhooks_delivered_total", .counter, "Webhooks delivered.", webhooks.delivered)
        text.add("roost_livekit_webhooks_lost_total", .counter, "Webhooks given up.", webhooks.lost)
        text.add("roost_livekit_webhook_failures_total", .counter, "Attempts that failed.", webhooks.failedAttempts)
    }

    /// What the TURN server counts.
    static func text(_ statistics: TURNServerStatistics) -> String {
        var text = MetricsText()
        text.add("roost_turn_allocations", .gauge, "Allocations that exist.", statistics.allocations)
        text.add("roost_turn_allocations_total", .counter, "Allocations made.", statistics.allocationsMade)
        text.add(
            "roost_turn_relayed_bytes_total", .counter, "Bytes relayed, by direction.",
            [
                ([("to", "peers")], statistics.bytesToPeers), ([("to", "clients")], statistics.bytesToClients),
            ])
        text.add(
            "roost_turn_relayed_packets_total", .counter, "Datagrams relayed, by direction.",
            [
                ([("to", "peers")], statistics.packetsToPeers), ([("to", "clients")], statistics.packetsToClients),
            ])
        text.add(
            "roost_turn_dropped_total", .counter, "Datagrams not relayed, by reason.",
            TURNServerStatistics.Drop.allCases.map {
                ([("reason", $0.rawValue)], statistics.drops[$0] ?? 0)
            })
        text.add(
            "roost_turn_receive_overrun_total", .counter,
            "Datagrams that the system dropped because those before them waited to be read.", statistics.overrun)
        text.add(
            "roost_turn_refused_total", .counter, "Requests refused, by the number of the error.",
            statistics.errors.sorted { $0.key < $1.key }.map { ([("code", "\($0.key)")], $0.value) })
        text.add(
            "roost_turn_strangers_ignored_total", .counter,
            "Requests without credential beyond what one address may send.", statistics.strangersIgnored)
        return text.text
    }
}
