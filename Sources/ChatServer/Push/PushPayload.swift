internal import ChatModel
internal import Foundation

/// What a notification says, in JSON ("Generating a remote notification").
struct PushPayload: Encodable {
    private struct Alert: Encodable {
        var title: String?
        var subtitle: String?
        var body: String
    }

    private struct System: Encodable {
        var alert: Alert?
        var badge: Int?
        var sound: String?
        var threadID: String?
        var category: String?
        var mutableContent: Int?
        /// `passive` lights no screen.
        var interruptionLevel: String?

        private enum CodingKeys: String, CodingKey {
            case alert, badge, sound, category
            case interruptionLevel = "interruption-level"
            case threadID = "thread-id"
            case mutableContent = "mutable-content"
        }
    }

    private var aps = System()
    private var event: String?
    private var workspaceID: WorkspaceID?
    private var channelID: ChannelID?
    private var messageID: MessageID?
    private var threadID: MessageID?
    private var call: Call?

    private struct Call: Encodable {
        let id: String
        let room: String
        let hasVideo: Bool
        let callerID: UserID
        let callerName: String
        let channelName: String?
        let expiresAt: Timestamp

        fileprivate enum CodingKeys: String, CodingKey {
            case room
            case id = "call_id"
            case hasVideo = "has_video"
            case callerID = "caller_id"
            case callerName = "caller_name"
            case channelName = "channel_name"
            case expiresAt = "expires_at"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case aps, event
        case workspaceID = "workspace_id"
        case channelID = "channel_id"
        case messageID = "message_id"
        case threadID = "thread_id"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(aps, forKey: .aps)
        try container.encodeIfPresent(event, forKey: .event)
        try container.encodeIfPresent(workspaceID, forKey: .workspaceID)
        try container.encodeIfPresent(channelID, forKey: .channelID)
        try container.encodeIfPresent(messageID, forKey: .messageID)
        try container.encodeIfPresent(threadID, forKey: .threadID)
        try call?.encode(to: encoder)
    }

    // MARK: What there is to tell

    /// A message. Without preview it says that there is one, and no more.
    ///
    /// - Parameter channelName: nil for direct and group messages.
    static func message(_ message: Message, channelName: String?, showsPreview: Bool, badge: Int) throws -> [UInt8] {
        var payload = PushPayload()
        payload.aps = System(
            alert: Alert(body: "New message"), badge: badge, sound: "default",
            threadID: message.channelID.description, category: "MESSAGE", mutableContent: 1)
        payload.event = "message_sent"
        payload.workspaceID = message.workspaceID
        payload.channelID = message.channelID
        payload.messageID = message.id
        payload.threadID = message.threadID
        guard showsPreview else { return try payload.bytes() }
        let files = message.files.map(\.name).joined(separator: ", ")
        payload.aps.alert = Alert(
            title: message.user.displayName, subtitle: channelName.map { "#" + $0 },
            body: message.content.isEmpty ? files : message.content)
        return try payload.shortened(to: Push.payloadLimit(of: .alert))
    }

    /// What PushKit gives the app, which reports the call to CallKit by it.
    static func voip(_ ring: CallRing) throws -> [UInt8] {
        var payload = PushPayload()
        payload.tell(ring, as: "call")
        return try payload.bytes()
    }

    /// For who has no token for calls, or when that has failed.
    static func calling(_ ring: CallRing, badge: Int?) throws -> [UInt8] {
        var payload = PushPayload()
        payload.aps = System(
            alert: Alert(subtitle: ring.channelName.map { "#" + $0 }, body: "\(ring.callerName) is calling"),
            badge: badge,
            sound: "default", threadID: ring.channelID.description, category: "CALL", mutableContent: 1)
        payload.tell(ring, as: "call")
        return try payload.shortened(to: Push.payloadLimit(of: .alert))
    }

    private mutating func tell(_ ring: CallRing, as event: String) {
        self.event = event
        workspaceID = ring.workspaceID
        channelID = ring.channelID
        call = Call(
            id: ring.callID, room: ring.room, hasVideo: ring.hasVideo, callerID: ring.caller,
            callerName: ring.callerName, channelName: ring.channelName, expiresAt: ring.expiresAt)
    }

    static func missedCall(_ callID: String, from callerName: String, badge: Int) throws -> [UInt8] {
        struct Missed: Encodable {
            let aps: System
            let event = "call_missed"
            let call_id: String
        }
        let aps = System(
            alert: Alert(body: "Missed call from \(callerName)"), badge: badge, sound: "default",
            category: "MISSED_CALL", mutableContent: 1)
        return try encoded(Missed(aps: aps, call_id: callID))
    }

    /// In the place of an alert that a call rings: without a sound, for who has answered on whatever device.
    static func callOver(_ callID: String, _ end: CallAlerts.End) throws -> [UInt8] {
        struct Over: Encodable {
            let aps: System
            let event = "call_over"
            let call_id: String
        }
        let body =
            switch end.ending {
            case .answered: "Call from \(end.callerName) answered"
            case .declined: "Call from \(end.callerName) declined"
            case .over: "Call from \(end.callerName) is over"
            }
        return try encoded(
            Over(aps: System(alert: Alert(body: body), interruptionLevel: "passive"), call_id: callID))
    }

    /// The number on the app's icon and nothing else.
    static func badge(_ count: Int) throws -> [UInt8] {
        var payload = PushPayload()
        payload.aps = System(badge: count)
        return try payload.bytes()
    }

    // MARK: Its size

    private static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }

    private func bytes() throws -> [UInt8] { try Self.encoded(self) }

    /// With as much of the alert's words as fits, cut between characters.
    private func shortened(to limit: Int) throws -> [UInt8] {
        let whole = try bytes()
        guard whole.count > limit, let body = aps.alert?.body else { return whole }
        let characters = Array(body.prefix(limit))
        // Characters that fit, and those that do not: what is between is not known yet.
        var (fits, over) = (0, characters.count + 1)
        var best = try with(body: "…").bytes()
        while over - fits > 1 {
            let middle = (fits + over) / 2
            let bytes = try with(body: String(characters.prefix(middle)) + "…").bytes()
            if bytes.count <= limit {
                (fits, best) = (middle, bytes)
            } else {
                over = middle
            }
        }
        return best
    }

    private func with(body: String) -> PushPayload {
        var payload = self
        payload.aps.alert?.body = body
        return payload
    }
}
