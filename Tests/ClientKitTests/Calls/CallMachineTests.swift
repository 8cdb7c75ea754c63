import ClientKit
import Testing

/// A machine with the seconds written out.
private struct Dialogue {
    var machine: CallMachine

    init(_ role: CallRole) {
        machine = CallMachine(role: role)
    }

    mutating func at(_ seconds: Int, _ fact: CallFact) -> [CallCommand] {
        machine.receive(fact, at: .seconds(seconds))
    }

    mutating func tick(_ seconds: Int) -> [CallCommand] {
        machine.tick(at: .seconds(seconds))
    }

    /// A call whose media flows since second 1.
    static func connected(_ role: CallRole) -> Dialogue {
        var dialogue = Dialogue(role)
        _ = dialogue.at(0, .started)
        _ = dialogue.at(0, .mediaOpened)
        switch role {
        case .caller:
            _ = dialogue.at(0, .offerMade(.offerA))
            _ = dialogue.at(1, .answerReceived(.answerA))
            _ = dialogue.at(1, .answerApplied)
        case .callee:
            _ = dialogue.at(0, .offerReceived(.offerA))
            _ = dialogue.at(1, .answerMade(.answerA))
        }
        _ = dialogue.at(1, .mediaConnection(.connected))
        return dialogue
    }
}

extension SessionDescriptionPayload {
    fileprivate static let offerA = SessionDescriptionPayload(type: .offer, sdp: "v=0 offer a")
    fileprivate static let offerB = SessionDescriptionPayload(type: .offer, sdp: "v=0 offer b")
    fileprivate static let answerA = SessionDescriptionPayload(type: .answer, sdp: "v=0 answer a")
    fileprivate static let answerB = SessionDescriptionPayload(type: .answer, sdp: "v=0 answer b")
}

extension IceCandidatePayload {
    fileprivate static let mine = IceCandidatePayload(candidate: "candidate:1", sdpMid: "0", sdpMLineIndex: 0)
    fileprivate static let theirs = IceCandidatePayload(candidate: "candidate:2", sdpMid: "0", sdpMLineIndex: 0)
    fileprivate static let theirs2 = IceCandidatePayload(candidate: "candidate:3", sdpMid: "0", sdpMLineIndex: 0)
}

@Suite struct `The caller` {
    @Test func `opens media, offers, takes the answer and connects`() {
        var call = Dialogue(.caller)
        #expect(call.at(0, .started) == [.openMedia, .announce(.offering, because: "the user started the call")])
        #expect(call.at(0, .mediaOpened) == [.makeOffer(restartingIce: false)])
        #expect(call.at(0, .offerMade(.offerA)) == [.send(.offer(.offerA))])
        #expect(call.at(0, .localCandidate(.mine)) == [.send(.candidate(.mine))])
        #expect(call.at(1, .answerReceived(.answerA)) == [.applyAnswer(.answerA)])
        #expect(call.at(1, .answerApplied) == [.announce(.connecting, because: "the partner answered")])
        #expect(call.at(1, .candidateReceived(.theirs)) == [.addCandidate(.theirs)])
        #expect(call.at(2, .mediaConnection(.connecting)) == [])
        #expect(call.at(2, .mediaConnection(.connected)) == [.announce(.connected, because: "media flows")])
        #expect(call.machine.nextWake == nil)
    }

    @Test func `starts only once`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        #expect(call.at(0, .started) == [])
    }

    @Test func `holds candidates that come before the answer`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        #expect(call.at(0, .candidateReceived(.theirs)) == [])
        _ = call.at(1, .answerReceived(.answerA))
        #expect(call.at(1, .candidateReceived(.theirs2)) == [])
        #expect(
            call.at(1, .answerApplied) == [
                .addCandidate(.theirs), .addCandidate(.theirs2),
                .announce(.connecting, because: "the partner answered"),
            ])
    }

    @Test func `sends its own candidates behind its offer`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        #expect(call.at(0, .localCandidate(.mine)) == [])
        #expect(call.at(0, .offerMade(.offerA)) == [.send(.offer(.offerA)), .send(.candidate(.mine))])
    }

    @Test func `offers again to a callee who was not listening yet, and gives up in the end`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        _ = call.at(0, .localCandidate(.mine))
        #expect(call.machine.nextWake == .seconds(4))
        #expect(call.tick(4) == [.send(.offer(.offerA)), .send(.candidate(.mine))])
        #expect(call.machine.nextWake == .seconds(8))
        #expect(call.tick(60) == [.closeMedia, .announce(.ended(.noAnswer), because: "no answer in time")])
        #expect(call.machine.nextWake == nil)
    }

    @Test func `takes the first answer only`() {
        var call = Dialogue.connected(.caller)
        #expect(call.at(2, .answerReceived(.answerB)) == [])
    }

    @Test func `keeps its offer when the other side offers at the same time`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        #expect(call.at(0, .offerReceived(.offerB)) == [])
        _ = call.at(0, .mediaOpened)
        #expect(call.at(0, .offerReceived(.offerB)) == [])
        _ = call.at(0, .offerMade(.offerA))
        #expect(call.at(0, .offerReceived(.offerB)) == [])
        #expect(call.at(1, .answerReceived(.answerA)) == [.applyAnswer(.answerA)])
    }

    @Test func `answers an offer in mid-call`() {
        var call = Dialogue.connected(.caller)
        #expect(call.at(5, .offerReceived(.offerB)) == [.makeAnswer(to: .offerB)])
        #expect(call.at(5, .answerMade(.answerB)) == [.send(.answer(.answerB))])
        #expect(call.machine.state == .connected)
    }

    @Test func `answers an offer that came while it applied an answer`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        _ = call.at(1, .answerReceived(.answerA))
        #expect(call.at(1, .offerReceived(.offerB)) == [])
        #expect(
            call.at(1, .answerApplied) == [
                .announce(.connecting, because: "the partner answered"), .makeAnswer(to: .offerB),
            ])
    }

    @Test func `ends with a reason when there is no camera`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        #expect(
            call.at(0, .mediaUnavailable("No camera.")) == [
                .closeMedia, .announce(.ended(.mediaUnavailable("No camera.")), because: "no media"),
            ])
    }

    @Test func `ends when its first offer cannot be agreed on`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        #expect(
            call.at(0, .negotiationFailed("No.")) == [
                .closeMedia, .announce(.ended(.negotiationFailed("No.")), because: "no agreement"),
            ])
    }

    @Test func `ends when the partner leaves during ringing`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        #expect(
            call.at(1, .peerLeft) == [
                .closeMedia, .announce(.ended(.peerLeft), because: "the partner left the room"),
            ])
        #expect(call.at(1, .answerReceived(.answerA)) == [])
    }

    @Test func `ends when media does not connect in time`() {
        var call = Dialogue(.caller)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerMade(.offerA))
        _ = call.at(1, .answerReceived(.answerA))
        _ = call.at(1, .answerApplied)
        #expect(call.machine.nextWake == .seconds(31))
        #expect(
            call.tick(31) == [
                .closeMedia, .announce(.ended(.mediaNeverConnected), because: "media did not connect in time"),
            ])
    }
}

@Suite struct `The callee` {
    @Test func `waits, answers and connects`() {
        var call = Dialogue(.callee)
        #expect(
            call.at(0, .started) == [
                .openMedia, .announce(.waitingForOffer, because: "the user is ready for the call"),
            ])
        #expect(call.at(0, .mediaOpened) == [])
        #expect(call.machine.nextWake == nil)
        #expect(
            call.at(9, .offerReceived(.offerA)) == [
                .makeAnswer(to: .offerA), .announce(.answering, because: "the partner's offer came"),
            ])
        #expect(call.at(9, .localCandidate(.mine)) == [])
        #expect(
            call.at(9, .answerMade(.answerA)) == [
                .send(.answer(.answerA)), .send(.candidate(.mine)),
                .announce(.connecting, because: "the partner's offer is answered"),
            ])
        #expect(call.at(10, .mediaConnection(.connected)) == [.announce(.connected, because: "media flows")])
    }

    @Test func `holds an offer that comes while media opens, and candidates that come before it`() {
        var call = Dialogue(.callee)
        _ = call.at(0, .started)
        #expect(call.at(0, .candidateReceived(.theirs)) == [])
        #expect(call.at(0, .offerReceived(.offerA)) == [])
        #expect(
            call.at(1, .mediaOpened) == [
                .makeAnswer(to: .offerA), .announce(.answering, because: "the partner's offer came"),
            ])
        #expect(
            call.at(1, .answerMade(.answerA)) == [
                .send(.answer(.answerA)), .addCandidate(.theirs),
                .announce(.connecting, because: "the partner's offer is answered"),
            ])
    }

    @Test func `gives the same answer to the same offer`() {
        var call = Dialogue(.callee)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        _ = call.at(0, .offerReceived(.offerA))
        #expect(call.at(0, .offerReceived(.offerA)) == [])
        _ = call.at(0, .answerMade(.answerA))
        _ = call.at(0, .localCandidate(.mine))
        #expect(call.at(4, .offerReceived(.offerA)) == [.send(.answer(.answerA)), .send(.candidate(.mine))])
    }

    @Test func `gives way when both offer in mid-call`() {
        var call = Dialogue.connected(.callee)
        #expect(call.at(5, .negotiationNeeded) == [.makeOffer(restartingIce: false)])
        #expect(call.at(5, .offerReceived(.offerB)) == [.makeAnswer(to: .offerB)])
        #expect(call.at(5, .offerMade(.offerA)) == [])
        #expect(call.at(5, .answerMade(.answerB)) == [.send(.answer(.answerB))])
    }

    @Test func `renegotiates without end only as long as somebody may answer`() {
        var call = Dialogue.connected(.callee)
        _ = call.at(5, .negotiationNeeded)
        _ = call.at(5, .offerMade(.offerB))
        #expect(call.tick(9) == [.send(.offer(.offerB))])
        #expect(call.tick(65) == [])
        #expect(call.machine.nextWake == nil)
        #expect(call.machine.state == .connected)
    }

    @Test func `makes no offer of its own before the call is agreed`() {
        var call = Dialogue(.callee)
        _ = call.at(0, .started)
        _ = call.at(0, .mediaOpened)
        #expect(call.at(0, .negotiationNeeded) == [])
    }

    @Test func `holds only so many candidates`() {
        var policy = CallPolicy()
        policy.heldCandidateLimit = 1
        var machine = CallMachine(role: .callee, policy: policy)
        for fact in [CallFact.started, .mediaOpened, .candidateReceived(.theirs), .candidateReceived(.theirs2)] {
            _ = machine.receive(fact, at: .zero)
        }
        _ = machine.receive(.offerReceived(.offerA), at: .zero)
        let commands = machine.receive(.answerMade(.answerA), at: .zero)
        #expect(commands.contains(.addCandidate(.theirs)))
        #expect(!commands.contains(.addCandidate(.theirs2)))
    }
}

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
