internal import ChatCore
internal import ChatModel
internal import Foundation
internal import LiveKitProtocol
internal import Logging
internal import RedisClient

/// Between this server and the others with which it is one: what each says reaches all, by a channel of Redis.
///
/// Nothing hangs on it but time: events are in the database's log, which each server looks at every two seconds anyway,
/// and what else words say is compared with the database every half a minute.
actor NodeLink {
    /// This server, from its start to its end.
    nonisolated let id = NodeID(UUID())
    private nonisolated let redis: RedisClient
    /// The name of this chat among those that share the Redis.
    private nonisolated let channel: String
    private nonisolated let logger: Logger
    private var isLinked = false
    private var linkedAt: Timestamp?
    private var lastBeat: Timestamp?
    private var beats = 0
    private var isFailingCalls = false
    private var tasks: [Task<Void, Never>] = []

    /// How often it says that it is there.
    private static let interval = Duration.seconds(5)
    /// Whoever is there has said so by then.
    private static let introduction = Duration.seconds(20)

    /// - Parameter chat: the same on all servers of the chat, and on no others.
    init(_ redis: RedisClient, chat: String, logger: Logger) {
        self.redis = redis
        self.logger = logger
        channel = chat + ":nodes"
    }

    /// A chat's name, which tells nothing of the secret that only its servers know.
    static func chatName(of secret: String) -> String {
        "roost:" + Hex.text(SHA256.digest(of: Array("chat \(secret)".utf8)).prefix(8))
    }

    /// Tells the others. Does not wait, and does nothing while Redis is out of reach.
    nonisolated func tell(_ message: NodeMessage) {
        guard let bytes = try? JSONEncoder().encode(message) else { return }
        redis.publish([UInt8](bytes), on: channel)
    }

    func start(_ hub: RealtimeHub, _ calls: CallCenter, _ push: PushCenter?) {
        guard tasks.isEmpty else { return }
        let events = redis.subscribe(to: channel)
        tasks = [
            Task { for await event in events { await take(event, hub, calls, push) } },
            Task {
                while (try? await Task.sleep(for: Self.interval)) != nil { await beat(hub, calls) }
            },
        ]
    }

    /// Says goodbye.
    func stop(_ hub: RealtimeHub) async {
        for task in tasks { task.cancel() }
        tasks = []
        let goodbye = NodeMessage(node: id, version: await hub.version, word: .goodbye)
        if let text = try? JSONEncoder().encode(goodbye) {
            // Waited for, unlike other words: the connection is closed behind it.
            _ = try? await redis.send(["PUBLISH", channel, String(decoding: text, as: UTF8.self)])
        }
        await redis.close()
    }

    private func take(
        _ event: RedisSubscriptionEvent, _ hub: RealtimeHub, _ calls: CallCenter, _ push: PushCenter?
    ) async {
        switch event {
        case .up:
            if linkedAt != nil { logger.notice("the other servers can be heard again") }
            (isLinked, linkedAt) = (true, hub.service.now())
            await hub.linked()
        case .down:
            isLinked = false
            logger.warning(
                "Redis is out of reach: what other servers do is seen later, and limits count for each alone")
        case .message(let bytes):
            // A newer server may say what this one does not understand.
            guard let message = try? JSONDecoder().decode(NodeMessage.self, from: Data(bytes)), message.node != id
            else { return }
            await hub.take(message)
            switch message.word {
            case .changed(let changes):
                await push?.changed(changes)
                await calls.heard(changes.calls)
            case .goodbye: failCalls(of: calls, but: await hub.others.alive, at: hub.service.now())
            // The hub's.
            case .hello, .alive, .came, .went, .ask, .everybody, .typing: break
            }
        }
    }

    /// Waits for no database: a server that says nothing is taken for dead by the others.
    private func beat(_ hub: RealtimeHub, _ calls: CallCenter) async {
        let now = hub.service.now()
        if let lastBeat, now < lastBeat || now - lastBeat >= Self.interval * 2 {
            // It was stopped, or its clock was set: what the others have said meanwhile has not been read yet.
            if linkedAt != nil { linkedAt = now }
            await hub.listensAnew()
        }
        lastBeat = now
        failCalls(of: calls, but: await hub.beat(isLinked: isLinked), at: now)
        beats += 1
        // Once in half a minute, and it logs its errors itself: nobody has to keep it.
        if beats % 6 == 0 { Task { [id] in await calls.lookAgain(as: id) } }
    }

    /// Calls are over whose server is not there.
    private func failCalls(of calls: CallCenter, but others: Set<NodeID>, at now: Timestamp) {
        // Whoever has not been heard since may only be slow to come.
        guard isLinked, let linkedAt, now - linkedAt >= Self.introduction, !isFailingCalls else { return }
        isFailingCalls = true
        // It ends by itself, logs its errors, and does nothing once calls are stopped.
        Task {
            await calls.failCalls(but: others.union([id]))
            isFailingCalls = false
        }
    }
}
