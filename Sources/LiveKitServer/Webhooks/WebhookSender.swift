internal import Foundation
internal import LiveKitProtocol
internal import Logging
internal import SocketIO
internal import Synchronization

/// What became of webhooks.
package struct WebhookStatistics: Sendable, Equatable {
    package var delivered = 0
    package var failedAttempts = 0
    /// Given up after the last attempt, for want of room, or when the server went down.
    package var lost = 0
    /// For their turn, or for an answer.
    package var waiting = 0
}

extension WebhookStatistics {
    fileprivate mutating func giveUp() {
        waiting -= 1
        lost += 1
    }
}

/// Posts events, for each URL in the order in which they came, each until it is taken or has failed too often. A
/// receiver that is down holds up nobody but itself.
final class WebhookSender: Sendable {
    private enum Notice {
        /// Of our own, written when its turn comes: whoever sends it has other things to do.
        case event(LiveKitWebhookEvent)
        /// Somebody else's, and its name.
        case written([UInt8], name: String)

        var name: String {
            switch self {
            case .event(let event): event.event
            case .written(_, let name): name
            }
        }

        /// Signed anew each time: a token is good for some minutes only.
        func signed(with key: APIKey) throws(SigningError) -> SignedWebhook {
            switch self {
            case .event(let event): try SignedWebhook(event, key: key, at: Date())
            case .written(let body, _): try SignedWebhook(body: body, key: key, at: Date())
            }
        }
    }

    private struct Queue {
        let notices: AsyncStream<Notice>.Continuation
        let delivery: Task<Void, Never>
    }

    private let queues: [Queue]
    private let counters: Counters
    private let logger: Logger

    /// Events that wait for one URL. Some thousand people come and go while it is down for a minute.
    private static let limit = 10_000
    /// Waits between the attempts: as often as LiveKit's server tries.
    private static let pauses: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    init(urls: [WebhookURL], key: APIKey, logger: Logger) {
        let counters = Counters()
        queues = urls.compactMap { url in
            guard let poster = try? HTTPPoster(url: url.description) else { return nil }
            let (stream, notices) = AsyncStream.makeStream(
                of: Notice.self, bufferingPolicy: .bufferingOldest(Self.limit))
            let delivery = Task {
                for await notice in stream { await Self.deliver(notice, by: poster, key: key, counters, logger) }
                await poster.close()
            }
            return Queue(notices: notices, delivery: delivery)
        }
        self.counters = counters
        self.logger = logger
    }

    var statistics: WebhookStatistics { counters.value }

    func send(_ event: LiveKitWebhookEvent) {
        send(.event(event))
    }

    /// Sends another server's event as it came, with whatever a newer one has put there.
    func passOn(_ body: [UInt8], event: String) {
        send(.written(body, name: event))
    }

    private func send(_ notice: Notice) {
        for queue in queues {
            counters.change { $0.waiting += 1 }
            switch queue.notices.yield(notice) {
            case .enqueued: break
            // The oldest go first: it is this one.
            case .dropped, .terminated: counters.change { $0.giveUp() }
            @unknown default: break
            }
        }
    }

    /// Delivers what waits, at most for so long. What has not been taken then is lost, and said to be.
    func finish(within patience: Duration = .seconds(5)) async {
        for queue in queues { queue.notices.finish() }
        let end = Task { [queues] in
            try? await Task.sleep(for: patience)
            guard !Task.isCancelled else { return }
            for queue in queues { queue.delivery.cancel() }
        }
        for queue in queues { await queue.delivery.value }
        end.cancel()
        let left = counters.value.waiting
        guard left > 0 else { return }
        counters.change { statistics in for _ in 0..<left { statistics.giveUp() } }
        logger.warning("webhooks were not delivered before the server went down", metadata: ["count": "\(left)"])
    }

    private static func deliver(
        _ notice: Notice, by poster: HTTPPoster, key: APIKey, _ counters: Counters, _ logger: Logger
    ) async {
        for attempt in 0...pauses.count where !Task.isCancelled {
            if attempt > 0 { try? await Task.sleep(for: pauses[attempt - 1]) }
            guard let webhook = try? notice.signed(with: key) else { break }
            let status = try? await poster.post(
                webhook.body,
                headers: [("Content-Type", SignedWebhook.contentType), ("Authorization", webhook.authorization)])
            if let status, (200..<300).contains(status) {
                return counters.change {
                    $0.delivered += 1
                    $0.waiting -= 1
                }
            }
            counters.change { $0.failedAttempts += 1 }
            // RFC 9110 §15.5: what it has understood and refused does not become right by being said again.
            if let status, (400..<500).contains(status), status != 408, status != 429 { break }
        }
        // What the server's end has cut short is told of together.
        guard !Task.isCancelled else { return }
        counters.change { $0.giveUp() }
        logger.warning("a webhook was not delivered", metadata: ["event": "\(notice.name)"])
    }
}

/// Shared by the queues. From any thread.
private final class Counters: Sendable {
    private let state = Mutex(WebhookStatistics())

    var value: WebhookStatistics { state.withLock { $0 } }

    func change(_ body: (inout WebhookStatistics) -> Void) { state.withLock { body(&$0) } }
}
