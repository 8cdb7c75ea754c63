import RTCWire
import Testing

@testable import RTCEngine

/// Data channels in offers and answers (RFC 8841).
@Suite struct DataNegotiationTests {
    private func agreement(_ actions: [NegotiationAction]) -> [DataAgreement?] {
        actions.compactMap { if case .configureDataChannels(let agreement) = $0 { agreement } else { nil } }
    }

    @Test func `a channel asks for a section, and both sides agree on it`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        #expect(!alice.negotiator.negotiationNeeded)
        try alice.negotiator.wantDataChannels()
        #expect(alice.negotiator.negotiationNeeded)
        let exchange = try negotiate(&alice, &bob)
        for description in [exchange.offer, exchange.answer] {
            let section = try #require(description.media.first)
            #expect(section.port == 9 && section.proto == "UDP/DTLS/SCTP" && section.formats == ["webrtc-datachannel"])
            #expect(section.values(of: "sctp-port") == ["5000"])
            #expect(section.values(of: "max-message-size") == ["262144"])
            #expect(section.mid == "0")
            #expect(description.bundleGroups == [["0"]])
        }
        #expect(exchange.offer.media[0].setup == .actpass)
        #expect(exchange.answer.media[0].setup == .active)
        for actions in [exchange.offererActions, exchange.answererActions] {
            #expect(agreement(actions).map { $0?.remoteMaximumMessageSize } == [262_144])
            #expect(actions.outline.contains { $0.hasPrefix("startDTLS") })
        }
        #expect(!alice.negotiator.negotiationNeeded && !bob.negotiator.negotiationNeeded)
        // And it stays in later offers, of either side.
        #expect(try negotiate(&bob, &alice).offer.outline == ["0 application - "])
    }

    @Test func `a peer may be told of a smaller size than we take, and of no larger one`() throws {
        for (size, told) in [(65_536, 65_536), (300_000, 262_144)] {
            var alice = Party("alice") { $0.dataChannels.announcedMessageSize = size }
            var bob = Party("bob")
            try alice.negotiator.wantDataChannels()
            let exchange = try negotiate(&alice, &bob)
            #expect(exchange.offer.media[0].values(of: "max-message-size") == ["\(told)"])
            #expect(exchange.answer.media[0].values(of: "max-message-size") == ["262144"])
        }
    }

    @Test func `data stands behind media, and shares its transport`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        try alice.negotiator.wantDataChannels()
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.negotiator.addTrack(.audio)
        let exchange = try negotiate(&alice, &bob)
        #expect(exchange.offer.media.map(\.kind) == ["audio", "application"])
        #expect(exchange.answer.bundleGroups == [["0", "1"]])
        #expect(exchange.answererActions.outline.filter { $0.hasPrefix("startDTLS") }.count == 1)
    }

    @Test func `data that is offered first stands for the bundle, whatever of the media is rejected`() throws {
        var alice = Party("alice") { $0.dataChannels.isOfferedFirst = true }
        // Knows none of her codecs.
        var bob = Party("bob") { $0.videoCodecs = [] }
        try alice.negotiator.wantDataChannels()
        _ = try alice.negotiator.addTransceiver(.video)
        let exchange = try negotiate(&alice, &bob)
        #expect(exchange.offer.media.map(\.kind) == ["application", "video"])
        #expect(exchange.offer.bundleGroups == [["0", "1"]])
        #expect(exchange.answer.outline == ["0 application - ", "1 video rejected"])
        #expect(exchange.answer.bundleGroups == [["0"]])
        #expect(exchange.offererActions.outline.contains { $0.hasPrefix("startDTLS") })
        // What comes later comes behind it, too.
        _ = try alice.negotiator.addTransceiver(.audio)
        #expect(try negotiate(&alice, &bob).offer.media.map(\.kind) == ["application", "audio"])
    }

    @Test func `a call gets data channels later, and goes on`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        _ = try alice.negotiator.addTransceiver(.audio)
        try negotiate(&alice, &bob)
        try bob.negotiator.wantDataChannels()
        #expect(bob.negotiator.negotiationNeeded)
        let exchange = try negotiate(&bob, &alice)
        #expect(exchange.offererActions.outline == ["have-local-offer", "stable", "data"])
        #expect(exchange.answererActions.outline == ["have-remote-offer", "stable", "data"])
        #expect(exchange.answer.media.map(\.isRejected) == [false, false])
    }

    @Test func `what does not say how much it takes takes 64 KiB, and 0 is any size`() throws {
        for (line, limit) in [(nil, 65_536), ("0", nil), ("1000", 1_000)] as [(String?, Int?)] {
            var (alice, bob) = (Party("alice"), Party("bob"))
            try alice.negotiator.wantDataChannels()
            var (offer, _) = try alice.offers()
            offer.media[0].removeAttributes(named: "max-message-size")
            if let line { offer.media[0].append(SDPAttribute("max-message-size", line)) }
            _ = try bob.takes(offer)
            #expect(agreement(try bob.answers().actions).map { $0?.remoteMaximumMessageSize } == [limit])
        }
    }

    @Test func `a refusal is told, and a new channel asks again in the same place`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.dataChannels.acceptsOffers = false }
        try alice.negotiator.wantDataChannels()
        let exchange = try negotiate(&alice, &bob)
        #expect(exchange.answer.media[0].isRejected)
        #expect(agreement(exchange.offererActions) == [nil])
        #expect(agreement(exchange.answererActions) == [])
        #expect(!alice.negotiator.negotiationNeeded)
        try alice.negotiator.wantDataChannels()
        #expect(alice.negotiator.negotiationNeeded)
        // Who has a channel of its own accepts.
        try bob.negotiator.wantDataChannels()
        let second = try negotiate(&alice, &bob)
        #expect(second.answer.outline == ["1 application - "])
        #expect(agreement(second.offererActions).count == 1)
    }

    @Test func `a peer ends data channels by rejecting the section`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        try alice.negotiator.wantDataChannels()
        try negotiate(&alice, &bob)
        var (offer, _) = try alice.offers()
        offer.media[0].port = 0
        offer.removeAttributes(named: "group")
        _ = try bob.takes(offer)
        let (answer, actions) = try bob.answers()
        #expect(answer.media[0].isRejected)
        #expect(agreement(actions) == [nil])
    }

    @Test func `a rollback takes back what an offer brought`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        _ = try alice.negotiator.addTransceiver(.audio)
        try negotiate(&alice, &bob)
        try alice.negotiator.wantDataChannels()
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        _ = try bob.negotiator.setRemote(.rollback)
        #expect(bob.negotiator.data == DataSection())
        #expect(agreement(try alice.negotiator.setLocal(.rollback)) == [])
        #expect(alice.negotiator.negotiationNeeded)
        #expect(try negotiate(&alice, &bob).answer.media.map(\.isRejected) == [false, false])
    }

    @Test func `the drafts' form is answered in kind`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        try alice.negotiator.wantDataChannels()
        var (offer, _) = try alice.offers()
        offer.media[0].proto = "DTLS/SCTP"
        offer.media[0].formats = ["5000"]
        offer.media[0].removeAttributes(named: "sctp-port")
        offer.media[0].append(SDP.SCTPMap(port: 5_000, streams: 256))
        _ = try bob.takes(try overTheWire(offer))
        let (answer, actions) = try bob.answers()
        #expect(answer.text.contains("m=application 9 DTLS/SCTP 5000\r\n"))
        #expect(answer.media[0].values(of: "sctpmap") == ["5000 webrtc-datachannel 65535"])
        #expect(agreement(actions).count == 1)
    }

    @Test func `a second section for data is rejected`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        try alice.negotiator.wantDataChannels()
        var (offer, _) = try alice.offers()
        var second = offer.media[0]
        second.removeAttributes(named: "mid")
        second.append(SDP.Mid("more"))
        offer.media.append(second)
        offer.removeAttributes(named: "group")
        offer.append(SDP.Group(semantics: "BUNDLE", mids: ["0", "more"]))
        _ = try bob.takes(try overTheWire(offer))
        #expect(try bob.answers().sdp.media.map(\.isRejected) == [false, true])
    }

    @Test func `an answer that makes something else of the section is refused`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        try alice.negotiator.wantDataChannels()
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        var (answer, _) = try bob.answers()
        answer.media[0].formats = ["*"]
        #expect(throws: NegotiationError.noCommonCodec(section: 0)) {
            try alice.negotiator.setRemote(.answer, answer)
        }
        answer.media[0].formats = ["webrtc-datachannel"]
        answer.media[0].removeAttributes(named: "fingerprint")
        #expect(throws: NegotiationError.missingFingerprint) { try alice.negotiator.setRemote(.answer, answer) }
    }

    @Test func `our candidates are in the section of data when there is no other`() throws {
        var alice = Party("alice")
        try alice.negotiator.wantDataChannels()
        _ = try alice.offers()
        let place = alice.negotiator.endOfLocalCandidates()
        #expect(place?.mid == "0")
        #expect(alice.negotiator.localDescription?.sdp.media[0].has(.endOfCandidates) == true)
    }
}
