import Foundation
import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct ServiceTests {
    static func gather(_ venue: Venue) throws -> (ann: TestClient, bob: TestClient) {
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual)
        try bob.offer()
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .milliseconds(300))
        _ = (ann.news(), bob.news())
        return (ann, bob)
    }

    @Test func `the room and its people are as they are`() throws {
        let venue = Venue { $0.metadata = "m" }
        let (ann, _) = try Self.gather(venue)
        let info = venue.room.info
        #expect(info.name == "lounge" && info.metadata == "m" && info.numParticipants == 2 && info.numPublishers == 1)
        #expect(info.emptyTimeout == 300 && info.departureTimeout == 20)
        #expect(venue.room.participants.map(\.identity) == ["ann", "bob"])
        let participant = try venue.room.participant("ann")
        #expect(participant.sid == ann.sid && participant.isPublisher)
        #expect(participant.tracks.map(\.name) == ["camera", "voice"])
        #expect(throws: RoomServiceError.noSuchParticipant) { try venue.room.participant("cat") }
    }

    @Test func `somebody is removed`() throws {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        #expect(ann.news() == ["< leave participantRemoved disconnect", "< closed"])
        #expect(bob.news().first == "< update ann disconnected")
        #expect(bob.others["ann"]?.disconnectReason == .participantRemoved)
        #expect(throws: RoomServiceError.noSuchParticipant) {
            try venue.room.removeParticipant("ann", at: venue.now)
        }
    }

    @Test func `with somebody goes whoever came beside them with their token, and nobody with those`() throws {
        let venue = Venue()
        let (ann, _) = try Self.gather(venue)
        for name in ["ann#screen", "ann#slides"] { try venue.join(name, with: "ann") }
        try venue.join("ann#else")
        func names() -> [String] { venue.room.participants.map(\.identity) }
        try venue.room.removeParticipant("ann#slides", at: venue.now)
        venue.drain()
        #expect(names() == ["ann", "bob", "ann#screen", "ann#else"])
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        #expect(ann.news().suffix(2) == ["< leave participantRemoved disconnect", "< closed"])
        #expect(names() == ["bob", "ann#else"])
        // Also when that one is gone.
        try venue.join("ann#screen", with: "ann")
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        #expect(names() == ["bob", "ann#else"])
    }

    @Test func `a track is muted for somebody, and switched on again only where the room allows it`() throws {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        let sid = TrackSID(rawValue: try #require(ann.track("camera")).sid)
        let info = try venue.room.muteTrack(sid, of: "ann", isMuted: true, at: venue.now)
        venue.drain()
        #expect(info?.muted == true)
        #expect(ann.news() == ["< mute camera true"])
        #expect(bob.news() == ["< update ann active [camera muted, voice]"])
        #expect(throws: RoomServiceError.remoteUnmuteDisabled) {
            try venue.room.muteTrack(sid, of: "ann", isMuted: false, at: venue.now)
        }
        // A client that has lost count is told again; but of a track that is on, as far as the server has heard, nobody
        // is told to switch it on: they may just have muted it.
        let voice = TrackSID(rawValue: try #require(ann.track("voice")).sid)
        _ = try venue.room.muteTrack(sid, of: "ann", isMuted: true, at: venue.now)
        _ = try venue.room.muteTrack(voice, of: "ann", isMuted: false, at: venue.now)
        venue.drain()
        #expect(ann.news() == ["< mute camera true"])
        let open = Venue { $0.allowsRemoteUnmute = true }
        let (cat, _) = try Self.gather(open)
        let camera = TrackSID(rawValue: try #require(cat.track("camera")).sid)
        _ = try open.room.muteTrack(camera, of: "ann", isMuted: true, at: open.now)
        _ = try open.room.muteTrack(camera, of: "ann", isMuted: false, at: open.now)
        open.drain()
        #expect(cat.news() == ["< mute camera true", "< mute camera false"])
    }

    @Test func `who cannot switch a track on itself has it done by who has muted it`() throws {
        let venue = Venue()
        try venue.open("obs", [OfferedSection(title: "camera", kind: .video)])
        #expect(venue.run { venue.room.participants.first?.tracks.isEmpty == false })
        let sid = TrackSID(rawValue: try #require(venue.room.participants.first?.tracks.first?.sid))
        #expect(try venue.room.muteTrack(sid, of: "obs", isMuted: true, at: venue.now)?.muted == true)
        #expect(try venue.room.muteTrack(sid, of: "obs", isMuted: false, at: venue.now)?.muted == false)
    }

    @Test func `a track that is gone is muted without anybody being told, and somebody who is gone is not found`()
        throws
    {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        let gone = TrackSID(rawValue: "TR_x")
        #expect(try venue.room.muteTrack(gone, of: "ann", isMuted: true, at: venue.now) == nil)
        venue.drain()
        #expect(ann.news().isEmpty && bob.news().isEmpty)
        #expect(throws: RoomServiceError.remoteUnmuteDisabled) {
            try venue.room.muteTrack(gone, of: "ann", isMuted: false, at: venue.now)
        }
        #expect(throws: RoomServiceError.noSuchParticipant) {
            try venue.room.muteTrack(gone, of: "cat", isMuted: true, at: venue.now)
        }
    }

    @Test func `names, metadata and attributes change, and everybody is told, the participant too`() throws {
        let venue = Venue { $0.limits.metadataBytes = 10 }
        let (ann, bob) = try Self.gather(venue)
        let info = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.name = "Ann"
                $0.metadata = "m"
                $0.attributes = ["a": "1", "b": "2"]
            }, at: venue.now)
        venue.drain()
        #expect(info.name == "Ann" && info.metadata == "m" && info.attributes == ["a": "1", "b": "2"])
        #expect(bob.others["ann"]?.attributes == ["a": "1", "b": "2"])
        #expect(ann.news() == ["< update ann active [camera, voice]"])
        let later = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.attributes = ["a": ""]
            }, at: venue.now)
        #expect(later.attributes == ["b": "2"] && later.name == "Ann")
        #expect(throws: RoomServiceError.metadataTooLong(limit: 10)) {
            try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.metadata = "elevenbytes"
                }, at: venue.now)
        }
    }

    @Test func `who may change what is said of it does, and who may not is refused`() throws {
        let venue = Venue { $0.limits.attributesBytes = 10 }
        let ann = try venue.join("ann", grants: { $0.canUpdateOwnMetadata = true })
        let bob = try venue.join("bob")
        let elder = try venue.join(
            "elder", grants: { $0.canUpdateOwnMetadata = true }, request: { $0.clientInfo.protocol = 14 })
        _ = (ann.news(), bob.news(), elder.news())
        func update(_ client: TestClient, _ attributes: [String: String]) -> [String] {
            venue.send(
                .updateMetadata(
                    .with {
                        $0.requestID = 4
                        $0.attributes = attributes
                    }), from: client)
            return client.news()
        }
        #expect(update(ann, ["a": "1"]) == ["> update_metadata", "< update ann joined", "< request_response ok"])
        #expect(bob.news() == ["< update ann joined"])
        #expect(update(ann, ["a": "eleven bytes"]) == ["> update_metadata", "< request_response limitExceeded"])
        #expect(update(bob, ["a": "1"]) == ["> update_metadata", "< request_response notAllowed"])
        guard case .requestResponse(let response)? = bob.responses.last else {
            Issue.record("no response")
            return
        }
        #expect(response.requestID == 4)
        _ = elder.news()
        // It knows of refusals alone.
        #expect(update(elder, ["a": "1"]) == ["> update_metadata", "< update elder joined"])
    }

    @Test func `subscriptions are changed for somebody`() throws {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        let sid = try #require(ann.track("camera")).sid
        func update(_ names: [String], _ isWanted: Bool) throws {
            try venue.room.updateSubscriptions(
                .with {
                    $0.identity = "bob"
                    $0.trackSids = names
                    $0.subscribe = isWanted
                }, at: venue.now)
            venue.drain()
            venue.run(for: .milliseconds(200))
        }
        try update([sid], false)
        #expect(bob.offers.last.map { Set($0.midToTrackID.values) } == [ann.track("voice")?.sid ?? ""])
        try update([sid], true)
        #expect(bob.offers.last?.midToTrackID.count == 2)
        // What is not there is passed over.
        _ = bob.news()
        try update(["TR_x", sid], false)
        #expect(bob.offers.last.map { Set($0.midToTrackID.values) } == [ann.track("voice")?.sid ?? ""])
        try update(["TR_x"], true)
        #expect(!bob.news().contains { $0.hasPrefix("< subscription_response") })
    }

    @Test func `data come from nobody, to all or to some`() throws {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        func send(_ text: String, _ change: (inout LiveKitSendDataRequest) -> Void = { _ in }) throws {
            try venue.room.sendData(
                .with {
                    $0.data = Data(text.utf8)
                    change(&$0)
                }, at: venue.now)
            venue.drain()
            venue.run(for: .milliseconds(100))
        }
        try send("all") { $0.topic = "t" }
        try send("ann") { $0.destinationIdentities = ["ann"] }
        try send("bob") {
            $0.destinationSids = [bob.sid]
            $0.kind = .lossy
        }
        #expect(ann.heard == [": all", ": ann"])
        #expect(bob.heard == [": all", ": bob"])
        #expect(bob.messages.map(\.label) == ["_reliable", "_lossy"])
        #expect(bob.messages.first?.packet.user.topic == "t")
        #expect(throws: RoomServiceError.dataTooLong(limit: 64 << 10)) {
            try send(String(repeating: "x", count: (64 << 10) + 1))
        }
    }

    @Test func `what a service sends again under the same number is sent once`() throws {
        let venue = Venue()
        let (ann, _) = try Self.gather(venue)
        for (text, nonce) in [("one", 1), ("one", 1), ("two", 2), ("one", 1)] as [(String, UInt8)] {
            try venue.room.sendData(
                .with {
                    $0.data = Data(text.utf8)
                    $0.nonce = Data(repeating: nonce, count: 16)
                }, at: venue.now)
        }
        for _ in 0..<2 { try venue.room.sendData(.with { $0.data = Data("three".utf8) }, at: venue.now) }
        #expect(throws: RoomServiceError.badNonce(length: 16)) {
            try venue.room.sendData(.with { $0.nonce = Data([1]) }, at: venue.now)
        }
        venue.drain()
        venue.run(for: .milliseconds(100))
        #expect(ann.heard == [": one", ": two", ": three", ": three"])
    }

    @Test func `so many numbers of services are remembered`() {
        var nonces = Nonces()
        func isNew(_ number: Int) -> Bool {
            nonces.isNew(Data((0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }))
        }
        for number in 0..<Nonces.maximum * 2 { #expect(isNew(number)) }
        #expect(!isNew(Nonces.maximum * 2 - 1) && !isNew(Nonces.maximum))
        #expect(isNew(Nonces.maximum - 1))
        #expect(isNew(Nonces.maximum), "the one before took its place")
    }

    @Test func `a participant is called, and answers, or does not`() throws {
        let venue = Venue { $0.limits.pendingCalls = 3 }
        let (ann, bob) = try Self.gather(venue)
        func call(_ identity: String = "ann", timeout: UInt32 = 0) throws -> RPCCallID {
            let id = try venue.room.performRPC(
                .with {
                    $0.destinationIdentity = identity
                    $0.method = "greet"
                    $0.payload = "hello"
                    $0.responseTimeoutMs = timeout
                }, at: venue.now)
            venue.drain()
            venue.run(for: .milliseconds(100))
            return id
        }
        let first = try call()
        guard case .rpcRequest(let request)? = ann.messages.last?.packet.value else {
            Issue.record("no call")
            return
        }
        #expect(request.method == "greet" && request.payload == "hello" && request.version == 1)
        #expect(ann.messages.last?.packet.participantIdentity == request.id, "the answer goes there")
        try bob.send(
            .with {
                $0.rpcResponse = .with {
                    $0.requestID = request.id; $0.payload = "forged"
                }
            })
        try ann.send(.with { $0.rpcAck.requestID = request.id })
        try ann.send(
            .with {
                $0.rpcResponse = .with {
                    $0.requestID = request.id; $0.payload = "hi"
                }
            })
        venue.run(for: .milliseconds(200))
        #expect(venue.outcomes[first] == .payload("hi"))
        #expect(bob.messages.isEmpty, "the answer is for nobody else")

        let unheard = try call()
        venue.run(for: .seconds(Int64(8)))
        #expect(venue.outcomes[unheard] == .error(code: 1_501, message: "Connection timeout", data: ""))

        let unanswered = try call(timeout: 3_000)
        guard case .rpcRequest(let second)? = ann.messages.last?.packet.value else {
            Issue.record("no call")
            return
        }
        try ann.send(.with { $0.rpcAck.requestID = second.id })
        venue.run(for: .seconds(Int64(4)))
        #expect(venue.outcomes[unanswered] == .error(code: 1_502, message: "Response timeout", data: ""))
        try ann.send(
            .with {
                $0.destinationIdentities = [second.id]
                $0.rpcResponse.requestID = second.id
            })
        venue.run(for: .milliseconds(200))
        #expect(bob.messages.isEmpty, "an answer that comes too late is for nobody")

        #expect(throws: RoomServiceError.noSuchParticipant) { try call("cat") }
        let pending = try (0..<3).map { _ in try call() }
        #expect(throws: RoomServiceError.tooManyCalls(limit: 3)) { try call() }
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        for id in pending {
            #expect(venue.outcomes[id] == .error(code: 1_503, message: "Recipient disconnected", data: ""))
        }
    }

    @Test func `who comes without messages cannot be called, and whoever calls hears so at once`() throws {
        let venue = Venue()
        try venue.open("obs", [OfferedSection(title: "camera", kind: .video)])
        #expect(venue.run { venue.room.participants.first?.tracks.isEmpty == false })
        let call = try venue.room.performRPC(
            .with {
                $0.destinationIdentity = "obs"
                $0.method = "greet"
            }, at: venue.now)
        venue.drain()
        #expect(venue.outcomes[call] == .error(code: 1_505, message: "Failed to send", data: ""))
        #expect(venue.room.calls.isEmpty)
    }

    @Test func `whoever calls with more than a call may carry hears so at once`() throws {
        let venue = Venue()
        try venue.join("ann")
        func call(_ bytes: Int) throws -> RPCOutcome? {
            let id = try venue.room.performRPC(
                .with {
                    $0.destinationIdentity = "ann"
                    $0.payload = String(repeating: "x", count: bytes)
                }, at: venue.now)
            venue.drain()
            return venue.outcomes[id]
        }
        #expect(try call(15 << 10) == nil)
        #expect(try call((15 << 10) + 1) == .error(code: 1_402, message: "Request payload too large", data: ""))
    }

    @Test func `the room's metadata change, and everybody is told`() throws {
        let venue = Venue { $0.limits.metadataBytes = 10 }
        let (ann, bob) = try Self.gather(venue)
        #expect(try venue.room.updateMetadata("new").metadata == "new")
        venue.drain()
        #expect(ann.news() == ["< room_update new"] && bob.news() == ["< room_update new"])
        #expect(throws: RoomServiceError.metadataTooLong(limit: 10)) {
            try venue.room.updateMetadata("elevenbytes")
        }
    }
}
