import Foundation
import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite struct OutgoingStreamTests {
    /// Of these versions of what clients say to each other; from the second on they can unpack.
    private static func dialogue(_ versions: Int32..., canUnpack: Bool = true) -> Dialogue {
        let others = versions.enumerated().map { place, version in
            Dialogue.info(["ann", "bob", "eve"][place]) {
                $0.clientProtocol = version
                if canUnpack { $0.capabilities = [.capCompressionDeflateRaw] }
            }
        }
        let dialogue = Dialogue.connected(others)
        dialogue.publish()
        return dialogue
    }

    private static func send(
        _ text: String, to destinations: [ParticipantIdentity] = [], _ dialogue: Dialogue
    ) throws -> [String] {
        let header = LiveKitDataStream.Header(StreamTextOptions(topic: "notes"), id: "s", timestamp: 1)
        try dialogue.machine.sendWhole(header, content: Array(text.utf8), to: destinations, at: dialogue.now)
        return dialogue.said()
    }

    private static let long = String((0..<5_000).map { "\($0) " }.joined())

    @Test func `a short text is said by its beginning where all who get it understand`() throws {
        let all = ["> _reliable stream on notes: hi"]
        #expect(try Self.send("hi", Self.dialogue(2, 2)) == all)
        #expect(try Self.send("hi", Self.dialogue()) == all)
        let pieces = ["> _reliable stream on notes", "> _reliable chunk 0 of 2 bytes", "> _reliable end"]
        #expect(try Self.send("hi", Self.dialogue(2, 1)) == pieces)
        // It is for those who get it, and somebody who is not known may be of any age.
        #expect(try Self.send("hi", to: ["ann"], Self.dialogue(2, 0)) == ["> _reliable stream on notes: hi to ann"])
        #expect(try Self.send("hi", to: ["bob"], Self.dialogue(2, 0)) == pieces.map { $0 + " to bob" })
        #expect(try Self.send("hi", to: ["joe"], Self.dialogue(2, 2)) == pieces.map { $0 + " to joe" })
    }

    @Test func `what becomes shorter is packed for those who can unpack it`() throws {
        let text = String(repeating: "again ", count: 1_000)
        let packing = Self.dialogue(2, 2)
        #expect(try Self.send(text, packing) == ["> _reliable stream on notes, all of it, packed"])
        let header = try #require(packing.packets.last?.streamHeader)
        #expect(header.totalLength == 6_000)
        #expect(try content(packing) == text)
        #expect(try Self.send(text, Self.dialogue(2, canUnpack: false)) == ["> _reliable stream on notes: \(text)"])
        // Of content that fills more than one chunk all are one packed stream.
        let long = Self.dialogue(2)
        let noise = (0..<12_000).map { "\($0 * 7_919 % 100_003)" }.joined()
        let said = try Self.send(noise, long)
        #expect(said.first == "> _reliable stream on notes, packed" && said.last == "> _reliable end")
        #expect(said.count > 3)
        #expect(try content(long) == noise)
    }

    @Test func `a long text goes in chunks, with its length`() throws {
        let dialogue = Self.dialogue(1)
        let said = try Self.send(Self.long, dialogue)
        #expect(said.first == "> _reliable stream on notes" && said.last == "> _reliable end")
        #expect(said.dropFirst().first == "> _reliable chunk 0 of 15000 bytes")
        let header = try #require(dialogue.packets.first { $0.streamHeader.streamID == "s" }?.streamHeader)
        #expect(header.totalLength == UInt64(Self.long.utf8.count))
        #expect(header.mimeType == "text/plain")
        #expect(try content(dialogue) == Self.long)
    }

    /// What whoever gets all that was sent reads.
    private func content(_ dialogue: Dialogue) throws -> String {
        let reader = Dialogue.connected([Dialogue.info("ann")])
        reader.machine.incoming.textTopics = ["notes"]
        var decoder: StreamDecoder?
        var text = ""
        for packet in dialogue.packets {
            let bytes: [UInt8] = try packet.serializedBytes()
            reader.machine.mediaChanged(.message(.reliable, bytes), at: reader.now)
            while let output = reader.machine.pollOutput() {
                switch output {
                case .streamBegan(_, let header): decoder = try header.decoder()
                case .streamWentOn(_, let chunk):
                    decoder?.feed(chunk)
                    while let piece = try decoder?.next() { text += String(decoding: piece, as: UTF8.self) }
                case .streamEnded(_, let end):
                    _ = try end.get()
                    try decoder?.finish()
                default: break
                }
            }
        }
        return text
    }

    @Test func `what is written piece by piece is numbered, and ends as its writer says`() throws {
        let dialogue = Self.dialogue(2)
        let header = LiveKitDataStream.Header(StreamByteOptions(topic: "files"), id: "s", timestamp: 1)
        var stream = try dialogue.machine.beginStream(header, to: ["ann"], at: dialogue.now)
        try dialogue.machine.send([1, 2], on: &stream, at: dialogue.now)
        try dialogue.machine.send([3], on: &stream, at: dialogue.now)
        try dialogue.machine.endStream(stream, reason: "tired", attributes: [:], at: dialogue.now)
        #expect(
            dialogue.said() == [
                "> _reliable stream on files to ann", "> _reliable chunk 0 of 2 bytes to ann",
                "> _reliable chunk 1 of 1 bytes to ann", "> _reliable end (tired) to ann",
            ])
        #expect(dialogue.packets.first { !$0.streamHeader.topic.isEmpty }?.streamHeader.hasTotalLength == false)
    }

    /// Begins one, and says whether it can go on.
    private static func begins(_ dialogue: Dialogue) throws -> () -> Bool {
        let header = LiveKitDataStream.Header(StreamTextOptions(topic: "notes"), id: "s", timestamp: 1)
        var stream = try dialogue.machine.beginStream(header, to: [], at: dialogue.now)
        return { (try? dialogue.machine.send([1], on: &stream, at: dialogue.now)) != nil }
    }

    @Test func `of what waits for a session that does not come about nothing goes out in the next`() throws {
        let dialogue = Self.dialogue(2)
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        // For the next session, whose connection fails.
        let goesOn = try Self.begins(dialogue)
        #expect(goesOn())
        _ = dialogue.server(Dialogue.join([Dialogue.info("ann")], sid: "PA_again"))
        _ = dialogue.media(.stateChanged(.subscriber, .failed))
        #expect(!goesOn())
        _ = dialogue.pass(.seconds(Int64(1)))
        _ = dialogue.server(Dialogue.join([Dialogue.info("ann")], sid: "PA_once_more"))
        #expect(!goesOn())
        #expect(dialogue.media(.channelOpen(.reliable)).isEmpty)
    }

    @Test func `a stream of one room does not go on in another`() throws {
        let dialogue = Self.dialogue(2)
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        let goesOn = try Self.begins(dialogue)
        dialogue.machine.leave()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.server(Dialogue.join([Dialogue.info("ann")]))
        #expect(!goesOn())
    }

    @Test func `a text may be in somebody else's name`() throws {
        let dialogue = Self.dialogue(2)
        let header = LiveKitDataStream.Header(StreamTextOptions(topic: "notes"), id: "s", timestamp: 1)
        _ = try dialogue.machine.beginStream(header, to: [], as: "ann", at: dialogue.now)
        _ = try dialogue.machine.beginStream(header, to: [], at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.packets.suffix(2).map(\.participantIdentity) == ["ann", "me"])
        #expect(dialogue.packets.suffix(2).map(\.participantSid) == ["PA_me", "PA_me"])
    }

    @Test func `a stream does not go on in a new session`() throws {
        let dialogue = Self.dialogue(2)
        let header = LiveKitDataStream.Header(StreamTextOptions(topic: "notes"), id: "s", timestamp: 1)
        var stream = try dialogue.machine.beginStream(header, to: [], at: dialogue.now)
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        // At once: nothing of it waits for the next session.
        #expect(throws: RoomError.streamInterrupted) {
            try dialogue.machine.send([1], on: &stream, at: dialogue.now)
        }
        // One that is begun meanwhile does.
        var next = try dialogue.machine.beginStream(header, to: [], at: dialogue.now)
        try dialogue.machine.send([1], on: &next, at: dialogue.now)
        _ = dialogue.server(Dialogue.join([Dialogue.info("ann")], sid: "PA_again"))
        try dialogue.machine.send([1, 2], on: &next, at: dialogue.now)
        _ = dialogue.said()
        #expect(
            dialogue.media(.channelOpen(.reliable)) == [
                "> _reliable stream on notes", "> _reliable chunk 0 of 1 bytes", "> _reliable chunk 1 of 2 bytes",
            ])
        #expect(throws: RoomError.streamInterrupted) {
            try dialogue.machine.send([1], on: &stream, at: dialogue.now)
        }
        dialogue.machine.leave()
        #expect(throws: RoomError.notConnected) {
            try dialogue.machine.endStream(stream, reason: "", attributes: [:], at: dialogue.now)
        }
    }
}
