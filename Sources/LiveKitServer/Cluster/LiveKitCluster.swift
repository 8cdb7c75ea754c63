internal import Foundation
internal import LiveKitProtocol
package import Logging
internal import SocketIO
internal import Synchronization

/// A cluster of LiveKit's protocol behind our URL: clients and services ask here, what bears a good token goes on to
/// the cluster, and its events come back as webhooks. There is no room and no media here.
///
/// HTTP and WebSockets come from a `SocketIOServer`, as with `LiveKitServer`.
package final class LiveKitCluster: Sendable {
    /// Where the cluster is to post its events.
    package static let webhookPath = "/livekit/webhook"

    let configuration: LiveKitClusterConfiguration
    let requester: HTTPRequester
    /// Also when as many as may be are asked for by others.
    private let healthRequester: HTTPRequester
    let counters = ClusterCounters()
    private let webhooks: WebhookSender
    private let events: ClusterEvents
    private let health: ClusterHealth
    let logger: Logger
    private let check = Mutex<Task<Void, Never>?>(nil)
    /// Names this process in the requests that it passes on, so that one that comes back is known.
    let pseudonym: String

    package init(_ configuration: LiveKitClusterConfiguration, logger: Logger = Logger(label: "livekit")) {
        self.configuration = configuration
        self.logger = logger
        requester = HTTPRequester(configuration.server)
        healthRequester = HTTPRequester(configuration.server)
        health = ClusterHealth(server: configuration.server.description, logger: logger)
        let webhooks = WebhookSender(urls: configuration.webhooks, key: configuration.signingKey, logger: logger)
        self.webhooks = webhooks
        let heard = configuration.heard
        events = ClusterEvents(keys: configuration.keys, logger: logger) { body, event in
            webhooks.passOn(body, event: event)
            heard?(event)
        }
        pseudonym = "roost-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    }

    /// Begins to look whether the cluster is there. Back when that is known for the first time.
    package func start() async {
        await look()
        let task = Task { [weak self, interval = configuration.checkInterval] in
            while !Task.isCancelled {
                try? await Task.sleep(for: interval)
                guard !Task.isCancelled else { return }
                await self?.look()
            }
        }
        check.withLock { $0 = task }
    }

    /// The cluster is no longer looked at. What goes through goes on until the `SocketIOServer` ends it.
    package func stop() {
        check.withLock { task in
            task?.cancel()
            task = nil
        }
    }

    /// Delivers the webhooks that wait, for some seconds at most. After the `SocketIOServer` has ended.
    package func finish() async {
        requester.close()
        healthRequester.close()
        await webhooks.finish()
    }

    package var statistics: ClusterStatistics {
        var statistics = counters.value
        statistics.isReachable = health.isReachable
        statistics.events = events.statistics
        return statistics
    }

    /// Webhooks that were handed on, and that were given up.
    package var webhookStatistics: WebhookStatistics { webhooks.statistics }

    // MARK: The cluster

    /// LiveKit's servers answer on `/`; a balancer before them says with these statuses that there is none.
    private func look() async {
        do throws(HTTPRequester.Failure) {
            let target = configuration.server.target("/", EngineIOQuery(items: []))
            let answer = try await healthRequester.ask(
                "GET", target, headers: [("Via", via)], timeout: configuration.checkTimeout)
            switch answer.status {
            case 502...504: health.note(.unreachable("its balancer answers with \(answer.status)"))
            default: health.note(.reachable)
            }
        } catch {
            // This much it answers at once.
            note(error == .late ? .unreachable("it does not answer") : error)
        }
    }

    func note(_ failure: HTTPRequester.Failure) {
        switch failure {
        case .unreachable(let reason): health.note(.unreachable(reason))
        // What takes long or is too long, and too many at once, are no news of the cluster.
        case .late, .tooLarge, .busy: break
        }
    }

    func noteReachable() { health.note(.reachable) }

    /// RFC 9110 §7.6.3: who has passed a request on.
    var via: String { "1.1 \(pseudonym)" }

    func takeEvent(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse { events.take(request, at: Date()) }
}
