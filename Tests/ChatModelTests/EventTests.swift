import Testing

@testable import ChatModel

/// What the realtime socket sends, as JSON text.
@Suite struct EventTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let change: ChatChange
        let kind: String
        let data: String

        init(_ change: ChatChange, _ kind: String, _ data: String) {
            self.change = change
            self.kind = kind
            self.data = data
        }

        var testDescription: String { kind }
    }

    private static let reaction = ReactionChange(
        messageID: Sample.id(4), channelID: Sample.id(3), userID: Sample.id(1),
        reaction: Reaction(emoji: ":ok:", userIDs: [Sample.id(6), Sample.id(1)]))
    private static let reactionText =
        #"{"channel_id":"# + Sample.text(3) + #","message_id":"# + Sample.text(4)
        + #","reaction":{"count":2,"emoji":":ok:","user_ids":["# + Sample.text(6) + "," + Sample.text(1)
        + #"]},"user_id":"# + Sample.text(1) + "}"

    private static let presence = ChannelPresenceChange(channel: Sample.channel, user: Sample.profile)
    private static let presenceText = #"{"channel":\#(Sample.channelText),"user":\#(Sample.profileText)}"#

    private static let deletion = MessageDeletion(
        messageID: Sample.id(4), channelID: Sample.id(3), threadID: Sample.id(5), deletedAt: Sample.later)
    private static let deletionText =
        #"{"channel_id":"# + Sample.text(3) + #","deleted_at":"2026-11-23T16:40:08.000Z","message_id":"#
        + Sample.text(4) + #","thread_id":"# + Sample.text(5) + "}"

    private static let shared = SharedFile(
        file: FileInfo(id: Sample.id(7), name: "map.png", mediaType: "image/png", size: 512, createdAt: Sample.at),
        channelID: Sample.id(3), messageID: Sample.id(4), userID: Sample.id(1))
    private static let sharedText =
        #"{"channel_id":"# + Sample.text(3)
        + #","file":{"created_at":"2026-11-23T16:40:07.250Z","has_thumbnail":false,"id":"# + Sample.text(7)
        + #","media_type":"image/png","name":"map.png","size":512},"message_id":"# + Sample.text(4) + #","user_id":"#
        + Sample.text(1) + "}"

    static let rows = [
        Row(.messageSent(Sample.message), "message_sent", Sample.messageText),
        Row(.messageEdited(Sample.message), "message_edited", Sample.messageText),
        Row(.messageDeleted(deletion), "message_deleted", deletionText),
        Row(.messagePinned(Sample.message), "message_pinned", Sample.messageText),
        Row(.messageUnpinned(Sample.message), "message_unpinned", Sample.messageText),
        Row(.reactionAdded(reaction), "reaction_added", reactionText),
        Row(.reactionRemoved(reaction), "reaction_removed", reactionText),
        Row(.channelCreated(Sample.channel), "channel_created", Sample.channelText),
        Row(.channelUpdated(Sample.channel), "channel_updated", Sample.channelText),
        Row(.channelJoined(presence), "channel_joined", presenceText),
        Row(.channelLeft(presence), "channel_left", presenceText),
        Row(.workspaceUpdated(Sample.workspace), "workspace_updated", Sample.workspaceText),
        Row(
            .workspaceDeleted(WorkspaceDeletion(workspaceID: Sample.id(2))), "workspace_deleted",
            #"{"workspace_id":\#(Sample.text(2))}"#),
        Row(.memberJoined(Sample.member), "member_joined", Sample.memberText),
        Row(.memberUpdated(Sample.member), "member_updated", Sample.memberText),
        Row(
            .memberLeft(MemberDeparture(userID: Sample.id(1))), "member_left",
            #"{"user_id":\#(Sample.text(1))}"#),
        Row(.userUpdated(Sample.profile), "user_updated", Sample.profileText),
        Row(.callStarted(Sample.call), "call_started", Sample.callText),
        Row(.callUpdated(Sample.call), "call_updated", Sample.callText),
        Row(.callEnded(Sample.call), "call_ended", Sample.callText),
        Row(.fileUpdated(shared), "file_updated", sharedText),
    ]

    @Test func `there is a row for each kind of event`() {
        #expect(Self.rows.map(\.kind) == ChatChange.Kind.allCases.map(\.rawValue))
    }

    @Test(arguments: rows)
    func `an event is its type, its place and its data`(row: Row) throws {
        let event = ChatEvent(workspaceID: Sample.id(2), sequence: 1_207, at: Sample.at, change: row.change)
        let text =
            #"{"at":"2026-11-23T16:40:07.250Z","data":"# + row.data + #","sequence":1207,"type":""# + row.kind
            + #"","workspace_id":"# + Sample.text(2) + "}"
        #expect(try json(event) == text)
        #expect(try decode(ChatEvent.self, text) == event)
        #expect(row.change.kind.rawValue == row.kind)
    }

    @Test(arguments: rows)
    func `a change is its type and its data`(row: Row) throws {
        let text = #"{"data":\#(row.data),"type":"\#(row.kind)"}"#
        #expect(try json(row.change) == text)
        #expect(try decode(ChatChange.self, text) == row.change)
        #expect(try json(row.change.data) == row.data)
    }

    @Test func `members that a newer server adds are passed over`() throws {
        let text =
            #"{"at":"2026-11-23T16:40:07.250Z","data":{"user_id":\#(Sample.text(1)),"reason":{"code":7}},"#
            + #""sequence":5,"shard":[1],"type":"member_left","workspace_id":\#(Sample.text(2))}"#
        #expect(
            try decode(ChatEvent.self, text)
                == ChatEvent(
                    workspaceID: Sample.id(2), sequence: 5, at: Sample.at,
                    change: .memberLeft(MemberDeparture(userID: Sample.id(1)))))
    }

    @Test(
        arguments: [
            ("member_left", #"{"user_id":\#(Sample.text(1))}"#, ["at", "data", "sequence", "type", "workspace_id"]),
            ("user_updated", Sample.profileText, ["at", "data", "sequence", "type", "workspace_id"]),
        ])
    func `an event without one of its members is none`(kind: String, data: String, members: [String]) throws {
        let values = [#""2026-11-23T16:40:07.250Z""#, data, "5", #""\#(kind)""#, Sample.text(2)]
        let whole = zip(members, values).map { #""\#($0)":\#($1)"# }
        #expect(throws: Never.self) { try decode(ChatEvent.self, "{\(whole.joined(separator: ","))}") }
        for missing in members.indices {
            var part = whole
            part.remove(at: missing)
            #expect(throws: DecodingError.self, "\(members[missing])") {
                try decode(ChatEvent.self, "{\(part.joined(separator: ","))}")
            }
        }
    }

    @Test func `an event of an unknown type, or with another's data, is none`() {
        for text in [
            #"{"type":"message_read","data":{}}"#, #"{"type":"message_sent","data":\#(Sample.profileText)}"#,
            #"{"type":"user_updated","data":null}"#,
        ] {
            #expect(throws: DecodingError.self) { try decode(ChatChange.self, text) }
        }
    }
}
