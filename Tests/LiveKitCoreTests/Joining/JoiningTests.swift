import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct JoiningTests {
    @Test func `a client of one connection offers with its request, and is answered after the join response`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(ann.news() == ["< join ann", "< answer"])
        #expect(venue.run { venue.room.participants.first?.state == .active })
        let bob = try venue.join("bob")
        #expect(bob.news() == ["< join bob (ann active)", "< answer"])
        #expect(ann.news() == ["< update bob joined"])
        #expect(venue.run { bob.states[0] == .connected })
        venue.run(for: .milliseconds(10))
        // How many there are now is told to all, and not again for a while.
        #expect(ann.news() == ["< room_update ", "< update bob active"])
        #expect(bob.news() == ["< room_update "])
        func counts(_ client: TestClient) -> [UInt32] {
            client.responses.compactMap {
                if case .roomUpdate(let update) = $0 { update.room.numParticipants } else { nil }
            }
        }
        #expect(counts(ann) == [2] && counts(bob) == [2])
        _ = try venue.join("cat")
        venue.run(for: .seconds(4))
        #expect(counts(ann) == [2])
        venue.run(for: .seconds(2))
        #expect(counts(ann) == [2, 3])
    }

    @Test func `a client of two connections gets an offer at once, with nothing but data in it`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", .dual)
        #expect(ann.news() == ["< join ann", "< offer #1"])
        let join = try #require(ann.join)
        #expect(join.subscriberPrimary && join.fastPublish)
        let offer = try SessionDescription(parsing: try #require(ann.offers.first).sdp)
        #expect(offer.media.map(\.kind) == ["application"])
        #expect(venue.run { venue.room.participants.first?.state == .active })
        #expect(ann.news() == ["> answer #1"])
        #expect(!ann.hasOffered)
    }

    @Test func `who may not subscribe has a publishing connection that says whether it is connected`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", .dual, grants: { $0.canSubscribe = false })
        #expect(ann.news() == ["< join ann"])
        #expect(try #require(ann.join).subscriberPrimary == false)
        try ann.offer()
        #expect(ann.news() == ["> offer", "< answer"])
        #expect(venue.run { venue.room.participants.first?.state == .active })
    }

    @Test func `the join response has what clients fail without`() throws {
        let venue = Venue { $0.server.iceServers = [.with { $0.urls = ["turn:203.0.113.9:3478"] }] }
        let ann = try venue.join(
            "ann",
            claims: {
                $0.name = "Ann"
                $0.metadata = "m"
                $0.attributes = ["a": "b"]
            })
        let join = try #require(ann.join)
        #expect(join.room.sid.hasPrefix("RM_") && join.room.name == "lounge")
        #expect(join.participant.sid.hasPrefix("PA_"))
        #expect(join.participant.identity == "ann" && join.participant.name == "Ann")
        #expect(join.participant.metadata == "m" && join.participant.attributes == ["a": "b"])
        #expect(join.participant.clientProtocol == 2)
        #expect(join.participant.joinedAt == Venue.start + 1)
        #expect(join.participant.permission.canPublish && join.participant.permission.canSubscribe)
        #expect(join.pingInterval == 5 && join.pingTimeout == 15)
        #expect(join.serverInfo.version == "1.13.5" && join.serverVersion == "1.13.5")
        #expect(join.iceServers.first?.urls == ["turn:203.0.113.9:3478"])
        let codecs = join.enabledPublishCodecs.map(\.mime)
        #expect(
            codecs.first == "video/VP8" && codecs.suffix(4) == ["audio/opus", "audio/red", "audio/PCMU", "audio/PCMA"])
        #expect(join.room.enabledCodecs.map(\.mime) == codecs)
        #expect(!join.sifTrailer.isEmpty)
    }

    @Test func `a server that is told to ping never does so every zero seconds`() throws {
        let venue = Venue { $0.server.pingInterval = 0 }
        #expect(try #require(try venue.join("ann").join).pingInterval == 1)
    }

    @Test func `Python's first offer is answered with layers' names on its spare sections, or it could never send any`()
        throws
    {
        let venue = Venue()
        let python = try venue.join(
            "python",
            request: { $0.publisherOffer.sdp = (try? Vectors.text("sdp/py120_single_join_offer.sdp")) ?? "" })
        // The client's own machine knows nothing of that offer.
        #expect(python.lines.first == "< join python")
        let answer = try SessionDescription(parsing: try #require(python.answers.first).sdp)
        #expect(answer.media.map(\.kind) == ["audio", "audio", "audio", "video", "video", "video", "application"])
        for section in answer.media where section.kind == "video" {
            let uris = Set(section.all(SDP.ExtensionMap.self).map(\.uri))
            #expect(!section.isRejected && section.direction == .inactive)
            #expect(uris.contains(HeaderExtensionURI.mid))
            #expect(uris.contains(HeaderExtensionURI.rid))
            #expect(uris.contains(HeaderExtensionURI.repairedRID))
            #expect(uris.contains(HeaderExtensionURI.transportSequence))
        }
        #expect(answer.has(.iceLite))
        let candidates = answer.media.flatMap { $0.values(of: "candidate") }
        #expect(candidates.contains { $0.contains("198.51.100.1 7882 typ host") })
    }

    @Test func `the same identity again throws the old one out, and is told of as if it were the same session`() throws
    {
        let venue = Venue()
        let bob = try venue.join("bob")
        // It does not know that a session may come in another's place.
        let elder = try venue.join("elder", request: { $0.clientInfo.protocol = 11 })
        let old = try venue.join("ann")
        #expect(venue.run { old.states[0] == .connected })
        _ = (old.news(), bob.news(), elder.news())
        let new = try venue.join("ann")
        #expect(old.news() == ["< leave duplicateIdentity disconnect", "< closed"])
        #expect(bob.news() == ["< update ann joined"])
        #expect(elder.news() == ["< update ann disconnected", "< update ann joined"])
        #expect(new.sid != old.sid)
        #expect(venue.room.participants.map(\.identity) == ["bob", "elder", "ann"])
        #expect(bob.others["ann"]?.sid == new.sid && elder.others["ann"]?.sid == new.sid)
        // Of one whom nobody sees nobody is told in its place.
        try venue.join("ann", grants: { $0.hidden = true })
        #expect(bob.news() == ["< update ann disconnected"])
    }

    @Test func `who comes beside another takes nobody's place whom a token names`() throws {
        let venue = Venue()
        let lead = try venue.join("team#lead")
        #expect(throws: JoinRefusal.notAllowed) { try venue.join("team#lead", with: "team") }
        #expect(lead.signal != nil)
        let old = try venue.join("team#screen", with: "team")
        try venue.join("team#screen", with: "team")
        #expect(old.lines.suffix(2) == ["< leave duplicateIdentity disconnect", "< closed"])
        try venue.join("team#screen")
        #expect(venue.room.participants.map(\.identity) == ["team#lead", "team#screen"])
        #expect(venue.room.people.map(\.tokenIdentity) == ["team#lead", "team#screen"])
    }

    @Test func `so many come beside somebody with one token, and no more`() throws {
        let venue = Venue { $0.limits.besideOne = 2 }
        for name in ["ann", "ann#one", "ann#two"] { try venue.join(name, with: "ann") }
        #expect(throws: JoinRefusal.tooManyBeside(limit: 2)) { try venue.join("ann#three", with: "ann") }
        // In the place of one that is there, with another token, and the bearer.
        for (name, token) in [("ann#two", "ann"), ("bob#one", "bob"), ("ann", "ann")] {
            try venue.join(name, with: token)
        }
        #expect(venue.room.participants.map(\.identity) == ["ann#one", "ann#two", "bob#one", "ann"])
    }

    @Test func `who may not come in is told why, and nothing has changed`() throws {
        let venue = Venue {
            $0.maximumParticipants = 1
            $0.limits.metadataBytes = 10
            $0.limits.attributesBytes = 10
        }
        func refusal(
            _ name: String = "bob", grants: (inout VideoGrants) -> Void = { _ in },
            claims: (inout AccessToken.Claims) -> Void = { _ in },
            request: (inout LiveKitJoinRequest) -> Void = { _ in }
        ) -> JoinRefusal? {
            do {
                try venue.join(name, grants: grants, claims: claims, request: request)
                return nil
            } catch {
                return error as? JoinRefusal
            }
        }
        #expect(refusal(grants: { $0.roomJoin = false }) == .notAllowed)
        #expect(refusal(claims: { $0.video = nil }) == .notAllowed)
        #expect(refusal("") == .noIdentity)
        #expect(refusal(String(repeating: "x", count: 257)) == .nameTooLong(limit: 256))
        #expect(refusal(claims: { $0.name = String(repeating: "x", count: 257) }) == .nameTooLong(limit: 256))
        #expect(refusal(claims: { $0.metadata = "elevenbytes" }) == .metadataTooLong(limit: 10))
        #expect(refusal(claims: { $0.attributes = ["eleven": "bytes"] }) == .attributesTooLong(limit: 10))
        for text in ["", "v=0", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"]
        {
            guard case .badOffer? = refusal(request: { $0.publisherOffer.sdp = text }) else {
                Issue.record("an offer that cannot be answered was taken: \(text)")
                continue
            }
        }
        #expect(venue.room.participants.isEmpty && venue.webhooks.map(\.event) == ["room_started"])
        try venue.join("ann")
        #expect(refusal() == .roomFull(limit: 1))
        #expect(refusal(grants: { $0.hidden = true }) == .roomFull(limit: 1), "who is not seen counts, too")
        #expect(refusal("ann") == nil, "the same person takes its own place")
        venue.room.end(.roomEndApiDelete, at: venue.now)
        #expect(refusal("cat") == .roomEnded)
    }

    @Test func `metadata and attributes of the request count where the token allows them`() throws {
        let venue = Venue()
        func join(_ name: String, _ mayUpdate: Bool) throws -> LiveKitParticipantInfo {
            let client = try venue.join(
                name, grants: { $0.canUpdateOwnMetadata = mayUpdate },
                claims: {
                    $0.metadata = "token"
                    $0.attributes = ["a": "token", "b": "token"]
                },
                request: {
                    $0.metadata = "request"
                    $0.participantAttributes = ["a": "request", "b": ""]
                })
            return try #require(client.join).participant
        }
        let ann = try join("ann", true)
        #expect(ann.metadata == "request" && ann.attributes == ["a": "request", "b": "token"])
        let bob = try join("bob", false)
        #expect(bob.metadata == "token" && bob.attributes == ["a": "token", "b": "token"])
    }

    @Test func `nobody is told of somebody who is hidden`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let ghost = try venue.join("ghost", grants: { $0.hidden = true })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let bob = try venue.join("bob")
        #expect(bob.lines.first == "< join bob (ann active)")
        #expect(ghost.lines.contains("< update bob joined"))
        #expect(!ann.lines.contains { $0.contains("ghost") })
        #expect(venue.room.participants.count == 3)
        venue.send(.leave(.init()), from: ghost)
        #expect(!ann.lines.contains { $0.contains("ghost") })
    }

    @Test func `who is hidden counts among participants and publishers, and hiding somebody changes neither`() throws {
        let venue = Venue()
        try venue.join("ann")
        let ghost = try venue.join("ghost", grants: { $0.hidden = true })
        try ghost.publish("voice", .audio)
        #expect(venue.run { venue.room.participants.last?.isPublisher == true })
        #expect(venue.room.info.numParticipants == 2 && venue.room.info.numPublishers == 1)
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.permission = .with {
                    $0.canSubscribe = true
                    $0.hidden = true
                }
            }, at: venue.now)
        #expect(venue.room.info.numParticipants == 2 && venue.room.info.numPublishers == 1)
    }

    @Test func `who is not connected within a minute has failed to join`() throws {
        let venue = Venue()
        venue.isLost = { _, _ in true }
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual)
        venue.run(for: .seconds(Int64(59)))
        #expect(venue.room.participants.count == 2)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.room.participants.isEmpty)
        #expect(ann.lines.suffix(2) == ["< leave joinFailure reconnect", "< closed"])
        #expect(bob.lines.suffix(2) == ["< leave joinFailure reconnect", "< closed"])
        #expect(
            venue.webhooks.map(\.event).suffix(2) == [
                "participant_connection_aborted", "participant_connection_aborted",
            ])
    }

    @Test func `in a large room those who publish nothing are told of together, and those who publish at once`() throws
    {
        let venue = Venue()
        let first = try venue.join("first")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        venue.isLost = { client, _ in client !== first }
        for number in 0..<60 { try venue.join("\(number)", .dual) }
        venue.run(for: .milliseconds(600))
        let told = first.news().filter { $0.hasPrefix("< update") }
        #expect(told.count == RoomMachine.maximumAudience)
        #expect(told.last?.split(separator: ",").count == 60 - RoomMachine.maximumAudience + 1)
        #expect(first.others.count == 60)
        try first.publish("camera", .video)
        #expect(venue["59"]?.lines.contains("< update first active [camera]") == true)
        let second = try #require(venue["0"])
        venue.send(.leave(.init()), from: second)
        #expect(!first.lines.contains("< update 0 disconnected"))
        venue.run(for: .milliseconds(600))
        #expect(first.lines.contains("< update 0 disconnected"))
    }

    @Test func `who joins again in a large room is not told to be gone afterwards`() throws {
        let venue = Venue()
        let first = try venue.join("first", request: { $0.clientInfo.protocol = 11 })
        let second = try venue.join("second")
        venue.isLost = { client, _ in client !== first }
        for number in 0..<RoomMachine.maximumAudience { try venue.join("\(number)", .dual) }
        let former = [try venue.join("ann"), try venue.join("bob")]
        venue.run(for: .milliseconds(600))
        _ = (first.news(), second.news())
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        try ann.publish("camera", .video)
        venue.findPath(of: ann)
        func updates(_ client: TestClient) -> [String] { client.news().filter { $0.hasPrefix("< update") } }
        #expect(updates(first) == ["< update ann disconnected, ann active [camera]"])
        #expect(updates(second) == ["< update ann active [camera]"])
        venue.run(for: .milliseconds(600))
        #expect(updates(first) == ["< update bob disconnected, bob joined"])
        #expect(updates(second) == ["< update bob joined"])
        for (client, old) in zip([ann, bob], former) {
            #expect(client.sid != old.sid && first.others[client.name]?.sid == client.sid)
            #expect(!client.lines.contains { $0.contains("\(client.name) disconnected") }, "it is there")
        }
        // Who comes in a place and goes again before it was told leaves nobody there, whatever was published before.
        for name in ["bob", "ann"] {
            venue.send(.leave(.init()), from: try venue.join(name))
            venue.run(for: .milliseconds(600))
            #expect(updates(second) == ["< update \(name) disconnected, \(name) disconnected"])
        }
    }

    @Test func `pings are answered, each in its form`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        _ = ann.news()
        venue.send(.ping(5), from: ann)
        venue.send(.pingReq(.with { $0.timestamp = 77 }), from: ann)
        #expect(ann.news() == ["< pong", "< pong_resp 77"])
        guard case .pong(let time)? = ann.responses.dropLast().last else {
            Issue.record("no pong")
            return
        }
        #expect(time == (Venue.start + 1) * 1_000)
    }
}
