import ClientKit
import Testing

@Suite struct `A socket lost` {
    @Test func `in mid-call changes nothing`() {
        var call = Dialogue.connected(.caller)
        #expect(call.at(5, .signalingLost) == [])
        #expect(call.at(8, .signalingRestored) == [])
        #expect(call.at(9, .signalingClosed(reason: "gone")) == [])
        #expect(call.machine.state == .connected)
    }

    @Test func `during ringing repeats the offer when it is back`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        _ = call.at(1, .signalingLost)
        #expect(call.at(1, .localCandidate(.mine)) == [])
        #expect(call.at(2, .signalingRestored) == [.send(.offer(.offerA)), .send(.candidate(.mine))])
    }

    @Test func `during answering repeats the answer when it is back`() {
        var call = Dialogue(.callee)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerReceived(.offerA))
        _ = call.at(0, .signalingLost)
        #expect(
            call.at(0, .answerMade(.answerA)) == [.announce(.connecting, because: "the partner's offer is answered")])
        #expect(call.at(2, .signalingRestored) == [.send(.answer(.answerA))])
    }

    @Test(arguments: [CallRole.caller, .callee])
    func `for good before the descriptions are agreed ends the call`(role: CallRole) {
        var call = Dialogue(role)
        _ = call.at(0, .started)
        #expect(
            call.at(1, .signalingClosed(reason: "server stopped")) == [
                .closeMedia, .announce(.ended(.signalingClosed("server stopped")), because: "no signaling"),
            ])
    }

    @Test func `for good ends the call when media fails afterwards`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(5, .signalingClosed(reason: "gone"))
        #expect(
            call.at(9, .mediaConnection(.failed)) == [
                .closeMedia, .announce(.ended(.mediaLost), because: "no signaling to restart over"),
            ])
    }
}

@Suite struct `Media that stops` {
    @Test func `heals by itself`() {
        var call = Dialogue.connected(.caller)
        #expect(
            call.at(5, .mediaConnection(.disconnected)) == [
                .announce(.reconnectingMedia, because: "media is disturbed")
            ])
        #expect(call.machine.nextWake == .seconds(10))
        #expect(call.at(7, .mediaConnection(.connected)) == [.announce(.connected, because: "media flows")])
        #expect(call.machine.nextWake == nil)
    }

    @Test func `is restarted by the caller when it does not heal`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(5, .mediaConnection(.disconnected))
        #expect(call.tick(10) == [.makeOffer(restartingIce: true)])
        #expect(call.at(10, .offerMade(.offerB)) == [.send(.offer(.offerB))])
        // The old path's end, reported late.
        #expect(call.at(11, .mediaConnection(.failed)) == [])
        #expect(call.at(12, .answerReceived(.answerB)) == [.applyAnswer(.answerB)])
        #expect(call.at(12, .answerApplied) == [])
        #expect(call.at(13, .mediaConnection(.connected)) == [.announce(.connected, because: "media flows")])
    }

    @Test func `is restarted once an outage, and again in the next one`() {
        var call = Dialogue.connected(.caller)
        for start in [10, 20] {
            #expect(
                call.at(start, .mediaConnection(.failed)) == [
                    .announce(.reconnectingMedia, because: "media failed"), .makeOffer(restartingIce: true),
                ])
            _ = call.at(start, .offerMade(.offerB))
            _ = call.at(start, .answerReceived(.answerB))
            _ = call.at(start, .answerApplied)
            _ = call.at(start, .mediaConnection(.connected))
        }
        _ = call.at(30, .mediaConnection(.failed))
        _ = call.at(30, .offerMade(.offerB))
        _ = call.at(30, .answerReceived(.answerB))
        _ = call.at(30, .answerApplied)
        #expect(
            call.at(31, .mediaConnection(.failed)) == [
                .closeMedia, .announce(.ended(.mediaLost), because: "the ICE restart failed"),
            ])
    }

    @Test func `ends the call when the restart takes too long`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(10, .mediaConnection(.failed))
        #expect(call.machine.nextWake == .seconds(30))
        #expect(
            call.tick(30) == [
                .closeMedia, .announce(.ended(.mediaLost), because: "the ICE restart took too long"),
            ])
    }

    @Test func `waits for the socket before it is restarted`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(5, .signalingLost)
        #expect(
            call.at(10, .mediaConnection(.failed)) == [.announce(.reconnectingMedia, because: "media failed")])
        #expect(call.at(12, .signalingRestored) == [.makeOffer(restartingIce: true)])
    }

    @Test func `ends the call when the socket goes for good meanwhile`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(5, .signalingLost)
        _ = call.at(10, .mediaConnection(.failed))
        #expect(
            call.at(11, .signalingClosed(reason: "gone")) == [
                .closeMedia, .announce(.ended(.mediaLost), because: "no signaling to restart over"),
            ])
    }

    @Test func `leaves the callee waiting for the caller's restart`() {
        var call = Dialogue.connected(.callee)
        #expect(
            call.at(10, .mediaConnection(.failed)) == [.announce(.reconnectingMedia, because: "media failed")])
        #expect(call.at(12, .offerReceived(.offerB)) == [.makeAnswer(to: .offerB)])
        #expect(call.at(12, .answerMade(.answerB)) == [.send(.answer(.answerB))])
        #expect(call.at(13, .mediaConnection(.connected)) == [.announce(.connected, because: "media flows")])
    }

    @Test func `ends the callee's call when no restart comes`() {
        var call = Dialogue.connected(.callee)
        _ = call.at(10, .mediaConnection(.failed))
        #expect(
            call.tick(30) == [.closeMedia, .announce(.ended(.mediaLost), because: "no ICE restart in time")])
    }

    @Test func `is restarted also when it never flowed`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        _ = call.at(1, .answerReceived(.answerA))
        _ = call.at(1, .answerApplied)
        #expect(
            call.at(5, .mediaConnection(.failed)) == [
                .announce(.reconnectingMedia, because: "media failed"), .makeOffer(restartingIce: true),
            ])
        #expect(
            call.tick(25) == [
                .closeMedia, .announce(.ended(.mediaNeverConnected), because: "the ICE restart took too long"),
            ])
    }

    @Test func `because the partner closed it ends the call`() {
        var call = Dialogue.connected(.callee)
        #expect(
            call.at(5, .mediaConnection(.closed)) == [
                .closeMedia,
                .announce(.ended(.peerClosedMedia), because: "the media connection was closed from outside"),
            ])
    }

    @Test func `stays in force when a renegotiation fails`() {
        var call = Dialogue.connected(.caller)
        _ = call.at(5, .offerReceived(.offerB))
        #expect(call.at(5, .negotiationFailed("No.")) == [])
        #expect(call.machine.state == .connected)
    }
}

@Suite struct `A call that ended` {
    private static let facts: [CallFact] = [
        .started, .mediaOpened, .mediaUnavailable(""), .offerMade(.offerA), .answerMade(.answerA), .answerApplied,
        .negotiationFailed(""), .localCandidate(.mine), .mediaConnection(.connected), .mediaConnection(.failed),
        .mediaConnection(.closed), .negotiationNeeded, .offerReceived(.offerB), .answerReceived(.answerB),
        .candidateReceived(.theirs), .peerLeft, .signalingLost, .signalingRestored, .signalingClosed(reason: ""),
        .hungUp,
    ]

    @Test(arguments: facts) func `hears nothing more`(fact: CallFact) {
        var call = Dialogue.connected(.caller)
        #expect(
            call.at(5, .hungUp) == [.closeMedia, .announce(.ended(.hungUp), because: "the user ended the call")])
        #expect(call.at(6, fact) == [])
        #expect(call.tick(600) == [])
        #expect(call.machine.state == .ended(.hungUp))
    }

    @Test(arguments: facts) func `could end in every state`(fact: CallFact) {
        for role in [CallRole.caller, .callee] {
            var call = Dialogue(role)
            _ = call.at(0, fact)
            _ = call.at(0, .hungUp)
            #expect(call.machine.state.endReason != nil)
        }
    }
}
