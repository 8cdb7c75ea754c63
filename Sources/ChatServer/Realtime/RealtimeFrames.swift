internal import ChatCore
package import ChatModel
internal import Foundation

/// What clients say on the realtime socket: `{"type": "send_message", "id": "7", "data": {…}}`. With an `id` it is
/// answered by an `ack` or an `error` of the same.
package enum ClientFrame: Sendable, Equatable {
    /// The first frame of a client that has not put its token into the address.
    case authenticate(token: String, resume: [WorkspaceID: Int64])
    /// Events after these are sent again.
    case resume([WorkspaceID: Int64])
    case joinChannel(ChannelID)
    case leaveChannel(ChannelID)
    case sendMessage(ChannelID, SendMessageRequest)
    case typing(ChannelID, thread: MessageID?)
    case stopTyping(ChannelID)
    case markRead(ReadMark)
    case ping
}

/// A frame that nobody understands, and the name that its answer is to have.
struct BadFrame: Error, Sendable {
    let id: String?
    let error: ChatError

    init(_ message: Data, _ fault: any Error) {
        struct Named: Decodable { let id: String? }
        struct Numbered: Decodable { let id: Int64? }
        let decoder = JSONDecoder()
        id =
            (try? decoder.decode(Named.self, from: message))?.id
            ?? (try? decoder.decode(Numbered.self, from: message))?.id.map { String($0) }
        error = (fault as? DecodingError).map { ChatError($0) } ?? .notJSON
    }
}

/// A frame, and the name that its answer is to have.
package struct ClientRequest: Decodable, Sendable, Equatable {
    package let id: String?
    package let frame: ClientFrame

    init(id: String?, frame: ClientFrame) {
        self.id = id
        self.frame = frame
    }

    private enum CodingKeys: String, CodingKey { case type, id, data }

    private enum Kind: String, Decodable {
        case authenticate, resume, typing, ping
        case joinChannel = "join_channel"
        case leaveChannel = "leave_channel"
        case sendMessage = "send_message"
        case stopTyping = "stop_typing"
        case markRead = "mark_read"
    }

    private struct Authentication: Decodable {
        let token: String
        let resume: [String: Int64]?
    }

    private struct Resumption: Decodable { let workspaces: [String: Int64] }

    private struct ChannelReference: Decodable {
        let channelID: ChannelID
        let threadID: MessageID?
        private enum CodingKeys: String, CodingKey {
            case channelID = "channel_id"
            case threadID = "thread_id"
        }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // Clients number them, or name them.
        if let number = try? container.decodeIfPresent(Int64.self, forKey: .id) {
            id = String(number)
        } else {
            id = try container.decodeIfPresent(String.self, forKey: .id)
        }
        func data<Value: Decodable>() throws -> Value { try container.decode(Value.self, forKey: .data) }
        switch try container.decode(Kind.self, forKey: .type) {
        case .authenticate:
            let data: Authentication = try data()
            frame = .authenticate(token: data.token, resume: Self.places(data.resume ?? [:]))
        case .resume: frame = .resume(Self.places((try data() as Resumption).workspaces))
        case .joinChannel: frame = .joinChannel((try data() as ChannelReference).channelID)
        case .leaveChannel: frame = .leaveChannel((try data() as ChannelReference).channelID)
        case .sendMessage: frame = .sendMessage((try data() as ChannelReference).channelID, try data())
        case .typing:
            let place: ChannelReference = try data()
            frame = .typing(place.channelID, thread: place.threadID)
        case .stopTyping: frame = .stopTyping((try data() as ChannelReference).channelID)
        case .markRead: frame = .markRead(try data())
        case .ping: frame = .ping
        }
    }

    private static func places(_ named: [String: Int64]) -> [WorkspaceID: Int64] {
        named.reduce(into: [:]) { places, entry in
            if let id = WorkspaceID(entry.key) { places[id] = entry.value }
        }
    }
}

/// What the server says besides events.
enum ServerFrame {
    /// The first frame: who the server takes the client for. For each workspace a `following` comes next.
    static func hello(user: UserID, workspaces: [WorkspaceID]) -> [UInt8] {
        encode(Frame(type: "hello", data: Hello(user_id: user, workspace_ids: workspaces)))
    }

    private struct Hello: Encodable {
        let user_id: UserID
        let workspace_ids: [WorkspaceID]
    }

    /// Events from here on come next, whether they were sent before or not.
    static func resuming(_ workspace: WorkspaceID, from sequence: Int64) -> [UInt8] {
        encode(Frame(type: "resuming", data: Place(workspace_id: workspace, sequence: sequence)))
    }

    /// More was missed than is kept.
    static func reloadNeeded(_ workspace: WorkspaceID, at sequence: Int64) -> [UInt8] {
        encode(Frame(type: "reload_needed", data: Place(workspace_id: workspace, sequence: sequence)))
    }

    /// From here on each event of a workspace comes when it happens.
    ///
    /// - Parameters:
    ///   - online: who of its people is connected.
    ///   - marks: how far the reader has read, on whatever device.
    static func following(
        _ workspace: WorkspaceID, from sequence: Int64, online: [UserID], marks: [ReadMark]
    ) -> [UInt8] {
        let data = Following(workspace_id: workspace, sequence: sequence, online: online, read_marks: marks)
        return encode(Frame(type: "following", data: data))
    }

    private struct Following: Encodable {
        let workspace_id: WorkspaceID
        let sequence: Int64
        let online: [UserID]
        let read_marks: [ReadMark]
    }

    private struct Place: Encodable {
        let workspace_id: WorkspaceID
        let sequence: Int64
    }

    static func typing(_ user: UserID, in channel: ChannelID, thread: MessageID?, isTyping: Bool) -> [UInt8] {
        encode(
            Frame(
                type: isTyping ? "user_typing" : "user_stopped_typing",
                data: Typing(channel_id: channel, user_id: user, thread_id: thread)))
    }

    private struct Typing: Encodable {
        let channel_id: ChannelID
        let user_id: UserID
        let thread_id: MessageID?
    }

    static func presence(_ user: UserID, isOnline: Bool, in workspace: WorkspaceID) -> [UInt8] {
        encode(
            Frame(
                type: "presence_changed",
                data: PresenceData(workspace_id: workspace, user_id: user, is_online: isOnline)))
    }

    private struct PresenceData: Encodable {
        let workspace_id: WorkspaceID
        let user_id: UserID
        let is_online: Bool
    }

    static func read(_ mark: ReadMark) -> [UInt8] { encode(Frame(type: "channel_read", data: mark)) }

    static func marked(_ mark: ThreadMark) -> [UInt8] { encode(Frame(type: "thread_marked", data: mark)) }

    static func pong() -> [UInt8] { encode(Frame(type: "pong", data: Nothing())) }

    static func ack(_ id: String, _ data: some Encodable = Nothing()) -> [UInt8] {
        encode(Frame(type: "ack", id: id, data: data))
    }

    static func error(_ error: ChatError, id: String?) -> [UInt8] {
        let detail = ErrorBody(code: error.code, message: error.message, field: error.field).error
        return encode(Frame(type: "error", id: id, data: detail))
    }

    struct Nothing: Encodable {}

    private struct Frame<Data: Encodable> {
        let type: String
        var id: String?
        let data: Data
    }

    private static func encode(_ frame: Frame<some Encodable>) -> [UInt8] {
        var head = JSONWriter()
        head.object { json in
            json.member("type", frame.type)
            json.member("id", frame.id)
        }
        // Of texts, numbers and identifiers there is nothing that JSON could not say.
        let data = (try? JSONWriter.json(frame.data)) ?? []
        return head.bytes.dropLast() + Array(#","data":"#.utf8) + data + [UInt8(ascii: "}")]
    }
}
