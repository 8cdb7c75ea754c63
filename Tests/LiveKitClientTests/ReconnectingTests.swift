import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct ReconnectingTests {
    private static let reconnect = LiveKitSignalResponse.OneOf_Message.reconnect(.init())

    @Test func `the session goes on when signaling is lost, and media with it`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.publish()
        _ = dialogue.said()
        #expect(dialogue.signalLost() == ["* reconnecting", "! open /rtc reconnect=1 sid=PA_me"])
        // What is asked for meanwhile is not lost.
        dialogue.machine.setMuted(LocalTrackID(rawValue: 1), true)
        #expect(dialogue.said().isEmpty)
        #expect(
            dialogue.server(Self.reconnect)
                == ["> sync_state", "! offer #2 restart", "> mute TR_mine", "* reconnected"])
    }

    @Test func `what comes before the session goes on is told when it does, but for another session`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        _ = dialogue.signalLost()
        #expect(dialogue.server(Dialogue.update(Dialogue.info("bob"))).isEmpty)
        #expect(dialogue.server(.pong(0)).isEmpty)
        #expect(dialogue.server(Self.reconnect) == ["> sync_state", "* reconnected", "* connected bob"])
        _ = dialogue.pass(.seconds(Int64(11)))
        #expect(dialogue.signalLost().contains("! open /rtc reconnect=1 sid=PA_me"))
        #expect(dialogue.server(Dialogue.join()).contains("! close"))
    }

    @Test func `what is told before the session goes on, and once only, is not lost`() {
        let dialogue = Dialogue.connected()
        let request = dialogue.request()
        dialogue.machine.publish(
            LocalTrackID(rawValue: 1), .vp8, TrackPublishOptions(name: "film", source: .camera), request: request)
        _ = dialogue.media(.trackAdded(LocalTrackID(rawValue: 1), cid: "c1"))
        _ = dialogue.signalLost()
        _ = dialogue.signalOpened()
        #expect(
            dialogue.server(
                .trackPublished(
                    .with {
                        $0.cid = "c1"
                        $0.track = Dialogue.track("TR_mine", "film")
                    })
            ).isEmpty)
        #expect(dialogue.server(Self.reconnect).contains("= \(request.rawValue) TR_mine"))
    }

    @Test func `an answer to an offer of the connection that was lost is not taken for one to the next`() {
        let dialogue = Dialogue.connected()
        dialogue.publish()
        _ = dialogue.signalLost()
        #expect(dialogue.server(.answer(.with { $0.sdp = "late" })).isEmpty)
        let lines = dialogue.server(Self.reconnect)
        #expect(lines.contains { $0.contains("offer") } && !lines.contains { $0.contains("answer") })
    }

    @Test func `what a connection told that was lost again is not told on the next`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        _ = dialogue.signalLost()
        #expect(dialogue.server(Dialogue.update(Dialogue.info("bob"))).isEmpty)
        _ = dialogue.signalLost()
        _ = dialogue.pass(.seconds(Int64(11)))
        #expect(!dialogue.server(Self.reconnect).contains("* connected bob"))
    }

    @Test func `who may subscribe is said once when the session goes on, and once in a new one`() {
        let dialogue = Dialogue.connected()
        _ = dialogue.signalLost()
        dialogue.machine.setTrackPermissions(allowing: ["ann"])
        #expect(dialogue.said().isEmpty)
        #expect(dialogue.server(Self.reconnect) == ["> sync_state", "> subscription_permission", "* reconnected"])
        _ = dialogue.pass(.seconds(Int64(11)))
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        dialogue.machine.setTrackPermissions(allowing: nil)
        let lines = dialogue.server(Dialogue.join(sid: "PA_again"))
        #expect(lines == ["! media", "> subscription_permission"])
    }

    @Test func `new credentials for relays are used by the restart`() {
        let dialogue = Dialogue.connected()
        dialogue.publish()
        _ = dialogue.signalLost()
        let lines = dialogue.server(
            .reconnect(
                .with {
                    $0.iceServers = [
                        .with {
                            $0.urls = ["turn:192.0.2.1"]
                            $0.username = "later"
                        }
                    ]
                }))
        #expect(
            lines.prefix(3) == ["! servers [\"turn:192.0.2.1\"] of [\"later\"]", "> sync_state", "! offer #2 restart"])
    }

    @Test func `who has published nothing restarts nothing`() {
        let dialogue = Dialogue.connected()
        _ = dialogue.signalLost()
        #expect(dialogue.server(Self.reconnect) == ["> sync_state", "* reconnected"])
    }

    @Test func `the server is told what we have`() throws {
        let dialogue = Dialogue.connected([
            Dialogue.info("ann", tracks: [Dialogue.track("TR_1", "a"), Dialogue.track("TR_2", "b")])
        ])
        dialogue.publish()
        dialogue.machine.setSubscribed(false, to: TrackSID("TR_2"))
        dialogue.machine.setQuality(TrackSID("TR_1"), nil)
        // Of these the server has not told.
        dialogue.machine.setSubscribed(false, to: TrackSID("TR_8"))
        dialogue.machine.setQuality(TrackSID("TR_9"), nil)
        _ = dialogue.server(
            .offer(
                .with {
                    $0.id = 1
                    $0.sdp = "their offer"
                }))
        _ = dialogue.media(.answerMade(id: 1, sdp: "our answer"))
        _ = dialogue.media(.channelOpen(.tracks, id: 5))
        _ = dialogue.media(.channelReceived(.lossy, id: 3))
        _ = dialogue.media(.channelReceived(.lossy, id: 7))
        _ = dialogue.hears(from: "ann", sequence: 9) { $0.user = .init() }
        _ = dialogue.signalLost()
        _ = dialogue.server(Self.reconnect)
        let state = try #require(
            dialogue.requests.compactMap { if case .syncState(let state) = $0 { state } else { nil } }.last)
        #expect(state.answer.sdp == "our answer" && state.offer.sdp == "their offer")
        #expect(state.offer.type == "offer")
        #expect(state.subscription.trackSids == ["TR_2"] && !state.subscription.subscribe)
        #expect(state.trackSidsDisabled == ["TR_1"])
        #expect(state.publishTracks.map(\.cid) == ["c1"])
        #expect(state.datachannelReceiveStates.map(\.publisherSid) == ["PA_ann"])
        #expect(state.datachannelReceiveStates.map(\.lastSeq) == [9])
        #expect(state.dataChannels.map(\.label) == ["_reliable", "_lossy", "_data_track", "_lossy"])
        #expect(state.dataChannels.map(\.id) == [0, 2, 5, 7])
        #expect(state.dataChannels.map(\.target) == [.publisher, .publisher, .publisher, .subscriber])
    }

    @Test func `reliable messages that the server has not got are sent again`() throws {
        let dialogue = Dialogue.connected()
        for text in ["a", "b", "c"] {
            try dialogue.machine.sendData(
                Array(text.utf8), isReliable: true, to: [], topic: nil, at: dialogue.now)
        }
        _ = dialogue.said()
        _ = dialogue.signalLost()
        let lines = dialogue.server(.reconnect(.with { $0.lastMessageSeq = 1 }))
        #expect(lines.filter { $0.contains("_reliable") } == ["> _reliable \"b\"", "> _reliable \"c\""])
        #expect(dialogue.packets.suffix(2).map(\.sequence) == [2, 3])
    }

    @Test func `messages wait for a new session, which makes a channel for them`() throws {
        let dialogue = Dialogue.connected()
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        try dialogue.machine.sendData(Array("a".utf8), isReliable: true, to: [], topic: nil, at: dialogue.now)
        #expect(dialogue.said().isEmpty)
        #expect(dialogue.server(Dialogue.join(sid: "PA_again")) == ["! media", "! offer #1"])
        #expect(dialogue.media(.channelOpen(.reliable)) == ["> _reliable \"a\""])
    }

    @Test func `messages that wait for a new session go with the room, and are not said in the next one`() throws {
        let dialogue = Dialogue.connected()
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        try dialogue.machine.sendData(Array("a".utf8), isReliable: true, to: [], topic: nil, at: dialogue.now)
        dialogue.machine.leave()
        _ = dialogue.said()
        dialogue.machine.connect(token: "another", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.join()) == ["! media"])
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        #expect(dialogue.media(.channelOpen(.reliable)).isEmpty)
        try dialogue.machine.sendData(Array("b".utf8), isReliable: true, to: [], topic: nil, at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable \"b\"", "! offer #1"])
        #expect(dialogue.packets.map(\.sequence) == [1])
    }

    @Test func `a session that the server does not know is begun anew, with all that we publish`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann"), Dialogue.info("bob")])
        dialogue.publish()
        _ = dialogue.said()
        _ = dialogue.signalLost()
        let refused = dialogue.server(
            .leave(
                .with {
                    $0.reason = .stateMismatch
                    $0.action = .reconnect
                }))
        #expect(refused == ["! close"])
        #expect(dialogue.pass(.milliseconds(300)) == ["! no media", "! open /rtc"])
        let joined = dialogue.server(Dialogue.join([Dialogue.info("ann")], sid: "PA_again"))
        #expect(joined == ["! media", "* disconnected bob", "! add vp8 as 1"])
        #expect(dialogue.media(.trackAdded(LocalTrackID(rawValue: 1), cid: "c2")) == ["> add_track c2 film"])
        let published = dialogue.server(
            .trackPublished(
                .with {
                    $0.cid = "c2"
                    $0.track = Dialogue.track("TR_again", "film")
                }))
        #expect(published == ["! offer #1", "* published TR_again"])
        _ = dialogue.media(.stateChanged(.publisher, .connected))
        #expect(dialogue.media(.stateChanged(.subscriber, .connected)) == ["* reconnected"])
    }

    /// What the newest connection says of us; nil if it says nothing.
    private static func attributes(_ dialogue: Dialogue) throws -> [String: String]? {
        guard let item = dialogue.paths.last?.query.first(where: { $0.name == "attributes" }) else { return nil }
        let text = item.value.replacing("-", with: "+").replacing("_", with: "/")
        return try JSONDecoder().decode([String: String].self, from: #require(Data(base64Encoded: text)))
    }

    @Test func `what was changed of our attributes stays so in a new session`() throws {
        let said = ["hand": "down", "seat": "1", "colour": "red"]
        let dialogue = Dialogue(attributes: said)
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(try Self.attributes(dialogue) == said)
        func ours(_ version: UInt32, _ attributes: [String: String]) -> LiveKitParticipantInfo {
            Dialogue.info("me", version: version) { $0.attributes = attributes }
        }
        _ = dialogue.server(Dialogue.join { $0.participant = ours(1, said) })
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        // The last one is none of those that we said: a service's.
        _ = dialogue.server(Dialogue.update(ours(2, ["hand": "up", "seat": "1", "role": "guest"])))
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        #expect(try Self.attributes(dialogue) == ["hand": "up", "seat": "1"])
        _ = dialogue.server(Dialogue.join(sid: "PA_again"))
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        // By now the connection has lasted, so another one is made at once.
        _ = dialogue.pass(.seconds(Int64(11)))
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        #expect(try Self.attributes(dialogue) == nil)
    }

    @Test(arguments: [
        (LiveKitLeaveRequest.Action.resume, "! open /rtc reconnect=1 sid=PA_me"), (.reconnect, "! open /rtc"),
        (.disconnect, "* over participant_removed"),
    ])
    func `what a server wants when it sends us away is done`(action: LiveKitLeaveRequest.Action, last: String) {
        let dialogue = Dialogue.connected()
        let lines = dialogue.server(
            .leave(
                .with {
                    $0.action = action
                    $0.reason = .participantRemoved
                }))
        #expect(lines.last == last)
    }

    @Test(arguments: [LiveKitDisconnectReason.unknownReason, .serverShutdown, .migration])
    func `a server older than actions says with any reason that we are to come back`(reason: LiveKitDisconnectReason) {
        let dialogue = Dialogue.connected()
        let lines = dialogue.server(
            .leave(
                .with {
                    $0.canReconnect = true
                    $0.reason = reason
                }))
        #expect(lines == ["* reconnecting", "! no media", "! open /rtc"])
    }

    @Test func `it waits longer before each attempt, gives up the session and in the end everything`() {
        let dialogue = Dialogue.connected()
        var opened: [String] = []
        var lines = dialogue.signalLost()
        let begun = dialogue.now
        var attempts = 0
        while dialogue.machine.connectionState == .reconnecting, attempts < 100 {
            attempts += 1
            opened += lines.filter { $0.hasPrefix("! open") }
            lines = dialogue.signalLost()
            while case .waiting = dialogue.machine.phase { lines += dialogue.pass(.milliseconds(100)) }
        }
        #expect(lines.last == "* over signal_close")
        #expect(opened.count == RoomClientMachine.attempts)
        #expect(opened.prefix(4).allSatisfy { $0.contains("reconnect=1") })
        #expect(opened.dropFirst(4).allSatisfy { $0 == "! open /rtc" })
        // 0.3, 1.2, 2.7, 4.8 and five times 7 seconds.
        let seconds = (dialogue.now - begun).seconds
        #expect((43.9...45).contains(seconds), "\(seconds)")
    }

    @Test func `a connection that is lost as soon as it is there is made later and later, and in the end no more`() {
        let dialogue = Dialogue.connected()
        let begun = dialogue.now
        var connections = 0
        while dialogue.machine.connectionState != .disconnected, connections < 100 {
            var lines = dialogue.signalLost()
            while case .waiting = dialogue.machine.phase { lines += dialogue.pass(.milliseconds(100)) }
            guard lines.contains(where: { $0.hasPrefix("! open /rtc reconnect=1") }) else { break }
            connections += 1
            _ = dialogue.server(Self.reconnect)
        }
        // At once, after 0.3, 1.2 and 2.7 seconds: then the session is given up, as after attempts that have failed.
        #expect(connections == 4)
        #expect((4.2...4.6).contains((dialogue.now - begun).seconds - 4.8))
        _ = dialogue.signalLost()
    }

    @Test func `a connection that has lasted is made again at once`() {
        let dialogue = Dialogue.connected()
        for _ in 0..<20 {
            _ = dialogue.pass(.seconds(Int64(11)))
            #expect(dialogue.signalLost().contains("! open /rtc reconnect=1 sid=PA_me"))
            _ = dialogue.server(Self.reconnect)
        }
    }

    @Test func `a token that is no longer good ends it`() {
        let dialogue = Dialogue.connected()
        _ = dialogue.signalLost()
        #expect(dialogue.signalLost(.refused(status: 401)).last == "* over join_failure")
    }

    @Test func `the newest token is the one that it comes back with`() {
        let dialogue = Dialogue.connected()
        _ = dialogue.server(.refreshToken("newer"))
        _ = dialogue.signalLost()
        #expect(dialogue.paths.last?.token == "newer")
    }

    @Test func `media that fail are brought back by the session, and if they do not come, by another`() {
        let dialogue = Dialogue.connected()
        #expect(
            dialogue.media(.stateChanged(.subscriber, .failed))
                == ["* reconnecting", "! open /rtc reconnect=1 sid=PA_me"])
        #expect(dialogue.server(Self.reconnect) == ["> sync_state"])
        let later = dialogue.pass(.seconds(Int64(16))).filter { !$0.contains("ping") }
        #expect(later == ["! close", "! no media", "! open /rtc"])
    }

    @Test func `a server that ends media first has a moment to say what it wants`() {
        let kicked = Dialogue.connected()
        #expect(kicked.media(.stateChanged(.subscriber, .closed)).isEmpty)
        #expect(
            kicked.server(
                .leave(
                    .with {
                        $0.action = .disconnect
                        $0.reason = .participantRemoved
                    })) == ["! close", "! no media", "* over participant_removed"])
        let dropped = Dialogue.connected()
        _ = dropped.media(.stateChanged(.subscriber, .closed))
        #expect(dropped.pass(.milliseconds(1_900)).isEmpty)
        #expect(
            dropped.pass(.milliseconds(200)) == ["* reconnecting", "! no media", "! open /rtc"])
    }

    @Test func `an offer that is never answered costs the session, not a processor`() {
        let dialogue = Dialogue.connected()
        dialogue.machine.negotiatePublisher(at: dialogue.now)
        _ = dialogue.media(.offerMade(id: 1, sdp: "offer"))
        let lines = dialogue.pass(.seconds(Int64(11))).filter { !$0.contains("ping") }
        #expect(lines == ["* reconnecting", "! no media", "! open /rtc"])
        #expect(!dialogue.pass(.seconds(Int64(120))).contains("no end of wakes"))
    }

    @Test func `a call that waits is told when the room is over`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.machine.performRPC(
            "shout", payload: "", of: "ann", timeout: nil, request: dialogue.request(), at: dialogue.now)
        dialogue.machine.leave()
        #expect(dialogue.said().contains("= 2 failed: Recipient disconnected (1503)"))
    }
}
