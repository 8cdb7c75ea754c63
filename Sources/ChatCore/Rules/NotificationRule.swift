package import ChatModel

/// Why a message concerns somebody, the strongest reason first.
package enum NotificationReason: String, Sendable, CaseIterable {
    /// It names them.
    case named
    /// It is of a direct or group message.
    case direct
    /// It calls everybody in the channel.
    case everybody
    /// It calls who is there, and they were.
    case here
    /// It is in a thread that they follow.
    case thread
    /// It is in a channel that they are in.
    case channel
}

/// What is to be known of a message and of somebody in its channel.
package struct NotificationFacts: Sendable, Equatable {
    package var isAuthor = false
    package var isDirect = false
    package var isNamed = false
    package var mentionsChannel = false
    /// It calls who is there, and they were when it was written.
    package var mentionsHere = false
    package var isInThread = false
    /// They follow the thread: have written in it or what it answers, were named in it, or have asked for it. False
    /// where they have turned away from it, nil where neither is so.
    package var followsThread: Bool?
    package var level = NotificationLevel.all
    /// They have read it already, or what came after it.
    package var isRead = false
    /// A client of theirs is connected.
    package var isConnected = false
    package var status = UserStatus.online
    package var pushWhen = PushWhen.away
    /// It is in their quiet hours.
    package var isQuiet = false

    package init() {}
}

/// What becomes of a message for somebody.
package enum NotificationVerdict: Sendable, Equatable {
    case push(NotificationReason)
    case nothing(Silence)

    package enum Silence: String, Sendable, CaseIterable {
        case own, read, notConcerned, level, never, active, quiet
    }
}

/// Who is pushed for a message. Guests are as everybody else; who is not in the channel or has left the server is not
/// asked about.
package enum NotificationRule {
    /// From which setting of a channel on a reason counts. This is the table.
    static func levels(of reason: NotificationReason) -> Set<NotificationLevel> {
        switch reason {
        case .named: [.all, .mentions]
        case .direct: [.all, .mentions]
        case .everybody: [.all, .mentions]
        case .here: [.all, .mentions]
        case .thread: [.all, .mentions]
        case .channel: [.all]
        }
    }

    static func reason(_ facts: NotificationFacts) -> NotificationReason? {
        if facts.isNamed { return .named }
        if facts.isDirect, !facts.isInThread || facts.followsThread != false { return .direct }
        if facts.mentionsChannel { return .everybody }
        if facts.mentionsHere { return .here }
        if facts.isInThread { return facts.followsThread == true ? .thread : nil }
        return .channel
    }

    package static func verdict(_ facts: NotificationFacts) -> NotificationVerdict {
        if facts.isAuthor { return .nothing(.own) }
        guard let reason = reason(facts) else { return .nothing(.notConcerned) }
        guard levels(of: reason).contains(facts.level) else { return .nothing(.level) }
        if facts.isRead { return .nothing(.read) }
        switch facts.pushWhen {
        case .always: break
        case .away: if facts.isConnected, facts.status != .away { return .nothing(.active) }
        case .never: return .nothing(.never)
        }
        return facts.isQuiet ? .nothing(.quiet) : .push(reason)
    }

    /// A call rings through quiet hours, and beside a client that is connected: it may be on another desk.
    package static func rings(_ pushWhen: PushWhen) -> Bool {
        switch pushWhen {
        case .always, .away: true
        case .never: false
        }
    }
}
