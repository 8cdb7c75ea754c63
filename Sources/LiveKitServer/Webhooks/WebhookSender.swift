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

/// Posts events, for each URL those of a room in the order in which they came, each until it is taken or has failed too
/// often. Rooms go side by side: an answer that is slow, or an event that is not taken, holds up no room but its own
/// until there are as many such as connections, and a receiver that is down nobody but itself.
final class WebhookSender: Sendable {
    private struct Target {
        /// Rooms of which events are to be delivered.
        let rooms: AsyncStream<String>.Continuation
        let connections: WebhookConnections
        /// Does not hold the sender.
        let delivery: Task<Void, Never>

        /// What is under way is given up.
        func stop() {
            delivery.cancel()
            connections.end()
        }
    }

    private let targets: [Target]
    private let state: Shared
    private let logger: Logger

    /// Waits between the attempts: as often as LiveKit's server tries.
    static let pauses: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    init(urls: [WebhookURL], key: APIKey, logger: Logger, pauses: [Duration] = WebhookSender.pauses) {
        let connections = urls.compactMap { WebhookConnections(to: $0) }
        let state = Shared(targets: connections.count)
        targets = connections.enumerated().map { index, connections in
            let (stream, rooms) = AsyncStream.makeStream(of: String.self)
            let delivery = WebhookDelivery(
                target: index, connections: connections, key: key, pauses: pauses, state: state, logger: logger)
            let task = Task {
                await withDiscardingTaskGroup { group in
                    for await room in stream { group.addTask { await delivery.deliver(ofRoom: room) } }
                }
                await connections.close()
            }
            return Target(rooms: rooms, connections: connections, delivery: task)
        }
        self.state = state
        self.logger = logger
    }

    /// Whoever lets go of it without `finish` loses what waits.
    deinit {
        for target in targets {
            target.rooms.finish()
            target.stop()
        }
    }

    var statistics: WebhookStatistics { state.statistics }

    func send(_ event: LiveKitWebhookEvent) {
        send(.event(event))
    }

    /// Sends another server's event as it came, with whatever a newer one has put there.
    func passOn(_ body: [UInt8], event: LiveKitWebhookEvent) {
        send(.written(body, event))
    }

    private func send(_ notice: WebhookNotice) {
        guard !targets.isEmpty else { return }
        let room = notice.room
        let size = notice.size
        // In one step: what is counted as waiting is waited for, and at the end all that is left is counted once.
        state.change { state in
            for (index, target) in targets.enumerated() {
                guard !state.isFinished else {
                    state.statistics.lost += 1
                    continue
                }
                switch state.queues[index].add(notice, size: size, ofRoom: room) {
                case .refused: state.statistics.lost += 1
                case .waits: state.statistics.waiting += 1
                case .begins:
                    state.statistics.waiting += 1
                    target.rooms.yield(room)
                }
            }
        }
    }

    /// Delivers what waits, at most for so long. What has not been taken then is lost, and said to be.
    func finish(within patience: Duration = .seconds(5)) async {
        state.change { state in
            state.isFinished = true
            for target in targets { target.rooms.finish() }
        }
        let end = Task { [targets] in
            try? await Task.sleep(for: patience)
            guard !Task.isCancelled else { return }
            for target in targets { target.stop() }
        }
        for target in targets { await target.delivery.value }
        end.cancel()
        let left = state.change { state in
            defer { state.statistics.waiting = 0 }
            state.statistics.lost += state.statistics.waiting
            return state.statistics.waiting
        }
        guard left > 0 else { return }
        logger.warning("webhooks were not delivered before the server went down", metadata: ["count": "\(left)"])
    }
}

/// Delivers the events for one URL.
private struct WebhookDelivery: Sendable {
    /// Which of the URLs.
    let target: Int
    let connections: WebhookConnections
    let key: APIKey
    let pauses: [Duration]
    let state: Shared
    let logger: Logger

    /// Those of one room, one after the other, until none is left.
    func deliver(ofRoom room: String) async {
        var next = state.change { $0.queues[target].first(ofRoom: room) }
        while let notice = next, !Task.isCancelled {
            await deliver(notice)
            next = state.change { $0.queues[target].removeFirst(ofRoom: room) }
        }
    }

    private func deliver(_ notice: WebhookNotice) async {
        for attempt in 0...pauses.count where !Task.isCancelled {
            if attempt > 0 { try? await Task.sleep(for: pauses[attempt - 1]) }
            // Not kept in the pauses: others go on.
            guard let connection = await connections.take() else { return }
            defer { connections.giveBack(connection) }
            guard let webhook = try? notice.signed(with: key) else { break }
            let status = try? await connection.post(
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

/// Shared by the deliveries. From any thread.
private final class Shared: Sendable {
    struct State {
        /// Of each URL.
        var queues: [WebhookQueue<WebhookNotice>]
        var statistics = WebhookStatistics()
        /// Nothing is taken any more.
        var isFinished = false
    }

    private let state: Mutex<State>

    init(targets: Int) {
        state = Mutex(State(queues: Array(repeating: WebhookQueue(), count: targets)))
    }

    var statistics: WebhookStatistics { state.withLock { $0.statistics } }

    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
}
