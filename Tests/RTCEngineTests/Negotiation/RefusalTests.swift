import RTCWire
import Testing

@testable import RTCEngine

@Suite struct RefusalTests {
    @Test func `every call is refused in the states that it does not fit`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        #expect(throws: NegotiationError.wrongState(.stable, .answer, .local)) {
            try alice.negotiator.createAnswer(ice: alice.ice)
        }
        #expect(throws: NegotiationError.nothingCreated) { try alice.negotiator.setLocal(.offer) }
        let (offer, _) = try alice.offers()
        #expect(throws: NegotiationError.wrongState(.stable, .answer, .remote)) {
            try bob.negotiator.setRemote(.answer, offer)
        }
        #expect(throws: NegotiationError.nothingCreated) { try bob.negotiator.setRemote(.offer) }
        _ = try bob.takes(offer)
        #expect(throws: NegotiationError.wrongState(.haveRemoteOffer, .offer, .local)) { try bob.offers() }
        #expect(throws: NegotiationError.wrongState(.haveRemoteOffer, .answer, .remote)) {
            try bob.negotiator.setRemote(.answer, offer)
        }
        #expect(throws: NegotiationError.nothingCreated) { try bob.negotiator.setLocal(.answer) }
        let answer = try bob.negotiator.createAnswer(ice: bob.ice)
        _ = try bob.negotiator.setLocal(.pranswer)
        #expect(throws: NegotiationError.wrongState(.haveLocalPranswer, .offer, .remote)) { try bob.takes(offer) }
        _ = try alice.negotiator.setRemote(.pranswer, answer)
        #expect(throws: NegotiationError.wrongState(.haveRemotePranswer, .offer, .remote)) { try alice.takes(offer) }
        #expect(throws: NegotiationError.wrongState(.haveRemotePranswer, .offer, .local)) { try alice.offers() }
    }

    @Test func `a local description may not be edited`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        var offer = try alice.negotiator.createOffer(ice: alice.ice)
        _ = try alice.negotiator.setLocal(.offer, overTheWire(offer))
        offer = try alice.negotiator.createOffer(ice: alice.ice)
        offer.media[0].removeAttributes(named: "rtcp-mux")
        #expect(throws: NegotiationError.modifiedDescription) { try alice.negotiator.setLocal(.offer, offer) }
        #expect(alice.negotiator.signalingState == .haveLocalOffer)
    }

    @Test func `Plan B is refused, and says so`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.video)
        var offer = try alice.offers().sdp
        offer.media[0].removeAttributes(named: "msid")
        let sources = try #require(offer.media[0].signaledSources)
        for ssrc in [sources.primary, sources.rtx ?? 0] {
            offer.media[0].append(SDP.SourceAttribute(ssrc: ssrc, attribute: "msid", value: "camera lens"))
        }
        // One track named by its sources alone is merely old.
        var bob = Party("bob")
        #expect(throws: Never.self) { try bob.takes(offer) }
        #expect(bob.negotiator.transceivers[0].remoteTrackID == "lens")
        offer.media[0].append(SDP.SourceAttribute(ssrc: 99, attribute: "msid", value: "camera second"))
        var carol = Party("carol")
        #expect(throws: NegotiationError.planB(section: 0)) { try carol.takes(offer) }
        #expect(carol.negotiator.transceivers.isEmpty)
    }

    @Test func `an offer may not remove, reorder or reuse sections`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        let offer = try alice.offers().sdp
        func refuses(_ change: (inout SessionDescription) -> Void) -> NegotiationError? {
            var changed = offer
            change(&changed)
            var copy = bob
            do { _ = try copy.takes(changed) } catch { return error as? NegotiationError }
            return nil
        }
        #expect(refuses { $0.media.removeLast() } == .sectionsChanged(section: 1))
        #expect(refuses { $0.media.swapAt(0, 1) } == .sectionsChanged(section: 0))
        #expect(refuses { $0.media[1].kind = "application" } == .sectionsChanged(section: 1))
        #expect(refuses { $0.media.append($0.media[1]) } == .duplicateMid(section: 2))
        #expect(refuses { $0.append(SDP.Group(semantics: "BUNDLE", mids: ["0", "7"])) } == .invalidBundleGroup)
        #expect(
            refuses { description in
                description.media[0].removeAttributes(named: "setup")
                description.media[0].append(SDP.Setup.holdconn)
            } == .invalidSetup)
        #expect(refuses { _ in } == nil)
    }

    @Test func `an answer has to fit its offer`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio, direction: .sendonly)
        _ = try alice.negotiator.addTransceiver(.video)
        let offer = try alice.offers().sdp
        _ = try bob.takes(offer)
        let answer = try bob.answers().sdp
        func refuses(_ change: (inout SessionDescription) -> Void) -> NegotiationError? {
            var changed = answer
            change(&changed)
            var copy = alice
            do { _ = try copy.negotiator.setRemote(.answer, changed) } catch { return error }
            return nil
        }
        func replace(_ name: String, _ value: some SDPAttributeValue, in section: inout MediaDescription) {
            section.removeAttributes(named: name)
            section.append(value)
        }
        #expect(refuses { $0.media.removeLast() } == .sectionsChanged(section: 1))
        #expect(refuses { $0.media.append($0.media[0]) } == .sectionsChanged(section: 2))
        #expect(refuses { replace("mid", SDP.Mid("5"), in: &$0.media[1]) } == .invalidBundleGroup)
        #expect(refuses { $0.media[1].kind = "audio" } == .sectionsChanged(section: 1))
        #expect(refuses { $0.media[1].removeAttributes(named: "rtcp-mux") } == .rtcpMuxRequired(section: 1))
        #expect(refuses { $0.removeAttributes(named: "group") } == .notBundled(section: 1))
        #expect(
            refuses { description in
                description.removeAttributes(named: "group")
                description.append(SDP.Group(semantics: "BUNDLE", mids: ["0"]))
            } == .notBundled(section: 1))
        #expect(refuses { replace("setup", SDP.Setup.actpass, in: &$0.media[0]) } == .invalidSetup)
        #expect(refuses { $0.media[1].formats = ["0"] } == .noCommonCodec(section: 1))
        #expect(refuses { _ in } == nil)
    }

    @Test func `the number of transceivers is limited, ours and the peer's`() throws {
        var alice = Party("alice")
        for _ in 0..<4 { _ = try alice.negotiator.addTransceiver(.audio) }
        var bob = Party("bob") { $0.maximumTransceivers = 3 }
        let offer = try alice.offers().sdp
        #expect(throws: NegotiationError.tooManyTransceivers) { try bob.takes(offer) }
        #expect(bob.negotiator.transceivers.isEmpty)
    }

    @Test func `a stopped transceiver takes no commands`() throws {
        var (alice, _) = try RenegotiationTests.call()
        let id = alice.negotiator.transceivers[0].id
        try alice.negotiator.setDirection(.stopped, of: id)
        #expect(try alice.negotiator.stop(id).isEmpty)
        #expect(throws: NegotiationError.transceiverStopped) { try alice.negotiator.setDirection(.sendrecv, of: id) }
        #expect(throws: NegotiationError.transceiverStopped) { try alice.negotiator.setStreams([], of: id) }
        #expect(throws: NegotiationError.transceiverStopped) { try alice.negotiator.setCodecPreferences([], of: id) }
    }

    @Test func `errors have W3C's names, and words without secrets`() {
        #expect(NegotiationError.closed.w3cName == .invalidState)
        #expect(NegotiationError.wrongState(.stable, .answer, .local).w3cName == .invalidState)
        #expect(NegotiationError.modifiedDescription.w3cName == .invalidModification)
        #expect(NegotiationError.missingFingerprint.w3cName == .invalidAccess)
        #expect(NegotiationError.unknownSection.w3cName == .operation)
        #expect(NegotiationError.candidateWithoutSection.w3cName == .type)
        #expect(
            "\(NegotiationError.wrongState(.haveLocalOffer, .offer, .remote))"
                == "A remote offer cannot be used while the signaling state is have-local-offer.")
    }
}
