import ClientKit
import Testing

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
        #expect(
            call.at(0, .offerReceived(.offerA)) == [.announce(.answering, because: "the partner's offer came")])
        #expect(call.at(0, .offerReceived(.offerA)) == [])
        #expect(call.at(1, .mediaOpened) == [.makeAnswer(to: .offerA)])
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

    @Test func `holds only so many candidates, the newest`() {
        var policy = CallPolicy()
        policy.heldCandidateLimit = 1
        var machine = CallMachine(role: .callee, policy: policy)
        for fact in [CallFact.started, .mediaOpened, .candidateReceived(.theirs), .candidateReceived(.theirs2)] {
            _ = machine.receive(fact, at: .zero)
        }
        _ = machine.receive(.offerReceived(.offerA), at: .zero)
        let commands = machine.receive(.answerMade(.answerA), at: .zero)
        #expect(!commands.contains(.addCandidate(.theirs)))
        #expect(commands.contains(.addCandidate(.theirs2)))
    }
}
