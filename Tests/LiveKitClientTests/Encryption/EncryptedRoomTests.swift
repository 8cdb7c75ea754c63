import Foundation
import LiveKitProtocol
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitClient

/// What is said to each other where there are keys.
@Suite struct EncryptedRoomTests {
    private let keys = KeyProvider(sharedKey: "password")

    private func connected(_ keys: KeyProvider?, acceptsPlain: Bool = false) -> Dialogue {
        Dialogue.connected([Dialogue.info("ann")]) {
            $0.encryption = keys
            $0.acceptsPlain = acceptsPlain
        }
    }

    private func sent(_ dialogue: Dialogue, _ text: String) throws -> LiveKitDataPacket {
        try dialogue.machine.sendData(Array(text.utf8), isReliable: true, to: ["ann"], topic: "t", at: dialogue.now)
        _ = dialogue.said()
        return try #require(dialogue.packets.last)
    }

    private func hears(_ dialogue: Dialogue, _ packet: LiveKitDataPacket) -> [String] {
        dialogue.hears(from: "ann") { $0.value = packet.value }
    }

    @Test func `a message is encrypted, and who it is of and for is not`() throws {
        let packet = try sent(connected(keys), "hello")
        guard case .encryptedPacket(let encrypted)? = packet.value else {
            Issue.record("\(packet)")
            return
        }
        #expect(encrypted.encryptionType == .gcm && encrypted.keyIndex == 0 && encrypted.iv.count == 12)
        #expect(packet.destinationIdentities == ["ann"] && packet.participantIdentity == "me" && packet.sequence == 1)
        #expect(hears(connected(keys), packet) == ["* \"hello\" from ann"])
        #expect(hears(connected(KeyProvider(sharedKey: "another")), packet).isEmpty)
        #expect(hears(connected(nil), packet).isEmpty)
    }

    @Test func `what comes unencrypted could be of anybody, and is taken where that is wanted`() throws {
        let plain = try sent(connected(nil), "hello")
        #expect(hears(connected(keys), plain).isEmpty)
        #expect(hears(connected(keys, acceptsPlain: true), plain) == ["* \"hello\" from ann"])
        // The server's own have no sender.
        let dialogue = connected(keys)
        #expect(dialogue.hears(from: "") { $0.value = plain.value } == ["* \"hello\" from the server"])
        // But not its calls and streams, which anybody may have asked it for.
        dialogue.machine.incoming.textTopics = ["notes"]
        dialogue.machine.calls.methods = ["shout"]
        let call = LiveKitRpcRequest.with {
            $0.id = "r"
            $0.method = "shout"
            $0.version = 1
        }
        #expect(dialogue.hears(from: "") { $0.rpcRequest = call }.isEmpty)
        #expect(dialogue.begins("s", from: "").isEmpty && dialogue.begins("s").isEmpty)
    }

    @Test func `streams and calls are encrypted piece by piece`() throws {
        let dialogue = connected(keys)
        dialogue.publish()
        let header = LiveKitDataStream.Header(StreamTextOptions(topic: "notes"), id: "s", timestamp: 1)
        try dialogue.machine.sendWhole(header, content: Array("hello".utf8), to: ["ann"], at: dialogue.now)
        dialogue.machine.performRPC(
            "shout", payload: "hi", of: "ann", timeout: nil, request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        let packets = dialogue.packets
        #expect(packets.count == 4)
        #expect(packets.allSatisfy { if case .encryptedPacket? = $0.value { true } else { false } })
        let listener = connected(keys)
        listener.machine.incoming.textTopics = ["notes"]
        listener.machine.calls.methods = ["shout"]
        let heard = packets.flatMap { hears(listener, $0) }.filter { $0.hasPrefix("*") }
        #expect(heard == ["* text 1 on notes from ann", "* 1: hello", "* 1 is over", "* called shout(hi) by ann"])
    }

    @Test func `without a key nothing is said, and what cannot be encrypted is not published`() throws {
        let dialogue = connected(KeyProvider())
        #expect(throws: RoomError.notEncryptable) { try sent(dialogue, "hello") }
        let request = dialogue.request()
        dialogue.machine.publish(
            LocalTrackID(rawValue: 1), .av1, TrackPublishOptions(name: "film", source: .camera), request: request)
        #expect(
            dialogue.said() == [
                "= \(request.rawValue) failed: It cannot be encrypted, so it is neither sent nor taken."
            ])
        // Of layers of VP9 LiveKit's server reads what is encrypted.
        var layered = TrackPublishOptions(name: "film", source: .camera)
        layered.layers = [.low, .high].map { VideoLayer(quality: $0, width: 64, height: 64) }
        for (format, isRefused) in [(PayloadFormat.vp9, true), (.vp8, false)] {
            dialogue.machine.publish(LocalTrackID(rawValue: 2), format, layered, request: dialogue.request())
            #expect(dialogue.said().contains { $0.contains("cannot be encrypted") } == isRefused)
        }
        let track = dialogue.request()
        dialogue.machine.publishDataTrack("pose", handle: 1, request: track, at: dialogue.now)
        #expect(
            dialogue.said() == ["= \(track.rawValue) failed: It cannot be encrypted, so it is neither sent nor taken."])
    }

    @Test func `tracks are announced as encrypted`() throws {
        let dialogue = connected(keys)
        dialogue.publish()
        let announced = dialogue.requests.compactMap { if case .addTrack(let track) = $0 { track } else { nil } }
        #expect(announced.map(\.encryption) == [.gcm])
    }

    @Test func `what makes no sense is passed over`() {
        let dialogue = connected(keys)
        let nonsense: [LiveKitEncryptedPacket] = [
            .init(), .with { $0.keyIndex = 4_000_000_000 },
            .with {
                $0.iv = Data(repeating: 0, count: 3)
                $0.encryptedValue = Data(repeating: 0, count: 40)
            },
            .with {
                $0.iv = Data(repeating: 0, count: 12)
                $0.encryptedValue = Data(repeating: 0, count: 15)
            },
        ]
        for packet in nonsense { #expect(dialogue.hears(from: "ann") { $0.encryptedPacket = packet }.isEmpty) }
    }
}
