import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct ResumeTests {
    @Test(arguments: [ConnectionMode.single, .dual])
    func `signaling comes back, paths are found anew, and no picture is missed`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let ann = try venue.join("ann", mode)
        let bob = try venue.join("bob", mode)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .milliseconds(500))
        _ = (ann.news(), bob.news())
        for number in 0..<120 {
            if number == 30 {
                venue.cut(ann)
                venue.cut(bob)
            }
            if number == 45 {
                venue.resume(ann)
                #expect(
                    ann.news().prefix(3) == [
                        "< reconnect 0", "< update ann active [camera], bob active", "< room_update ",
                    ])
                ann.forgetOffer()
                try ann.offer(iceRestart: true)
                venue.resume(bob)
                let lines = bob.news()
                #expect(
                    lines.prefix(3) == [
                        "< reconnect 0", "< update bob active, ann active [camera]", "< room_update ",
                    ])
                if mode == .dual {
                    let fragments = try bob.offers.suffix(2).map { offer in
                        try SessionDescription(parsing: offer.sdp).media[0].first(SDP.ICEUsernameFragment.self)?.value
                    }
                    #expect(fragments[0] != fragments[1], "the paths are to be new")
                    #expect(lines.last == "< offer #3 with camera" || lines.last == "< offer #2 with camera")
                } else {
                    bob.forgetOffer()
                    try bob.offer(iceRestart: true)
                }
            }
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("camera")) == (1...120).map { UInt8($0) })
        #expect(venue.room.participants.map(\.state) == [.active, .active])
        #expect(!(ann.lines + bob.lines).contains { $0.hasPrefix("!") })
        #expect(!(ann.lines + bob.lines).contains("< an update that is not newer"))
    }

    @Test func `a publisher that comes back is told what is wanted of its pictures, and everybody's quality`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        let sid = try #require(ann.track("camera")).sid
        func show(_ isDisabled: Bool) {
            venue.send(
                .trackSetting(
                    .with {
                        $0.trackSids = [sid]
                        $0.disabled = isDisabled
                        $0.quality = .high
                    }), from: bob)
        }
        show(false)
        show(true)
        venue.run(for: .seconds(Int64(6)))
        #expect(ann.lines.contains("< subscribed_quality camera "))
        venue.cut(ann)
        show(false)
        _ = ann.news()
        venue.resume(ann)
        #expect(ann.news().contains("< subscribed_quality camera low medium high"))
        venue.run(for: .seconds(Int64(6)))
        #expect(ann.news().contains("< quality ann excellent"))
    }

    @Test func `a client that was away hears of what the server has muted and taken from it`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        try ann.publish("camera", .video)
        venue.run(for: .milliseconds(100))
        let voice = TrackSID(rawValue: try #require(ann.track("voice")).sid)
        func back() -> [String] {
            _ = ann.news()
            venue.resume(ann)
            return ann.news().filter { $0.contains("mute ") || $0.contains("unpublished") }
        }
        venue.cut(ann)
        _ = try venue.room.muteTrack(voice, of: "ann", isMuted: true, at: venue.now)
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann"
                $0.permission.canSubscribe = true
                $0.permission.canPublish = true
                $0.permission.canPublishSources = [.microphone]
            }, at: venue.now)
        venue.drain()
        let missed = ["< mute voice true", "< track_unpublished camera"]
        #expect(back() == missed)
        // What the client has done itself since then stands.
        venue.send(
            .mute(
                .with {
                    $0.sid = voice.rawValue
                    $0.muted = false
                }), from: ann)
        #expect(back() == ["< track_unpublished camera"])
        for _ in 0..<12 {
            venue.run(for: .seconds(Int64(5)))
            venue.send(.ping(1), from: ann)
        }
        #expect(back().isEmpty)
    }

    @Test func `a client that was away hears of whose tracks it may have`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        venue.run(for: .seconds(Int64(20)))
        venue.send(.ping(1), from: bob)
        func back() -> [String] {
            _ = bob.news()
            venue.resume(bob)
            return bob.news().filter { $0.contains("subscription_permission") }
        }
        #expect(back().isEmpty)
        for isAllowed in [false, true] {
            venue.cut(bob)
            venue.send(.subscriptionPermission(.with { $0.allParticipants = isAllowed }), from: ann)
            #expect(back() == ["< subscription_permission ann camera \(isAllowed)"])
        }
    }

    @Test func `a client that was away hears of who speaks by now, and who does not any more`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        let cat = try venue.join("cat")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for client in [ann, cat] {
            try client.publish("voice-of-\(client.name)", .audio)
            #expect(venue.run { client.lines.contains("< track_subscribed voice-of-\(client.name)") })
        }
        var number = 0
        func speak(_ speaker: TestClient) throws {
            for _ in 0..<100 {
                for client in [ann, cat] {
                    try client.sound(number, "voice-of-\(client.name)", level: client === speaker ? 10 : 127)
                }
                number += 1
                venue.run(for: .milliseconds(20))
            }
        }
        try speak(ann)
        #expect(bob.lines.last { $0.hasPrefix("< speakers") } == "< speakers ann speaks")
        venue.cut(bob)
        try speak(cat)
        _ = bob.news()
        venue.resume(bob)
        #expect(bob.news().filter { $0.hasPrefix("< speakers") } == ["< speakers ann is silent, cat speaks"])
        // What it knows is not told again once it is long known.
        for _ in 0..<10 { try speak(cat) }
        venue.send(.ping(1), from: bob)
        venue.cut(bob)
        _ = bob.news()
        venue.resume(bob)
        #expect(!bob.news().contains { $0.hasPrefix("< speakers") })
        // Of whom it has nothing any more when it comes back, it hears no silence later.
        venue.cut(bob)
        venue.send(.subscriptionPermission(.init()), from: cat)
        _ = bob.news()
        venue.resume(bob)
        #expect(bob.news().filter { $0.hasPrefix("< speakers") } == ["< speakers cat is silent"])
    }

    @Test func `sections keep their names when the answer to an offer was lost with the connection`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        bob.isObedient = false
        try ann.publish("camera", .video)
        #expect(venue.run { bob.lines.contains("< offer #2 with camera") })
        // Twice, for coming back may fail as well.
        for isLast in [false, true] {
            venue.cut(bob)
            bob.isObedient = isLast
            venue.resume(bob)
        }
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        let names = try bob.offers.map { offer in
            try SessionDescription(parsing: offer.sdp).media.map { "\($0.kind) \($0.mid ?? "")" }
        }
        #expect(names.count == 5 && names[1].count == 2)
        // A client that had taken the second offer could take none in which they had others.
        for later in names.dropFirst(2) { #expect(later.starts(with: names[1])) }
        #expect(bob.offers[3].midToTrackID == bob.offers[1].midToTrackID)
        for number in 0..<30 {
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("camera")).last == 30)
        #expect(!bob.lines.contains { $0.hasPrefix("!") })
    }

    @Test func `there is no going on with a session that is not there`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        _ = bob.news()
        // Somebody else's session is not there either, nor is one's own with a token for something else.
        var other = ann.claims
        other.video?.roomJoin = false
        for (token, name, claims) in [
            ("bob", "bob", bob.claims), ("bob", "ann", bob.claims), ("ann", "ann", other),
            ("ann", "ann", AccessToken.Claims()),
        ] {
            let sid = ann.sid
            let signal = venue.room.resume(
                Arrival(
                    identity: name, tokenIdentity: token, claims: claims, mode: .single,
                    request: .with {
                        $0.reconnect = true
                        $0.participantSid = sid
                    }), at: venue.now)
            let outputs = venue.pollOutputs()
            guard case .signal(signal, let response)? = outputs.first, case .closeSignal(signal)? = outputs.last else {
                Issue.record("another answer: \(outputs)")
                continue
            }
            #expect(response == RoomMachine.staleSessionResponse)
            #expect(response.leave.reason == .stateMismatch && response.leave.action == .reconnect)
            #expect(response.leave.canReconnect)
        }
        #expect(venue.room.participants.count == 2)
    }

    @Test func `who loses signaling before media flow is gone, and afterwards has time to come back`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        venue.cut(bob)
        #expect(venue.room.participants.map(\.identity) == ["ann"])
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.cut(ann)
        venue.run(for: .seconds(Int64(20)))
        #expect(venue.room.participants.map(\.identity) == ["ann"], "its media flow")
        venue.run(for: .seconds(Int64(41)))
        #expect(venue.room.participants.isEmpty)
    }

    @Test func `who vanishes is told to come back, and is out when it does not`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.isLost = { client, _ in client === ann }
        venue.run(for: .seconds(Int64(9)))
        #expect(!ann.lines.contains { $0.hasPrefix("< leave") }, "a short gap is none")
        #expect(venue.run(atMost: .seconds(Int64(7))) { ann.lines.contains("< leave connectionTimeout resume") })
        #expect(venue.room.participants.map(\.identity) == ["ann", "bob"])
        venue.run(for: .seconds(Int64(6)))
        #expect(venue.room.participants.map(\.identity) == ["bob"])
        #expect(ann.lines.suffix(2) == ["< leave connectionTimeout reconnect", "< closed"])
        #expect(bob.lines.last == "< update ann disconnected" || bob.lines.contains("< update ann disconnected"))
    }

    /// Clients before protocol 13 take a `leave` for the end of their session.
    @Test func `a client that knows no actions is not told to come back, but comes since its signaling ends`() throws {
        let venue = Venue()
        let ann = try venue.join("ann") { _ in
        } claims: { _ in
        } request: { request in
            request.clientInfo.protocol = 12
        }
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.isLost = { client, _ in client === ann }
        #expect(venue.run(atMost: .seconds(Int64(16))) { ann.lines.last == "< closed" })
        #expect(!ann.lines.contains { $0.hasPrefix("< leave") })
        venue.isLost = { _, _ in false }
        venue.resume(ann)
        ann.forgetOffer()
        try ann.offer(iceRestart: true)
        venue.run(for: .seconds(Int64(10)))
        #expect(venue.room.participants.map(\.state) == [.active, .active])
        #expect(ann.signal != nil)
        #expect(!bob.lines.contains("< update ann disconnected"))
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who makes no checks while media flow stays, as Pion's clients`(mode: ConnectionMode) throws {
        let venue = Venue()
        venue.clientICE.consentInterval = .seconds(Int64(3_600))
        venue.clientICE.consentTimeout = .seconds(Int64(7_200))
        let (ann, bob) = (try venue.join("ann", mode), try venue.join("bob", mode))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        // Of two connections each has media one way, and reports the other.
        for client in [ann, bob] { try client.publish("voice", .audio) }
        venue.run(for: .milliseconds(500))
        var checks = 0
        venue.watch = { _, bytes in if STUNMessage.isBindingSuccess(bytes) { checks += 1 } }
        for number in 0..<3_500 {
            for client in [ann, bob] { try client.sound(number, "voice") }
            venue.run(for: .milliseconds(20))
        }
        #expect(checks == 0)
        #expect(venue.room.participants.map(\.state) == [.active, .active])
        for client in [ann, bob] { #expect(!client.lines.contains { $0.hasPrefix("< leave") }) }
        #expect(bob.numbers(of: ann.track("voice")).count > 3_400)
    }

    @Test func `what was said meanwhile is said again to those who come back`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .milliseconds(300))
        for number in 1...4 { try ann.say("\(number)", to: number == 3 ? ["cat"] : []) }
        venue.run(for: .milliseconds(200))
        venue.cut(bob)
        venue.resume(bob)
        venue.send(
            .syncState(
                .with {
                    $0.datachannelReceiveStates = [
                        .with {
                            $0.publisherSid = ann.sid
                            $0.lastSeq = 1
                        }
                    ]
                }), from: bob)
        venue.run(for: .milliseconds(200))
        #expect(bob.heard.suffix(2) == ["ann: 2", "ann: 4"])
        venue.cut(ann)
        venue.resume(ann)
        #expect(ann.lines.contains("< reconnect 4"), "the sender goes on after what has arrived")
    }

    @Test func `who comes back with a track that the room does not know begins anew`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        try ann.publish("camera", .video)
        #expect(venue.run { venue.room.participants.first?.tracks.count == 1 })
        let camera = try #require(ann.track("camera"))
        let track = try #require(venue.room.people.first?.tracks.first)
        func comeBack(with sids: [String]) {
            venue.cut(ann)
            venue.resume(ann)
            _ = ann.news()
            venue.send(
                .syncState(.with { $0.publishTracks = sids.map { sid in .with { $0.track.sid = sid } } }), from: ann)
        }
        comeBack(with: [camera.sid, ""])
        #expect(!ann.lines.contains { $0.hasPrefix("< leave") })
        // One that was taken away meanwhile it is told of.
        venue.room.withdraw(track, at: venue.now)
        comeBack(with: [camera.sid])
        #expect(!ann.lines.contains { $0.hasPrefix("< leave") })
        comeBack(with: ["TR_of_another_session"])
        #expect(ann.news().suffix(2) == ["< leave stateMismatch reconnect", "< closed"])
        #expect(venue.room.participants.isEmpty)
    }

    @Test func `who comes back without having asked for tracks does not get them`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        let sid = try #require(ann.track("camera")).sid
        venue.cut(bob)
        venue.resume(bob)
        venue.send(
            .syncState(
                .with {
                    $0.subscription.trackSids = [sid, "TR_gone"]
                    $0.subscription.subscribe = false
                }), from: bob)
        bob.forgetOffer()
        try bob.offer(iceRestart: true)
        venue.run(for: .milliseconds(500))
        #expect(bob.answers.last?.midToTrackID.isEmpty == true)
    }

    @Test func `who comes back in time has more of it to find new paths`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.isLost = { _, _ in true }
        #expect(venue.run(atMost: .seconds(Int64(60))) { ann.lines.contains("< leave connectionTimeout resume") })
        venue.run(for: .seconds(Int64(4)))
        venue.resume(ann)
        venue.run(for: .seconds(Int64(10)))
        venue.isLost = { _, _ in false }
        ann.forgetOffer()
        try ann.offer(iceRestart: true)
        venue.run(for: .seconds(Int64(10)))
        #expect(venue.room.participants.map(\.state) == [.active])
        #expect(ann.signal != nil)
    }

    @Test func `a client that asks for TCP is offered nothing else when it comes back`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        func transports() throws -> Set<Substring> {
            let media = try SessionDescription(parsing: try #require(ann.answers.last).sdp).media
            return Set(media.flatMap { $0.values(of: "candidate") }.map { $0.split(separator: " ")[2] })
        }
        #expect(try transports().count == 2)
        _ = ann.news()
        venue.send(.simulate(.with { $0.switchCandidateProtocol = .tcp }), from: ann)
        #expect(ann.news() == ["> simulate", "< leave unknownReason resume"])
        venue.cut(ann)
        venue.resume(ann)
        ann.forgetOffer()
        try ann.offer(iceRestart: true)
        #expect(try transports().map { $0.lowercased() } == ["tcp"])
        // Two when it came, and the one now.
        #expect(ann.trickled.map { $0.candidateInit.contains(" tcptype passive") }.suffix(1) == [true])
        #expect(ann.trickled.count == 3)
    }

    @Test func `clients can ask for the faults that they are to survive`() throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        func lines(after scenario: LiveKitSimulateScenario.OneOf_Scenario) throws -> [String] {
            let ann = try venue.join("ann")
            #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
            venue.run(for: .milliseconds(20))
            _ = ann.news()
            venue.send(.simulate(.with { $0.scenario = scenario }), from: ann)
            return ann.news()
        }
        #expect(
            try lines(after: .leaveRequestFullReconnect(true)) == [
                "> simulate", "< leave unknownReason reconnect", "< closed",
            ])
        #expect(
            try lines(after: .serverLeave(true)) == ["> simulate", "< leave serverShutdown disconnect", "< closed"])
        #expect(try lines(after: .nodeFailure(true)) == ["> simulate", "< closed"])
        #expect(try lines(after: .speakerUpdate(1)) == ["> simulate", "< speakers ann speaks"])
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.clients.last?.lines.contains("< speakers ann is silent") == true)
        let ann = try #require(venue.clients.last)
        _ = ann.news()
        for _ in 0..<100 { venue.send(.simulate(.with { $0.scenario = .speakerUpdate(1) }), from: ann) }
        #expect(ann.news().filter { $0.hasPrefix("<") } == ["< speakers ann speaks"])
        #expect(bob.lines.filter { $0 == "< update ann disconnected" }.count == 3)
    }

    @Test func `an attempt to come back fails as its client has asked, and the next one does not`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        func comeBack() -> [String] {
            venue.cut(ann)
            _ = ann.news()
            venue.resume(ann)
            return ann.news()
        }
        venue.send(.simulate(.with { $0.disconnectSignalOnResume = true }), from: ann)
        #expect(comeBack() == ["< reconnect 0", "< closed"])
        #expect(comeBack().first == "< reconnect 0")
        venue.send(.simulate(.with { $0.disconnectSignalOnResumeNoMessages = true }), from: ann)
        #expect(comeBack().isEmpty && ann.signal == nil, "the upgrade is refused")
        #expect(comeBack().first == "< reconnect 0")
        #expect(venue.room.participants.map(\.identity) == ["ann"])
    }
}
