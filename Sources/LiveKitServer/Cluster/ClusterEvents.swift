internal import Foundation
internal import LiveKitProtocol
internal import Logging
internal import SocketIO
internal import Synchronization

/// Takes the cluster's webhooks and hands each on once, in the order in which they come; what is posted of it keeps the
/// order of each room. From any thread.
final class ClusterEvents: Sendable {
    private struct State {
        var statistics = ClusterStatistics.Events()
        var recent = RecentNames(limit: 10_000)
    }

    private let keys: APIKeys
    private let logger: Logger
    /// The event as it came, and as we read it; not to block.
    private let handOn: @Sendable ([UInt8], LiveKitWebhookEvent) -> Void
    private let state = Mutex(State())

    init(keys: APIKeys, logger: Logger, handOn: @escaping @Sendable ([UInt8], LiveKitWebhookEvent) -> Void) {
        self.keys = keys
        self.logger = logger
        self.handOn = handOn
    }

    var statistics: ClusterStatistics.Events { state.withLock { $0.statistics } }

    func take(_ request: SocketIOHTTPRequest, at now: Date) -> SocketIOHTTPResponse {
        guard request.method == "POST" else {
            var response = SocketIOHTTPResponse.text("Webhooks are posted.\n", status: 405)
            response.headers.append(("Allow", "POST"))
            return response
        }
        guard request.mediaType == SignedWebhook.contentType else {
            return refuse(415, "A webhook is of the type \(SignedWebhook.contentType).")
        }
        let event: LiveKitWebhookEvent
        do throws(WebhookRefusal) {
            guard let authorization = request.header("Authorization") else { return refuse(401, "Who says so?") }
            event = try LiveKitWebhookEvent(
                verifying: request.body, authorization: authorization, with: keys, at: now)
        } catch {
            return refuse(error == .malformed ? 400 : 401, error.description)
        }
        // Under the lock, so that two that come at once are handed on in the order in which they were taken.
        let isNew = state.withLock { state in
            // Whoever gives its events no ids may mean each.
            guard event.id.isEmpty || state.recent.insert(event.id) else {
                state.statistics.repeated += 1
                return false
            }
            state.statistics.taken += 1
            handOn(request.body, event)
            return true
        }
        logger.debug("an event of the cluster", metadata: ["event": "\(event.event)", "new": "\(isNew)"])
        return .text("")
    }

    private func refuse(_ status: Int, _ text: String) -> SocketIOHTTPResponse {
        state.withLock { $0.statistics.refused += 1 }
        return .text(text + "\n", status: status)
    }
}

/// The names that came last, so many of them.
struct RecentNames {
    private let limit: Int
    private var names: Set<String> = []
    /// In the order of their coming, from `oldest` on, where it is full.
    private var order: [String] = []
    private var oldest = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    /// False for one that is among them.
    mutating func insert(_ name: String) -> Bool {
        guard names.insert(name).inserted else { return false }
        if order.count < limit {
            order.append(name)
        } else {
            names.remove(order[oldest])
            order[oldest] = name
            oldest = (oldest + 1) % limit
        }
        return true
    }
}
