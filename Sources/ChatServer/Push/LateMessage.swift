internal import ChatCore
internal import ChatModel

/// A message whose push has waited, as it is now.
struct LateMessage: Sendable {
    let reach: PushReach
    private let message: Message
    /// Nil for direct and group messages.
    private let channelName: String?
    private let person: PushReach.Person

    /// Nil when nobody is to hear of it there any more: it is deleted or read, or whoever it is for has left the
    /// channel, wants no pushes now, or is not logged in on that device.
    init?(_ id: MessageID, of push: Push, topics: Set<String>, in chat: ChatTransaction) throws {
        let user = push.address.user
        reach = try PushReach(of: [user], topics: topics, in: chat)
        guard let person = reach.people[user],
            person.addresses.contains(where: { $0.device == push.address.device && $0.alertToken == push.token }),
            person.settings.pushWhen != .never, person.settings.quietHours?.contain(chat.now) != true,
            let message = try chat.unreadMessage(id, for: user)
        else { return nil }
        self.person = person
        self.message = message
        let place = try chat.place(of: message)
        channelName = place.kind.isDirect ? nil : place.name
    }

    /// What is to be said of it.
    var payload: [UInt8] {
        get throws {
            try PushPayload.message(
                message, channelName: channelName, showsPreview: person.settings.showPreview, badge: person.badge)
        }
    }
}
