import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct DataTests {
    @Test func `a message goes to everybody else on the channel it came on, and its sender is who sent it`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cat", .dual)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        try ann.say("one")
        venue.run(for: .milliseconds(100))
        try ann.say("two", "_lossy")
        venue.run(for: .milliseconds(100))
        try cat.say("three")
        venue.run(for: .milliseconds(100))
        #expect(bob.heard == ["ann: one", "ann: two", "cat: three"])
        #expect(cat.heard == ["ann: one", "ann: two"])
        #expect(ann.heard == ["cat: three"])
        #expect(bob.messages.map(\.label) == ["_reliable", "_lossy", "_reliable"])
        #expect(bob.messages.map(\.packet.kind) == [.reliable, .lossy, .reliable], "the channel tells, not the sender")
        #expect(bob.messages.first?.packet.participantSid == ann.sid)
        #expect(bob.messages.first?.packet.user.participantIdentity == "ann")
    }

    @Test func `what comes on a channel of another name goes to everybody else, as a packet of who sent it`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cat", .dual)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        try ann.open("chat")
        try cat.open("")
        venue.run(for: .milliseconds(200))
        try ann.sendText("one", "chat")
        venue.run(for: .milliseconds(100))
        try cat.sendBytes(Array("two".utf8), "")
        venue.run(for: .milliseconds(100))
        #expect(bob.heard == ["ann: one", "cat: two"])
        #expect(bob.messages.map(\.label) == ["_reliable", "_reliable"])
        #expect(bob.messages.first?.packet.user.participantIdentity == "ann")
        #expect(ann.heard == ["cat: two"] && cat.heard == ["ann: one"])
    }

    @Test func `a message with destinations goes to them only`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cat", .dual)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        try ann.say("for bob", to: ["bob"])
        try ann.say("for cat", "_lossy", to: ["cat", "nobody"])
        try ann.say("in the old form") { $0.user.destinationIdentities = ["bob"] }
        try ann.say("in the oldest") { $0.user.destinationSids = [cat.sid] }
        try ann.say("for one who is gone") { $0.user.destinationSids = ["PA_gone"] }
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: for bob", "ann: in the old form"])
        #expect(Set(cat.heard) == ["ann: for cat", "ann: in the oldest"])
    }

    @Test func `what was missed is said once for each time of coming back`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.say("one")
        venue.run(for: .milliseconds(200))
        let state = LiveKitSyncState.with {
            $0.datachannelReceiveStates = Array(repeating: .with { $0.publisherSid = ann.sid }, count: 1_000)
        }
        venue.send(.syncState(state), from: bob)
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: one"], "who has not been away has missed nothing")
        venue.cut(bob)
        venue.resume(bob)
        for _ in 0..<3 { venue.send(.syncState(state), from: bob) }
        venue.run(for: .milliseconds(500))
        #expect(bob.heard == ["ann: one", "ann: one"])
    }

    @Test func `streams, calls and what is encrypted pass through as they are`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.send(.with { $0.streamHeader.streamID = "s" })
        try ann.send(.with { $0.streamChunk.content = Data([1, 2]) })
        try ann.send(.with { $0.rpcRequest.method = "m" })
        try ann.send(.with { $0.encryptedPacket.encryptedValue = Data([9]) })
        venue.run(for: .milliseconds(200))
        #expect(
            bob.messages.map(\.packet.value) == [
                .streamHeader(.with { $0.streamID = "s" }), .streamChunk(.with { $0.content = Data([1, 2]) }),
                .rpcRequest(.with { $0.method = "m" }), .encryptedPacket(.with { $0.encryptedValue = Data([9]) }),
            ])
    }

    @Test(arguments: [true, false])
    func `what somebody has said only agents write down for the others`(_ isByKind: Bool) throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let ann = try venue.join("ann")
        let agent = try venue.join(
            "agent", grants: { $0.agent = !isByKind }, claims: { $0.kind = isByKind ? "agent" : "" })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        for client in [ann, agent] { try client.send(.with { $0.transcription.trackID = "TR_\(client.name)" }) }
        venue.run(for: .milliseconds(200))
        #expect(bob.messages.map(\.packet.transcription.trackID) == ["TR_agent"])
        #expect(bob.messages.map(\.packet.participantIdentity) == ["agent"])
    }

    @Test func `an agent writes for somebody else, which is told, and nobody else does`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let ann = try venue.join("ann")
        let agent = try venue.join("agent", claims: { $0.kind = "agent" })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        func write(_ client: TestClient, as name: String) throws {
            let values: [LiveKitDataPacket.OneOf_Value] = [
                .chatMessage(.with { $0.message = "chat" }),
                .streamHeader(.with { $0.textHeader.version = 1 }),
                .streamHeader(.with { $0.byteHeader.name = "file" }),
                .user(.with { $0.payload = Data([1]) }),
            ]
            for value in values {
                try client.send(
                    .with {
                        $0.value = value
                        $0.participantIdentity = name
                    })
            }
            venue.run(for: .milliseconds(200))
        }
        /// By whom the last four were, and which were marked.
        func told() -> [String] {
            bob.messages.suffix(4).map { message in
                let packet = message.packet
                let isMarked = packet.chatMessage.generated || packet.streamHeader.textHeader.generated
                return packet.participantIdentity + (isMarked ? " by \(packet.participantSid)" : "")
            }
        }
        try write(agent, as: "cat")
        #expect(told() == ["cat by \(agent.sid)", "cat by \(agent.sid)", "agent", "agent"])
        for name in ["", "agent"] {
            try write(agent, as: name)
            #expect(told() == ["agent", "agent", "agent", "agent"])
        }
        try write(ann, as: "cat")
        #expect(told() == ["ann", "ann", "ann", "ann"])
        #expect(bob.messages.count == 16)
    }

    @Test func `metrics go to those who may have them, and are not said again to those who come back`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", grants: { $0.canSubscribeMetrics = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        try ann.send(
            .with {
                $0.sequence = 1
                $0.metrics.timestampMs = 7
            })
        try ann.say("hello", sequence: 2)
        venue.run(for: .milliseconds(200))
        #expect(cat.messages.map(\.packet.metrics.timestampMs) == [7, 0])
        #expect(bob.heard == ["ann: hello"])
        venue.cut(bob)
        venue.resume(bob)
        venue.send(
            .syncState(.with { $0.datachannelReceiveStates = [.with { $0.publisherSid = ann.sid }] }), from: bob)
        venue.run(for: .milliseconds(500))
        #expect(bob.heard == ["ann: hello", "ann: hello"])
    }

    @Test func `who may not send data is not heard, and who is hidden has no name`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let mute = try venue.join("mute", grants: { $0.canPublishData = false })
        let ghost = try venue.join("ghost", grants: { $0.hidden = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        try mute.open("chat")
        venue.run(for: .milliseconds(200))
        try mute.say("hello")
        try mute.sendText("hello", "chat")
        try ghost.say("boo")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == [": boo"])
        #expect(bob.messages.first?.packet.participantSid == "")
    }

    @Test func `a reliable message that comes twice goes out once, and one without a number each time`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.say("five", sequence: 5)
        try ann.say("five again", sequence: 5)
        try ann.say("four", sequence: 4)
        try ann.say("none", sequence: 0)
        try ann.say("none", sequence: 0)
        try ann.say("six", sequence: 6)
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: five", "ann: none", "ann: none", "ann: six"])
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `what is said while somebody joins waits for the channel`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let ann = try venue.gather([("ann", .single)])[0]
        let bob = try venue.join("bob", mode)
        for number in 1...5 { try ann.say("\(number)") }
        try ann.say("gone", "_lossy")
        venue.run(for: .seconds(Int64(1)))
        #expect(bob.heard == (1...5).map { "ann: \($0)" })
    }

    @Test(arguments: [true, false])
    func `messages come while it changes who may subscribe`(_ mayAtFirst: Bool) throws {
        let venue = Venue()
        let ann = try venue.gather([("ann", .single)])[0]
        let bob = try venue.join("bob", .dual, grants: { $0.canSubscribe = mayAtFirst })
        if !mayAtFirst { try bob.offer() }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(500))
        for isAllowed in [!mayAtFirst, mayAtFirst] {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "bob"
                    $0.permission = .with {
                        $0.canSubscribe = isAllowed
                        $0.canPublish = true
                        $0.canPublishData = true
                    }
                }, at: venue.now)
            venue.drain()
            try ann.say(isAllowed ? "allowed" : "forbidden")
            venue.run(for: .milliseconds(300))
        }
        let said = ["ann: allowed", "ann: forbidden"]
        #expect(bob.heard == (mayAtFirst ? said.reversed() : said))
    }

    @Test func `a client is told how large a message may be, and one that is as large comes`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .dual)])
        let (ann, bob) = (clients[0], clients[1])
        for text in [ann.answers.first?.sdp, bob.answers.first?.sdp, bob.offers.first?.sdp] {
            let description = try SessionDescription(parsing: try #require(text))
            let section = try #require(description.media.first { $0.kind == "application" })
            #expect(section.first(SDP.MaxMessageSize.self)?.value == 65_536)
        }
        var packet = LiveKitDataPacket.with { $0.user.payload = Data(count: 65_000) }
        let envelope: [UInt8] = try packet.serializedBytes()
        packet.user.payload = Data(count: 65_000 + 65_536 - envelope.count)
        let largest: [UInt8] = try packet.serializedBytes()
        #expect(largest.count == 65_536)
        try ann.sendBytes(largest)
        #expect(throws: DataChannelError.messageTooLarge(limit: 65_536)) { try ann.sendBytes(largest + [0]) }
        // On a channel of the client's own naming there is no packet that takes room.
        try ann.open("notes")
        venue.run(for: .milliseconds(200))
        try ann.sendText(String(repeating: "x", count: 65_536), "notes")
        venue.run(for: .seconds(Int64(1)))
        #expect(bob.messages.map(\.packet.user.payload.count) == [packet.user.payload.count, 65_536])
    }

    @Test func `what is no packet, and what is too large, is dropped`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        // Below what they were told: so they do not go by that.
        venue.room.configuration.limits.dataMessageBytes = 2_000
        try ann.say(String(repeating: "x", count: 2_000))
        try ann.sendBytes([0xff, 0xff, 0xff])
        try ann.sendBytes([])
        try ann.say("small")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: small"])
    }

    @Test func `what is kept for those who were away is bounded`() {
        var log = MessageLog()
        var limits = RoomLimits()
        limits.replayMessages = 10
        limits.replayBytes = 1_000
        for number in 1...100 {
            let isNew = log.isNew(UInt32(number))
            #expect(isNew)
            log.keep(.init(sequence: UInt32(number), bytes: [UInt8](repeating: 0, count: 90), destinations: []), limits)
        }
        #expect(log.entries.map(\.sequence) == (91...100).map { UInt32($0) })
        log.keep(.init(sequence: 101, bytes: [UInt8](repeating: 0, count: 900), destinations: []), limits)
        #expect(log.entries.map(\.sequence) == [100, 101])
        let isOldNew = log.isNew(50)
        #expect(!isOldNew && log.lastSequence == 100)
    }
}
