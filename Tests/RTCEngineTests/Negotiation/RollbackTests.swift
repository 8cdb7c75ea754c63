import RTCWire
import Testing

@testable import RTCEngine

@Suite struct RollbackTests {
    @Test func `a first offer rolled back leaves no trace but the transceivers`() throws {
        var alice = Party("alice")
        let id = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.offers()
        #expect(try alice.negotiator.setLocal(.rollback).outline == ["stable"])
        #expect(alice.transceiver(id)?.mid == nil)
        #expect(alice.negotiator.localDescription == nil)
        #expect(alice.negotiator.negotiationNeeded)
        #expect(try alice.offers().sdp.outline.count == 1)
    }

    @Test func `a remote offer rolled back takes its transceivers away`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video)
        _ = try bob.takes(alice.offers().sdp)
        #expect(bob.negotiator.transceivers.count == 2)
        #expect(try bob.negotiator.setRemote(.rollback).outline == ["stable", "track gone 1", "stopped 1"])
        #expect(bob.negotiator.transceivers.count == 1)
        #expect(bob.negotiator.transceivers[0].currentDirection == .sendrecv)
        #expect(!bob.negotiator.negotiationNeeded)
    }

    @Test func `a transceiver that has been given a track stays`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video)
        _ = try bob.takes(alice.offers().sdp)
        let id = try bob.negotiator.addTrack(.video)
        _ = try bob.negotiator.setRemote(.rollback)
        #expect(bob.transceiver(id)?.direction == .sendrecv)
        #expect(bob.transceiver(id)?.mid == nil)
        #expect(bob.negotiator.negotiationNeeded)
    }

    @Test func `directions wished for during the exchange stay`() throws {
        var (alice, _) = try RenegotiationTests.call()
        _ = try alice.offers()
        let id = alice.negotiator.transceivers[0].id
        try alice.negotiator.setDirection(.inactive, of: id)
        _ = try alice.negotiator.setLocal(.rollback)
        #expect(alice.transceiver(id)?.direction == .inactive)
        #expect(alice.transceiver(id)?.currentDirection == .sendrecv)
        #expect(alice.negotiator.negotiationNeeded)
    }

    @Test func `glare is refused, and nothing changes by it`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        let ours = try alice.offers().sdp
        let theirs = try bob.offers().sdp
        #expect(throws: NegotiationError.wrongState(.haveLocalOffer, .offer, .remote)) { try alice.takes(theirs) }
        #expect(alice.negotiator.signalingState == .haveLocalOffer)
        // Bob gives way by hand.
        _ = try bob.negotiator.setLocal(.rollback)
        _ = try bob.takes(ours)
        _ = try alice.negotiator.setRemote(.answer, bob.answers().sdp)
        #expect(alice.negotiator.signalingState == .stable && bob.negotiator.signalingState == .stable)
    }

    @Test func `perfect negotiation: both add video at once, the polite one gives way and offers again`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video, direction: .sendonly)
        _ = try bob.negotiator.addTransceiver(.video, direction: .sendonly)
        let ours = try alice.offers().sdp
        _ = try bob.offers()

        let yielded = try bob.takes(ours, glare: .rollBack)
        #expect(yielded.outline == ["stable", "have-remote-offer", "added 2", "track 2"])
        _ = try alice.negotiator.setRemote(.answer, bob.answers().sdp)
        #expect(bob.negotiator.negotiationNeeded)
        let second = try negotiate(&bob, &alice)
        #expect(
            second.offer.outline == [
                "0 audio sendrecv opus", "1 video recvonly H264+rtx VP8+rtx", "2 video sendonly H264+rtx VP8+rtx",
            ])
        #expect(bob.negotiator.transceivers.map(\.currentDirection) == [.sendrecv, .sendonly, .recvonly])
    }

    @Test func `an offer of before one that was rolled back can still be set`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.negotiator.addTransceiver(.audio)
        let offer = try alice.negotiator.createOffer(ice: alice.ice)
        let theirs = try bob.offers().sdp
        _ = try alice.takes(theirs)
        #expect(throws: NegotiationError.wrongState(.haveRemoteOffer, .offer, .local)) {
            try alice.negotiator.setLocal(.offer, offer)
        }
        _ = try alice.negotiator.setRemote(.rollback)
        _ = try alice.negotiator.setLocal(.offer, offer)
        // Its own way back, and once more.
        _ = try alice.negotiator.setLocal(.rollback)
        _ = try alice.negotiator.setLocal(.offer, offer)
        _ = try bob.negotiator.setLocal(.rollback)
        _ = try bob.takes(offer)
        _ = try alice.negotiator.setRemote(.answer, bob.answers().sdp)
        #expect(alice.negotiator.transceivers.map(\.currentDirection) == [.sendonly])
        // Not where what it offers is over.
        let other = try alice.negotiator.createOffer(ice: alice.ice)
        _ = try alice.takes(bob.offers().sdp)
        try alice.negotiator.stop(alice.negotiator.transceivers[0].id)
        _ = try alice.negotiator.setRemote(.rollback)
        #expect(throws: NegotiationError.nothingCreated) { try alice.negotiator.setLocal(.offer, other) }
    }

    @Test func `a restart rolled back goes back to the old credential on both halves`() throws {
        var (alice, _) = try RenegotiationTests.call()
        alice.negotiator.restartICE()
        alice.renewICE()
        let offered = try alice.offers()
        #expect(offered.actions.outline == ["have-local-offer", "restartICE alice-1"])
        let back = try alice.negotiator.setLocal(.rollback)
        #expect(back.outline == ["stable", "restartICE alice-0", "setRemoteICE bob-0"])
        #expect(alice.negotiator.wantsICERestart && alice.negotiator.negotiationNeeded)
    }

    @Test func `there is nothing to roll back when stable, and a provisional answer stays`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        #expect(throws: NegotiationError.wrongState(.stable, .rollback, .local)) {
            try alice.negotiator.setLocal(.rollback)
        }
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.takes(alice.offers().sdp)
        _ = try bob.negotiator.createAnswer(ice: bob.ice)
        _ = try bob.negotiator.setLocal(.pranswer)
        #expect(throws: NegotiationError.wrongState(.haveLocalPranswer, .rollback, .remote)) {
            try bob.negotiator.setRemote(.rollback)
        }
    }

    @Test func `stopped during an offer that is rolled back`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        let video = try alice.negotiator.addTransceiver(.video)
        _ = try alice.offers()
        _ = try alice.negotiator.stop(video)
        #expect(try alice.negotiator.setLocal(.rollback).outline == ["stable", "stopped 1"])
        let audio = alice.negotiator.transceivers[0].id
        _ = try alice.offers()
        #expect(try alice.negotiator.stop(audio).outline == ["end receiver 0", "end sender 0", "track gone 0"])
        _ = try alice.negotiator.setLocal(.rollback)
        #expect(alice.transceiver(audio)?.sendParameters == nil)
        #expect(try negotiate(&alice, &bob).offer.outline == ["0 audio inactive opus"])
    }
}
