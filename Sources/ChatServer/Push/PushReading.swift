internal import ChatCore
internal import ChatModel
internal import Foundation

/// A part of a workspace's log, with whom its new messages may be pushed to, all of one moment.
struct PushReading: Sendable {
    struct Told: Sendable {
        let message: Message
        /// Nil for direct and group messages.
        let channelName: String?
        let candidates: [NotificationCandidate]
    }

    private(set) var told: [Told] = []
    /// Everything up to here was looked at.
    let sequence: Int64
    /// There is nothing behind it.
    let isWhole: Bool

    /// Messages that are older are no news: after a long pause nobody's pocket is to ring a hundred times.
    static let oldest = Duration.seconds(300)
    private static let most = 100

    init(_ workspace: WorkspaceID, after: Int64, in chat: ChatTransaction) throws {
        let newest = try chat.sequence(of: workspace)
        let since = Timestamp(milliseconds: chat.now.milliseconds).advanced(by: .zero - Self.oldest)
        let events = try chat.newMessages(of: workspace, after: after, since: since, limit: Self.most)
        isWhole = events.count < Self.most
        sequence = isWhole ? max(newest, after) : events.last?.sequence ?? newest
        for event in events {
            let message = try JSONDecoder().decode(Message.self, from: Data(event.data.utf8))
            // What the server writes itself, of calls and of who comes and goes, rings nowhere.
            guard message.kind == .text else { continue }
            let candidates = try chat.notificationCandidates(for: message)
            guard !candidates.isEmpty else { continue }
            let place = try chat.place(of: message)
            told.append(
                Told(message: message, channelName: place.kind.isDirect ? nil : place.name, candidates: candidates))
        }
    }
}

/// Where people are pushed to, and what their icons are to show.
struct PushReach: Sendable {
    struct Person: Sendable {
        let addresses: [PushAddress]
        let badge: Int
        let settings: NotificationSettings
    }

    var people: [UserID: Person]

    init(of users: Set<UserID>, topics: Set<String>, in chat: ChatTransaction) throws {
        people = try users.reduce(into: [:]) { people, user in
            let addresses = try chat.pushAddresses(of: user).filter { topics.contains($0.appID) }
            guard !addresses.isEmpty else { return }
            people[user] = Person(
                addresses: addresses, badge: try chat.badge(of: user),
                settings: try chat.notificationSettings(of: user))
        }
    }
}
