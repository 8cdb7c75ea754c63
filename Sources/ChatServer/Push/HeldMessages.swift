internal import ChatCore
internal import ChatModel

/// Messages that were not pushed to somebody because a client of theirs was connected, for a while: it may have been
/// out of reach already, which is found out when nothing comes from it for more than a minute.
struct HeldMessages {
    private var messages: [UserID: [(id: MessageID, at: Timestamp)]] = [:]
    private var count = 0

    static let time = Duration.seconds(120)
    /// Of one person; the newest are kept.
    static let mostOfOne = 20
    private static let most = 100_000

    mutating func hold(_ id: MessageID, for user: UserID, at now: Timestamp) {
        guard count < Self.most else { return }
        messages[user, default: []].append((id, now))
        count += 1
        if messages[user, default: []].count > Self.mostOfOne {
            messages[user]?.removeFirst()
            count -= 1
        }
    }

    /// Those of somebody who has gone, the oldest first.
    mutating func take(of user: UserID, at now: Timestamp) -> [MessageID] {
        let held = messages.removeValue(forKey: user) ?? []
        count -= held.count
        return held.filter { now - $0.at < Self.time }.map(\.id)
    }

    mutating func expire(at now: Timestamp) {
        messages = messages.compactMapValues { held in
            let kept = held.filter { now - $0.at < Self.time }
            return kept.isEmpty ? nil : kept
        }
        count = messages.values.reduce(0) { $0 + $1.count }
    }

    mutating func forget() { (messages, count) = ([:], 0) }
}

/// What of held messages is still to be pushed to somebody who has gone, all of one moment.
struct HeldReading: Sendable {
    let reach: PushReach
    private(set) var told: [PushReading.Told] = []

    init(_ ids: [MessageID], for user: UserID, topics: Set<String>, in chat: ChatTransaction) throws {
        reach = try PushReach(of: [user], topics: topics, in: chat)
        guard reach.people[user] != nil else { return }
        for id in ids {
            guard let message = try chat.unreadMessage(id, for: user) else { continue }
            let candidates = try chat.notificationCandidates(for: message, only: user)
            guard let candidate = candidates.first, case .push = NotificationRule.verdict(candidate.facts) else {
                continue
            }
            let place = try chat.place(of: message)
            told.append(
                PushReading.Told(
                    message: message, channelName: place.kind.isDirect ? nil : place.name, candidates: candidates))
        }
    }
}
