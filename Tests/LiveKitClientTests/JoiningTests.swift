import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct JoiningTests {
    @Test func `it joins, takes the server's offer and is in when media can flow`() {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        #expect(dialogue.said() == ["! open /rtc"])
        #expect(dialogue.server(Dialogue.join([Dialogue.info("ann")])) == ["! media", "* connected ann"])
        #expect(dialogue.machine.connectionState == .connecting)
        #expect(dialogue.server(.offer(.with { $0.id = 1 })) == ["! take offer #1"])
        #expect(dialogue.media(.answerMade(id: 1, sdp: "answer")) == ["> answer #1"])
        #expect(dialogue.media(.stateChanged(.subscriber, .connected)) == ["* connected", "= 1 done"])
        #expect(dialogue.machine.connectionState == .connected)
    }

    @Test func `who was in the room before is not told to have left the next one`() {
        let dialogue = Dialogue()
        for (token, other) in [("first", "ann"), ("second", "bob")] {
            let request = dialogue.request()
            dialogue.machine.connect(token: token, request: request, at: dialogue.now)
            _ = dialogue.said()
            let said = dialogue.server(Dialogue.join([Dialogue.info(other)]))
            #expect(said == ["! media", "* connected \(other)"])
            dialogue.machine.leave()
            _ = dialogue.said()
            #expect(dialogue.machine.roster.remote.values.map(\.identity) == [other], "to be looked at afterwards")
        }
    }

    @Test func `the query is one that every server reads`() throws {
        let dialogue = Dialogue(autoSubscribe: false)
        let request = dialogue.request()
        dialogue.machine.connect(token: "a.b.c", request: request, at: dialogue.now)
        _ = dialogue.said()
        let path = try #require(dialogue.paths.first)
        #expect(path.path == "/rtc" && path.token == "a.b.c")
        #expect(path.query.contains(.init(name: "auto_subscribe", value: "0")))
        #expect(path.query.contains(.init(name: "protocol", value: "16")))
    }

    @Test func `a server that lets clients publish at once gets an offer at once`() {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.join { $0.fastPublish = true }) == ["! media", "! offer #1"])
        #expect(dialogue.media(.offerMade(id: 1, sdp: "offer")) == ["> offer #1"])
        // Both connections count now.
        #expect(dialogue.media(.stateChanged(.subscriber, .connected)).isEmpty)
        #expect(dialogue.server(.answer(.with { $0.id = 1 })) == ["! take answer"])
        #expect(dialogue.media(.answerTaken).isEmpty)
        #expect(dialogue.media(.stateChanged(.publisher, .connected)) == ["* connected", "= 1 done"])
    }

    @Test func `a pong with a time that cannot be is passed over`() {
        let dialogue = Dialogue.connected()
        for time in [-9_223_372_036_854, .min, .max] as [Int64] {
            #expect(dialogue.server(.pongResp(.with { $0.lastPingTimestamp = time })).isEmpty)
        }
        let sent = dialogue.now.nanoseconds / 1_000_000 - 20
        _ = dialogue.server(.pongResp(.with { $0.lastPingTimestamp = sent }))
        #expect(dialogue.machine.pings.roundTrip == .milliseconds(20))
    }

    @Test func `candidates do not overtake the description that they belong to`() {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.said()
        _ = dialogue.server(Dialogue.join())
        #expect(dialogue.media(.candidate(.subscriber, json: "{}", isLast: false)).isEmpty)
        _ = dialogue.server(.offer(.with { $0.id = 1 }))
        #expect(dialogue.media(.answerMade(id: 1, sdp: "")) == ["> answer #1", "> trickle subscriber"])
        #expect(dialogue.media(.candidate(.subscriber, json: "{}", isLast: true)) == ["> trickle subscriber"])
    }

    @Test func `candidates of the server's go to the connection that they are for, behind its description`() {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.said()
        _ = dialogue.server(Dialogue.join())
        #expect(dialogue.server(.offer(.with { $0.id = 1 })) == ["! take offer #1"])
        for target in [LiveKitSignalTarget.subscriber, .publisher] {
            let candidate = LiveKitTrickleRequest.with {
                $0.candidateInit = "{}"
                $0.target = target
                $0.final = true
            }
            #expect(dialogue.server(.trickle(candidate)) == ["! candidate for \(target)"])
        }
    }

    @Test(arguments: [RoomError.refused(status: 401), .refused(status: 404), .unreachable("no answer")])
    func `who is not let in hears why`(error: RoomError) {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.signalLost(error) == ["! close", "! no media", "= 1 failed: \(error)"])
        #expect(dialogue.machine.connectionState == .disconnected)
        #expect(dialogue.machine.nextWake == nil)
    }

    @Test func `a server that says nothing, or brings no media, is not waited for`() {
        let dialogue = Dialogue()
        let first = dialogue.request()
        dialogue.machine.connect(token: "token", request: first, at: dialogue.now)
        _ = dialogue.said()
        _ = dialogue.signalOpened()
        #expect(dialogue.pass(.milliseconds(6_900)).isEmpty)
        #expect(dialogue.pass(.milliseconds(200)).last == "= 1 failed: \(RoomError.timedOut)")
        let second = dialogue.request()
        dialogue.machine.connect(token: "token", request: second, at: dialogue.now)
        _ = dialogue.said()
        _ = dialogue.server(Dialogue.join())
        let lines = dialogue.pass(.seconds(Int64(16)))
        #expect(lines.contains("> leave mediaFailure"))
        #expect(lines.contains { $0.hasPrefix("= 2 failed: The media connection failed") })
    }

    @Test func `the server's time begins when the WebSocket is open, which has a time of its own`() {
        let slow = Dialogue()
        slow.machine.connect(token: "token", request: slow.request(), at: slow.now)
        _ = slow.said()
        // The socket itself gives up after ten seconds, and says why.
        #expect(slow.pass(.milliseconds(9_900)).isEmpty)
        #expect(slow.signalOpened().isEmpty)
        #expect(slow.pass(.milliseconds(6_900)).isEmpty)
        #expect(slow.server(Dialogue.join()) == ["! media"])
        // That it was open is no news by then.
        #expect(slow.signalOpened().isEmpty)
        #expect(slow.machine.phase == .connecting(.join, until: slow.now + RoomClientMachine.mediaTimeout))
        let silent = Dialogue()
        silent.machine.connect(token: "token", request: silent.request(), at: silent.now)
        _ = silent.said()
        #expect(silent.pass(.milliseconds(10_900)).isEmpty)
        #expect(silent.pass(.milliseconds(200)).last == "= 1 failed: \(RoomError.timedOut)")
    }

    @Test func `who may subscribe is said when we are let in, also after a connect that failed`() {
        let dialogue = Dialogue()
        dialogue.machine.setTrackPermissions(allowing: ["ann"])
        for error in [RoomError.unreachable("gone"), .refused(status: 503)] {
            dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
            _ = dialogue.said()
            _ = dialogue.signalLost(error)
        }
        // The server lets us in, and no path for media is found.
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.join()) == ["! media", "> subscription_permission"])
        #expect(dialogue.pass(.seconds(Int64(16))).last == "* over media_failure")
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.join()) == ["! media", "> subscription_permission"])
        guard case .subscriptionPermission(let permissions)? = dialogue.requests.last else {
            Issue.record("not said")
            return
        }
        #expect(!permissions.allParticipants)
        #expect(permissions.trackPermissions.map(\.participantIdentity) == ["ann"])
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        // Those of this room are not those of the next one.
        dialogue.machine.leave()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.join()) == ["! media"])
    }

    @Test func `a first message that is another is no server of LiveKit's`() {
        let dialogue = Dialogue()
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.said()
        #expect(dialogue.server(Dialogue.update()).first == "! close")
        #expect(dialogue.server(Dialogue.join()).isEmpty)
    }

    @Test func `it pings in both forms, and a server that is silent is lost`() {
        let dialogue = Dialogue.connected()
        #expect(dialogue.pass(.seconds(Int64(5))) == ["> ping_req", "> ping"])
        _ = dialogue.server(.pongResp(.with { $0.lastPingTimestamp = 1_000_000 + 4_960 }))
        #expect(dialogue.machine.pings.roundTrip == .milliseconds(40))
        #expect(dialogue.pass(.seconds(Int64(14))) == ["> ping_req", "> ping", "> ping_req", "> ping"])
        #expect(dialogue.pass(.seconds(Int64(1))) == ["* reconnecting", "! open /rtc reconnect=1 sid=PA_me"])
    }

    @Test func `whoever leaves says so, and nothing follows`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.machine.leave()
        #expect(dialogue.said() == ["> leave clientInitiated", "! close", "! no media", "* over client_initiated"])
        #expect(dialogue.server(Dialogue.update(Dialogue.info("bob"))).isEmpty)
        #expect(dialogue.pass(.seconds(Int64(60))).isEmpty)
    }
}
