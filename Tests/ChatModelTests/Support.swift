import Foundation

@testable import ChatModel

/// As the server writes it, members in the order of their names.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
}

/// The same numbers in each run (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// One of each model, and the JSON text that it is.
enum Sample {
    static let at = Timestamp(milliseconds: 1_795_452_007_250)
    static let later = Timestamp(milliseconds: 1_795_452_008_000)

    static func id<Named>(_ number: UInt8) -> Identifier<Named> {
        Identifier(UUID(uuid: (1, 0x90, 0xf5, 0xc2, 0x7b, 0x1a, 0x7c, 0x3d, 0x9e, 0x4f, 0, 0, 0, 0, 0, number)))
    }

    static func text(_ number: Int) -> String {
        #""0190f5c2-7b1a-7c3d-9e4f-0000000000\#(String(format: "%02x", number))""#
    }

    static let profile = Profile(
        id: id(1), username: "ann", displayName: "Ann Lee", avatarURL: "/api/v1/avatars/x", status: .busy,
        statusText: "at sea", createdAt: at, updatedAt: later)
    static let profileText =
        #"{"avatar_url":"/api/v1/avatars/x","created_at":"2026-11-23T16:40:07.250Z","display_name":"Ann Lee","id":"#
        + text(1) + #","is_deactivated":false,"status":"busy","status_text":"at sea","#
        + #""updated_at":"2026-11-23T16:40:08.000Z","username":"ann"}"#

    static let workspace = Workspace(id: id(2), name: "Harbour", slug: "harbour", createdAt: at, updatedAt: later)
    static let workspaceText =
        #"{"created_at":"2026-11-23T16:40:07.250Z","id":"# + text(2)
        + #","name":"Harbour","slug":"harbour","updated_at":"2026-11-23T16:40:08.000Z"}"#

    static let member = Member(user: profile, role: .admin, joinedAt: at)
    static let memberText = #"{"joined_at":"2026-11-23T16:40:07.250Z","role":"admin","user":\#(profileText)}"#

    static let channel = Channel(
        id: id(3), workspaceID: id(2), kind: .private, name: "crew", topic: "Winds", purpose: "Sailing",
        isArchived: true, createdBy: id(1), createdAt: at, updatedAt: later, version: 4)
    static let channelText =
        #"{"created_at":"2026-11-23T16:40:07.250Z","created_by":"# + text(1) + #","id":"# + text(3)
        + #","is_archived":true,"kind":"private","name":"crew","purpose":"Sailing","topic":"Winds","#
        + #""updated_at":"2026-11-23T16:40:08.000Z","user_ids":[],"version":4,"workspace_id":"# + text(2) + "}"

    static let message = Message(
        id: id(4), workspaceID: id(2), channelID: id(3), user: profile, threadID: id(5), content: "Hello @ben",
        clientID: "c-1", sequence: 12, createdAt: at, editedAt: later, pinnedAt: later,
        mentions: Mentions(userIDs: [id(6)], isHere: true), reactions: [Reaction(emoji: "👍", userIDs: [id(6)])],
        files: [
            FileInfo(
                id: id(7), name: "map.png", mediaType: "image/png", size: 512, width: 10, height: 20,
                hasThumbnail: true, createdAt: at)
        ], replyCount: 2, lastReplyAt: later, version: 3)
    static let messageText =
        #"{"channel_id":"# + text(3) + #","client_id":"c-1","content":"Hello @ben","#
        + #""created_at":"2026-11-23T16:40:07.250Z","edited_at":"2026-11-23T16:40:08.000Z","files":[{"#
        + #""created_at":"2026-11-23T16:40:07.250Z","has_thumbnail":true,"height":20,"id":"# + text(7)
        + #","media_type":"image/png","name":"map.png","size":512,"width":10}],"id":"# + text(4)
        + #","kind":"text","last_reply_at":"2026-11-23T16:40:08.000Z","mentions":{"channel":false,"here":true,"#
        + #""user_ids":["# + text(6) + #"]},"pinned_at":"2026-11-23T16:40:08.000Z","reactions":[{"count":1,"#
        + #""emoji":"👍","user_ids":["# + text(6) + #"]}],"reply_count":2,"sequence":12,"thread_id":"# + text(5)
        + #","user":"# + profileText + #","version":3,"workspace_id":"# + text(2) + "}"

    static let call = Call(
        id: id(8), workspaceID: id(2), channelID: id(3), messageID: id(4), kind: .room, media: .video, room: "",
        startedBy: profile, startedAt: at, endedAt: later, endReason: .missed,
        participants: [CallParticipant(user: profile, state: .left, joinedAt: at, leftAt: later)], version: 2)
    static let callText =
        #"{"channel_id":"# + text(3) + #","end_reason":"missed","ended_at":"2026-11-23T16:40:08.000Z","id":"# + text(8)
        + #","kind":"room","media":"video","message_id":"# + text(4)
        + #","participants":[{"joined_at":"2026-11-23T16:40:07.250Z","left_at":"2026-11-23T16:40:08.000Z","#
        + #""state":"left","user":"# + profileText + #"}],"#
        + #""started_at":"2026-11-23T16:40:07.250Z","started_by":"# + profileText
        + #","version":2,"workspace_id":"# + text(2) + "}"
}
