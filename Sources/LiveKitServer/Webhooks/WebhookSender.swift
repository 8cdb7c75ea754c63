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
    private let state: Shared
    private let logger: Logger

    /// Events that wait for one URL. Some thousand people come and go while it is down for a minute.
    private static let limit = 10_000
    /// Waits between the attempts: as often as LiveKit's server tries.
    private static let pauses: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    init(urls: [WebhookURL], key: APIKey, logger: Logger) {
        let state = Shared()
        queues = urls.compactMap { url in
            guard let poster = try? HTTPPoster(url: url.description) else { return nil }
            let (stream, notices) = AsyncStream.makeStream(
                of: Notice.self, bufferingPolicy: .bufferingOldest(Self.limit))
            let delivery = Task {
                for await notice in stream { await Self.deliver(notice, by: poster, key: key, state, logger) }
                await poster.close()
            }
            return Queue(notices: notices, delivery: delivery)
        }
        self.state = state
        self.logger = logger
    }

    var statistics: WebhookStatistics { state.value.statistics }

    func send(_ event: LiveKitWebhookEvent) {
        send(.event(event))
    }

    /// Sends another server's event as it came, with whatever a newer one has put there.
    func passOn(_ body: [UInt8], event: String) {
        send(.written(body, name: event))
    }

    private func send(_ notice: Notice) {
        // In one step: what is counted as waiting is waited for, and at the end all that is left is counted once.
        state.change { state in
            for queue in queues {
                guard !state.isFinished, case .enqueued = queue.notices.yield(notice) else {
                    // The oldest go first: it is this one.
                    state.statistics.lost += 1
                    continue
                }
                state.statistics.waiting += 1
            }
        }
    }

    /// Delivers what waits, at most for so long. What has not been taken then is lost, and said to be.
    func finish(within patience: Duration = .seconds(5)) async {
        state.change { state in
            state.isFinished = true
            for queue in queues { queue.notices.finish() }
        }
        let end = Task { [queues] in
            try? await Task.sleep(for: patience)
            guard !Task.isCancelled else { return }
            for queue in queues { queue.delivery.cancel() }
        }
        for queue in queues { await queue.delivery.value }
        end.cancel()
        let left = state.change { state in
            defer { state.statistics.waiting = 0 }
            state.statistics.lost += state.statistics.waiting
            return state.statistics.waiting
        }
        guard left > 0 else { return }
        logger.warning("webhooks were not delivered before the server went down", metadata: ["count": "\(left)"])
    }

    private static func deliver(
        _ notice: Notice, by poster: HTTPPoster, key: APIKey, _ state: Shared, _ logger: Logger
    ) async {
        for attempt in 0...pauses.count where !Task.isCancelled {
            if attempt > 0 { try? await Task.sleep(for: pauses[attempt - 1]) }
            guard let webhook = try? notice.signed(with: key) else { break }
            let status = try? await poster.post(
                webhook.body,
                headers: [("Content-Type", SignedWebhook.contentType), ("Authorization", webhook.authorization)])
            if let status, (200..<300).contains(status) {
                return state.change {
                    $0.statistics.delivered += 1
                    $0.statistics.waiting -= 1
                }
            }
            state.change { $0.statistics.failedAttempts += 1 }
            // RFC 9110 §15.5: what it has understood and refused does not become right by being said again.
            if let status, (400..<500).contains(status), status != 408, status != 429 { break }
        }
        // What the server's end has cut short is told of together.
        guard !Task.isCancelled else { return }
        state.change {
            $0.statistics.waiting -= 1
            $0.statistics.lost += 1
        }
        logger.warning("a webhook was not delivered", metadata: ["event": "\(notice.name)"])
    }
}

/// Shared by the queues. From any thread.
private final class Shared: Sendable {
    struct State {
        var statistics = WebhookStatistics()
        /// Nothing is taken any more.
        var isFinished = false
    }

    private let state = Mutex(State())

    var value: State { state.withLock { $0 } }

    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
}
