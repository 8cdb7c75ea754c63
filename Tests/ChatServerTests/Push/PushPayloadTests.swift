import ChatModel
import Foundation
import Testing

@testable import ChatServer

struct PushPayloadTests {
    private static let author = Profile(
        id: UserID(UUID()), username: "ann", displayName: "Ann \"the\" Analyst",
        createdAt: Timestamp(milliseconds: 0), updatedAt: Timestamp(milliseconds: 0))

    private static func message(_ content: String, thread: MessageID? = nil) -> Message {
        Message(
            id: MessageID(UUID()), workspaceID: WorkspaceID(UUID()), channelID: ChannelID(UUID()), user: author,
            threadID: thread, content: content, sequence: 7, createdAt: Timestamp(milliseconds: 0))
    }

    private static func ring(_ name: String) -> CallRing {
        CallRing(
            callID: "0193", room: "room", hasVideo: true, caller: author.id, callerName: name,
            workspaceID: WorkspaceID(UUID()), channelID: ChannelID(UUID()), channelName: "crew", users: [],
            expiresAt: Timestamp(milliseconds: 1_795_435_200_000))
    }

    struct Told: Decodable {
        struct System: Decodable {
            struct Alert: Decodable {
                let title: String?
                let subtitle: String?
                let body: String
            }

            let alert: Alert?
            let badge: Int?
            let sound: String?
            let category: String?
            let thread: String?
            let mutable: Int?

            private enum CodingKeys: String, CodingKey {
                case alert, badge, sound, category
                case thread = "thread-id"
                case mutable = "mutable-content"
            }
        }

        let aps: System
        let event: String?
        let workspace_id: WorkspaceID?
        let channel_id: ChannelID?
        let message_id: MessageID?
        let thread_id: MessageID?
        let call_id: String?
        let room: String?
        let has_video: Bool?
        let caller_name: String?
        let channel_name: String?
        let expires_at: Timestamp?
    }

    private func read(_ payload: [UInt8]) throws -> Told { try JSONDecoder().decode(Told.self, from: Data(payload)) }

    @Test func `a message says who, where and what, and what the app needs to open it`() throws {
        let message = Self.message("Look:\n\"this\" / that", thread: MessageID(UUID()))
        let told = try read(try PushPayload.message(message, channelName: "crew", showsPreview: true, badge: 3))
        #expect(told.aps.alert?.title == "Ann \"the\" Analyst" && told.aps.alert?.subtitle == "#crew")
        #expect(told.aps.alert?.body == message.content && told.aps.badge == 3 && told.aps.sound == "default")
        #expect(told.aps.category == "MESSAGE" && told.aps.mutable == 1)
        #expect(told.aps.thread == message.channelID.description && told.event == "message_sent")
        #expect(told.workspace_id == message.workspaceID && told.channel_id == message.channelID)
        #expect(told.message_id == message.id && told.thread_id == message.threadID)
    }

    @Test func `without preview neither who nor what is to be read`() throws {
        let payload = try PushPayload.message(
            Self.message("a secret"), channelName: "crew", showsPreview: false, badge: 1)
        let told = try read(payload)
        #expect(told.aps.alert?.body == "New message" && told.aps.alert?.title == nil)
        #expect(told.aps.alert?.subtitle == nil && told.aps.badge == 1)
        let text = String(decoding: payload, as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("Analyst") && !text.contains("crew"))
    }

    @Test(arguments: [
        "a", "é", "👩‍👩‍👧‍👦", "\"", "\n", "\u{1}", "日", "e\u{301}\u{302}",
    ])
    func `what is too long is cut between characters, as late as may be`(character: String) throws {
        let content = String(repeating: character, count: 12_000)
        let payload = try PushPayload.message(Self.message(content), channelName: nil, showsPreview: true, badge: 1)
        // The next character in JSON, escaped, is at most as long as its bytes six times.
        #expect(payload.count <= 4_096 && payload.count > 4_096 - 6 * character.utf8.count - 3)
        let body = try #require(try read(payload).aps.alert?.body)
        #expect(body.hasSuffix("…") && body.dropLast().allSatisfy { String($0) == character })
    }

    @Test func `what fits is left as it is`() throws {
        let message = Self.message(String(repeating: "x", count: 3_000))
        let payload = try PushPayload.message(message, channelName: nil, showsPreview: true, badge: 1)
        #expect(try read(payload).aps.alert?.body == message.content)
    }

    @Test func `one character that is too long by itself leaves the place of it`() throws {
        let message = Self.message("a" + String(repeating: "\u{301}", count: 20_000))
        let payload = try PushPayload.message(message, channelName: nil, showsPreview: true, badge: 1)
        #expect(try read(payload).aps.alert?.body == "…")
    }

    @Test func `a call's push has what CallKit and the room need, and no alert`() throws {
        let told = try read(try PushPayload.voip(Self.ring("Ann")))
        #expect(told.aps.alert == nil && told.aps.sound == nil && told.event == "call")
        #expect(told.call_id == "0193" && told.room == "room" && told.has_video == true)
        #expect(told.caller_name == "Ann" && told.channel_name == "crew")
        #expect(told.expires_at == Timestamp(milliseconds: 1_795_435_200_000))
        let longest = try PushPayload.voip(Self.ring(String(repeating: "👩‍👩‍👧‍👦", count: 12)))
        #expect(longest.count <= Push.payloadLimit(of: .voip))
    }

    @Test func `a call's alert, and that of one that was missed`() throws {
        let calling = try read(try PushPayload.calling(Self.ring("Ann"), badge: 2))
        #expect(calling.aps.alert?.body == "Ann is calling" && calling.aps.badge == 2 && calling.call_id == "0193")
        let missed = try read(try PushPayload.missedCall("0193", from: "Ann", badge: 2))
        #expect(missed.aps.alert?.body == "Missed call from Ann" && missed.event == "call_missed")
        #expect(missed.call_id == "0193")
    }

    @Test func `a number alone makes no sound`() throws {
        #expect(String(decoding: try PushPayload.badge(0), as: UTF8.self) == #"{"aps":{"badge":0}}"#)
    }
}
