import Foundation
import SwiftProtobuf
import Testing

@testable import LiveKitProtocol

struct MessageTests {
    /// One line of `messages.jsonl`: a message that LiveKit's own package wrote.
    struct Vector: CustomTestStringConvertible, Sendable {
        let type: String
        let bytes: [UInt8]
        let json: [UInt8]
        let number: Int

        init(line: Substring, number: Int) throws {
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            type = try #require(object["type"] as? String)
            let base64 = try #require(object["bytes"] as? String)
            bytes = [UInt8](try #require(Data(base64Encoded: base64)))
            json = [UInt8](try JSONSerialization.data(withJSONObject: try #require(object["json"])))
            self.number = number
        }

        var testDescription: String { "\(type), line \(number)" }
    }

    static let vectors: [Vector] = {
        do {
            return try LiveKitVectors.text("messages.jsonl").split(separator: "\n").enumerated().map {
                try Vector(line: $1, number: $0 + 1)
            }
        } catch {
            fatalError("Tests/Vectors/livekit/messages.jsonl: \(error)")
        }
    }()

    static let types: [any (SwiftProtobuf.Message & Equatable).Type] = [
        LiveKitSignalRequest.self, LiveKitSignalResponse.self, LiveKitJoinRequest.self,
        LiveKitWrappedJoinRequest.self, LiveKitDataPacket.self, LiveKitEncryptedPacketPayload.self,
        LiveKitCreateRoomRequest.self, LiveKitRoomConfiguration.self, LiveKitSendDataRequest.self,
        LiveKitUpdateParticipantRequest.self, LiveKitMuteRoomTrackRequest.self,
        LiveKitListParticipantsResponse.self, LiveKitWebhookEvent.self,
    ]

    @Test(arguments: vectors)
    func `what LiveKit's package writes is read whole, from bytes and from JSON, and written again`(
        vector: Vector
    ) throws {
        let type = try #require(Self.types.first { $0.protoMessageName == vector.type })
        try check(type, vector)
    }

    private func check<Value: SwiftProtobuf.Message & Equatable>(_: Value.Type, _ vector: Vector) throws {
        let message = try Value(serializedBytes: vector.bytes)
        // JSON names every field and leaves no unknown ones behind, so equality says that each number was understood.
        #expect(try Value(jsonUTF8Bytes: vector.json) == message)
        let bytes: [UInt8] = try message.serializedBytes()
        #expect(try Value(serializedBytes: bytes) == message && bytes.count == vector.bytes.count)
        let json: [UInt8] = try message.jsonUTF8Bytes()
        #expect(try Value(jsonUTF8Bytes: json) == message)
    }

    @Test func `there is a vector for every case of a signal, both ways`() {
        // 22 requests and 30 responses, as many as the oneofs have cases.
        #expect(Self.vectors.count { $0.type == "livekit.SignalRequest" } == 22)
        #expect(Self.vectors.count { $0.type == "livekit.SignalResponse" } == 30)
    }

    // Field 4, a track's announcement, by hand: cid "c" (1), type VIDEO (3), source SCREEN_SHARE (8).
    @Test func `the numbers are those on the wire`() throws {
        let bytes: [UInt8] = [0x22, 0x07, 0x0a, 0x01, 0x63, 0x18, 0x01, 0x40, 0x03]
        let request = try LiveKitSignalRequest(serializedBytes: bytes)
        #expect(
            request.addTrack
                == .with {
                    $0.cid = "c"
                    $0.type = .video
                    $0.source = .screenShare
                })
        #expect(try request.serializedBytes() == bytes)
        #expect(try request.jsonString() == #"{"addTrack":{"cid":"c","type":"VIDEO","source":"SCREEN_SHARE"}}"#)
    }
}

struct ForeignFieldTests {
    /// The field 999, a text: "new".
    private static let newer: [UInt8] = [0xba, 0x3e, 0x03, 0x6e, 0x65, 0x77]

    @Test func `a field of a newer client is kept and passed on`() throws {
        let known: [UInt8] = [0x0a, 0x01, 0x63]
        let request = try LiveKitAddTrackRequest(serializedBytes: known + Self.newer)
        #expect(request.cid == "c")
        #expect(try request.serializedBytes() == known + Self.newer)
    }

    @Test func `a request of a newer client is no request that we know, and no error`() throws {
        let request = try LiveKitSignalRequest(serializedBytes: Self.newer)
        #expect(request.message == nil)
        #expect(try request.serializedBytes() == Self.newer)
    }

    @Test func `a case of a oneof that comes later replaces the one before`() throws {
        // ping 5, then mute of TR_1.
        let request = try LiveKitSignalRequest(
            serializedBytes: [0x70, 0x05, 0x2a, 0x08, 0x0a, 0x04, 0x54, 0x52, 0x5f, 0x31, 0x10, 0x01] as [UInt8])
        #expect(
            request.message
                == .mute(
                    .with {
                        $0.sid = "TR_1"
                        $0.muted = true
                    }))
    }

    @Test func `a value of an enum that is newer keeps its number`() throws {
        let leave = try LiveKitLeaveRequest(serializedBytes: [0x10, 0x63] as [UInt8])
        #expect(leave.reason == .UNRECOGNIZED(99))
        #expect(try leave.serializedBytes() == [0x10, 0x63] as [UInt8])
    }

    @Test func `what we leave out is kept: speakers in a data packet`() throws {
        // DataPacket.speaker, number 3, of a sender from before version 2.
        let bytes: [UInt8] = [0x1a, 0x04, 0x0a, 0x02, 0x18, 0x01]
        let packet = try LiveKitDataPacket(serializedBytes: bytes)
        #expect(packet.value == nil)
        #expect(try packet.serializedBytes() == bytes)
    }

    @Test(
        arguments: [
            [0x22, 0x7f],  // a length beyond the end
            [0x0a, 0x02, 0x0a],  // likewise, within a message
            [0x70],  // no value
            [0x70, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],  // a number without an end
            [0x07],  // no such wire type
            [0x00, 0x00],  // no field has the number 0
            [0x12, 0x04, 0x0a, 0x02, 0xc0, 0xaf],  // a text that is not UTF-8
        ] as [[UInt8]])
    func `what is no message is refused`(bytes: [UInt8]) {
        #expect(throws: (any Error).self) { try LiveKitSignalRequest(serializedBytes: bytes) }
    }

    @Test func `nesting without an end is refused`() throws {
        // A group in a group in a group: 20,000 deep, closed again, as an unknown field.
        let deep = [UInt8](repeating: 0x0b, count: 20_000) + [UInt8](repeating: 0x0c, count: 20_000)
        #expect(throws: (any Error).self) { try LiveKitSignalRequest(serializedBytes: deep) }
    }
}
