import Foundation
import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite struct IncomingStreamTests {
    /// Reads texts on "notes" and bytes on "files".
    private static func reading(_ others: [LiveKitParticipantInfo] = [Dialogue.info("ann")]) -> Dialogue {
        let dialogue = Dialogue.connected(others)
        dialogue.machine.incoming.textTopics = ["notes"]
        dialogue.machine.incoming.byteTopics = ["files"]
        return dialogue
    }

    @Test func `a text begins, goes on, and ends`() {
        let dialogue = Self.reading()
        #expect(dialogue.begins("s") == ["* text 1 on notes from ann"])
        #expect(dialogue.goesOn("s", 0, "he") == ["* 1: he"])
        #expect(dialogue.goesOn("s", 1, "llo") == ["* 1: llo"])
        #expect(dialogue.ends("s", attributes: ["a": "b"]) == ["* 1 is over [\"a\": \"b\"]"])
        #expect(dialogue.goesOn("s", 2, "more").isEmpty)
        #expect(dialogue.ends("s").isEmpty)
    }

    @Test func `the beginning may carry all of it`() {
        let dialogue = Self.reading()
        let all = dialogue.begins("s") { $0.inlineContent = Data("all".utf8) }
        #expect(all == ["* text 1 on notes from ann", "* 1: all", "* 1 is over"])
        let nothing = dialogue.begins("t") { $0.inlineContent = Data() }
        #expect(nothing == ["* text 2 on notes from ann", "* 2 is over"])
        #expect(dialogue.goesOn("s", 0, "more").isEmpty)
    }

    @Test func `what nobody reads is passed over`() {
        let dialogue = Self.reading()
        #expect(dialogue.begins("s", topic: "files").isEmpty)
        #expect(dialogue.begins("s", topic: "notes", isText: false).isEmpty)
        #expect(dialogue.begins("s", topic: "files", isText: false) == ["* bytes 1 on files from ann"])
        // Of neither kind.
        #expect(dialogue.begins("t") { $0.contentHeader = nil }.isEmpty)
        // Of the future.
        #expect(dialogue.begins("u") { $0.compression = .UNRECOGNIZED(7) }.isEmpty)
        #expect(dialogue.goesOn("nothing", 0, "x").isEmpty && dialogue.ends("nothing").isEmpty)
    }

    @Test func `a chunk that comes twice is heard once, and one that is missing ends it`() {
        let dialogue = Self.reading()
        _ = dialogue.begins("s")
        #expect(dialogue.goesOn("s", 0, "a") == ["* 1: a"])
        #expect(dialogue.goesOn("s", 0, "a").isEmpty)
        #expect(dialogue.goesOn("s", 2, "c") == ["* 1 breaks off: A part of it is missing."])
        #expect(dialogue.goesOn("s", 1, "b").isEmpty)
    }

    @Test func `a sender that gives up says why, and one that leaves does not`() {
        let dialogue = Self.reading([Dialogue.info("ann"), Dialogue.info("bob")])
        _ = dialogue.begins("s")
        #expect(dialogue.ends("s", reason: "tired") == ["* 1 breaks off: Its sender has given it up: tired"])
        _ = dialogue.begins("t")
        _ = dialogue.begins("t", from: "bob")
        let gone = Dialogue.update(Dialogue.info("ann", version: 2) { $0.state = .disconnected })
        #expect(dialogue.server(gone).contains("* 2 breaks off: Its sender has left before its end."))
        #expect(dialogue.goesOn("t", 0, "b", from: "bob") == ["* 3: b"])
    }

    @Test func `the streams of two senders are two, whatever they call them`() {
        let dialogue = Self.reading([Dialogue.info("ann"), Dialogue.info("eve")])
        _ = dialogue.begins("s")
        #expect(dialogue.goesOn("s", 0, "x", from: "eve").isEmpty)
        #expect(dialogue.begins("s", from: "eve") == ["* text 2 on notes from eve"])
        #expect(dialogue.ends("s", from: "eve") == ["* 2 is over"])
        #expect(dialogue.goesOn("s", 0, "a") == ["* 1: a"])
        // One that began is not begun again.
        #expect(dialogue.begins("s").isEmpty)
    }

    @Test func `of one who begins without end so many are kept, and others still begin`() {
        let dialogue = Self.reading([Dialogue.info("ann"), Dialogue.info("bob")])
        let begun = (0..<300).flatMap { dialogue.begins("s\($0)") }
        #expect(begun.count == 256)
        #expect(dialogue.begins("s", from: "bob").count == 1)
        _ = dialogue.ends("s0")
        dialogue.machine.incoming.readerGone(IncomingStreamID(rawValue: 1))
        #expect(dialogue.begins("s300").count == 1)
    }

    @Test func `those that are over count while their readers have them`() {
        let dialogue = Self.reading([Dialogue.info("ann"), Dialogue.info("bob")])
        for number in 0..<256 {
            #expect(dialogue.begins("s\(number)") { $0.inlineContent = Data() }.count == 2)
        }
        #expect(dialogue.begins("s") { $0.inlineContent = Data() }.isEmpty)
        #expect(dialogue.begins("s", from: "bob").count == 1)
        dialogue.machine.incoming.readerGone(IncomingStreamID(rawValue: 7))
        #expect(dialogue.begins("s") { $0.inlineContent = Data() }.count == 2)
    }

    @Test func `of one that was let go of no more is told`() {
        let dialogue = Self.reading()
        _ = dialogue.begins("s")
        dialogue.machine.incoming.readerGone(IncomingStreamID(rawValue: 1))
        #expect(dialogue.goesOn("s", 0, "a").isEmpty && dialogue.ends("s").isEmpty)
    }

    @Test func `streams are of the channel that loses nothing`() {
        let dialogue = Self.reading()
        var header = LiveKitDataStream.Header()
        header.topic = "notes"
        header.textHeader = .init()
        #expect(dialogue.hears(from: "ann", .lossy) { $0.streamHeader = header }.isEmpty)
        #expect(dialogue.hears(from: "ann") { $0.streamHeader = header }.count == 1)
    }

    @Test func `they go on while the session does, and break off with it`() {
        let dialogue = Self.reading()
        _ = dialogue.begins("s")
        _ = dialogue.signalLost()
        _ = dialogue.server(.reconnect(.init()))
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        #expect(dialogue.goesOn("s", 0, "a") == ["* 1: a"])
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        _ = dialogue.pass(.seconds(Int64(1)))
        let rejoined = dialogue.server(Dialogue.join([Dialogue.info("ann")], sid: "PA_again"))
        #expect(rejoined.contains("* 1 breaks off: The connection was lost before its end."))
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        #expect(dialogue.begins("t") == ["* text 2 on notes from ann"])
        dialogue.machine.leave()
        #expect(dialogue.said().contains("* 2 breaks off: The connection was lost before its end."))
    }

    @Test func `what is said with a stream is told as it was said`() throws {
        let header = LiveKitDataStream.Header.with {
            $0.streamID = "s"
            $0.timestamp = 1_700_000_000_123
            $0.topic = "notes"
            $0.totalLength = 7
            $0.attributes = ["a": "b"]
            $0.textHeader = .with {
                $0.operationType = .update
                $0.version = 3
                $0.replyToStreamID = "r"
                $0.attachedStreamIds = ["f", "g"]
                $0.generated = true
            }
        }
        guard case .text(let info) = try #require(IncomingStreamHeader(header, sender: "ann")).kind else {
            Issue.record("it is a text")
            return
        }
        var options = StreamTextOptions(topic: "notes")
        options.attributes = ["a": "b"]
        options.operation = .update
        options.version = 3
        options.replyToStreamID = "r"
        options.attachedStreamIDs = ["f", "g"]
        options.isGenerated = true
        #expect(info == TextStreamInfo(options, id: "s", timestamp: 1_700_000_000_123, length: 7))
    }

    @Test func `what an agent writes in somebody's name is theirs, and goes on in the agent's`() {
        let dialogue = Self.reading([Dialogue.info("ann"), Dialogue.info("agent")])
        var header = LiveKitDataStream.Header()
        header.streamID = "s"
        header.topic = "notes"
        header.textHeader = .init()
        let began = dialogue.hears(from: "agent") {
            $0.participantIdentity = "ann"
            $0.streamHeader = header
        }
        #expect(began == ["* text 1 on notes from ann"])
        #expect(dialogue.goesOn("s", 0, "said", from: "agent") == ["* 1: said"])
    }
}

extension Dialogue {
    func begins(
        _ id: String, topic: String = "notes", isText: Bool = true, from sender: String = "ann",
        _ change: (inout LiveKitDataStream.Header) -> Void = { _ in }
    ) -> [String] {
        var header = LiveKitDataStream.Header()
        header.streamID = id
        header.topic = topic
        if isText { header.textHeader = .init() } else { header.byteHeader = .init() }
        change(&header)
        return hears(from: sender) { $0.streamHeader = header }
    }

    func goesOn(_ id: String, _ index: UInt64, _ content: String, from sender: String = "ann") -> [String] {
        hears(from: sender) {
            $0.streamChunk = .with {
                $0.streamID = id
                $0.chunkIndex = index
                $0.content = Data(content.utf8)
            }
        }
    }

    func ends(
        _ id: String, reason: String = "", attributes: [String: String] = [:], from sender: String = "ann"
    ) -> [String] {
        hears(from: sender) {
            $0.streamTrailer = .with {
                $0.streamID = id
                $0.reason = reason
                $0.attributes = attributes
            }
        }
    }
}
