import Foundation
import SwiftProtobuf
import Testing

@testable import LiveKitProtocol

struct WebhookTests {
    private static let now = Date(timeIntervalSince1970: 1_767_323_045)
    private static let event = LiveKitWebhookEvent.with {
        $0.event = "participant_joined"
        $0.id = "EV_1"
        $0.createdAt = 1_767_323_045
        $0.room = .with {
            $0.sid = "RM_1"
            $0.name = "standup ї"
            $0.creationTime = 1_767_323_000
        }
        $0.participant = .with {
            $0.sid = "PA_1"
            $0.identity = "ann"
            $0.state = .active
            $0.attributes = ["seat": "4"]
        }
    }

    private static func refusal(_ body: [UInt8], _ authorization: String, at time: Date = now) throws
        -> WebhookRefusal?
    {
        let keys = APIKeys(try testKey())
        do throws(WebhookRefusal) {
            _ = try LiveKitWebhookEvent(verifying: body, authorization: authorization, with: keys, at: time)
            return nil
        } catch {
            return error
        }
    }

    // Interop/test_livekit_tokens.py shows that LiveKit's own receiver reads these bytes.
    @Test func `an event's body is LiveKit's JSON, byte for byte`() throws {
        let webhook = try SignedWebhook(Self.event, key: try testKey(), at: Self.now)
        #expect(String(decoding: webhook.body, as: UTF8.self) == (try LiveKitVectors.text("webhook-event.json")))
    }

    @Test func `the token has no Bearer before it, signs the body and is good for five minutes`() throws {
        let key = try testKey()
        let webhook = try SignedWebhook(Self.event, key: key, at: Self.now)
        let token = try AccessToken(verifying: webhook.authorization, with: APIKeys(key), at: Self.now)
        #expect(token.expires == Self.now + 300)
        #expect(Base64.decode(token.claims.sha256.utf8, as: .standard) == SHA256.digest(of: webhook.body))
        #expect(token.claims.video == nil && token.identity.isEmpty)
    }

    @Test func `a webhook that was signed is read again`() throws {
        let webhook = try SignedWebhook(Self.event, key: try testKey(), at: Self.now)
        let read = try LiveKitWebhookEvent(
            verifying: webhook.body, authorization: webhook.authorization, with: APIKeys(try testKey()), at: Self.now)
        #expect(read == Self.event)
    }

    @Test func `another body, another key, no digest and what is late are refused`() throws {
        let webhook = try SignedWebhook(Self.event, key: try testKey(), at: Self.now)
        #expect(try Self.refusal(webhook.body + [0x20], webhook.authorization) == .anotherBody)
        #expect(try Self.refusal([], webhook.authorization) == .anotherBody)
        let foreign = try SignedWebhook(
            Self.event, key: try testKey(secret: String(repeating: "f", count: 32)), at: Self.now)
        #expect(try Self.refusal(foreign.body, foreign.authorization) == .token(.wrongSignature))
        let plain = try AccessToken(identity: "ann", at: Self.now).signed(with: try testKey())
        #expect(try Self.refusal(webhook.body, plain) == .noDigest)
        #expect(
            try Self.refusal(webhook.body, webhook.authorization, at: Self.now + 360)
                == .token(.expired(Self.now + 300)))
        #expect(try Self.refusal(webhook.body, "Bearer " + webhook.authorization) == .token(.malformed))
        let nonsense = try SignedWebhook(body: Array("[]".utf8), key: try testKey(), at: Self.now)
        #expect(try Self.refusal(nonsense.body, nonsense.authorization) == .malformed)
    }

    @Test func `an event of a newer server is read as far as we know it`() throws {
        let body = Array(#"{"event":"room_renamed","id":"EV_2","somethingNew":{"a":1},"room":{"newer":[1]}}"#.utf8)
        let webhook = try SignedWebhook(body: body, key: try testKey(), at: Self.now)
        let read = try LiveKitWebhookEvent(
            verifying: webhook.body, authorization: webhook.authorization, with: APIKeys(try testKey()), at: Self.now)
        #expect(read.event == "room_renamed" && read.id == "EV_2" && read.hasRoom)
    }
}
