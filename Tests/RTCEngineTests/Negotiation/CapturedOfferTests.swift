import RTCWire
import Testing

@testable import RTCEngine

/// Offers and answers that other implementations have really made.
@Suite struct CapturedOfferTests {
    private func answer(_ name: String) throws -> (party: Party, offer: SessionDescription, answer: SessionDescription)
    {
        var bob = Party("bob")
        let offer = try CapturedOffers.load(name)
        _ = try bob.takes(offer)
        let (answer, _) = try bob.answers()
        return (bob, offer, answer)
    }

    @Test(arguments: [
        (
            "chromium_audio_video_offer",
            ["0 audio recvonly opus", "1 video recvonly VP8+rtx H264+rtx"], [["0", "1"]]
        ),
        (
            "chromium_gathered_offer",
            [
                "0 audio recvonly opus", "1 video recvonly VP8+rtx H264+rtx", "2 video inactive VP8+rtx H264+rtx",
                "3 application - ",
            ], [["0", "1", "2", "3"]]
        ),
        (
            "chromium_max_bundle_simulcast_offer",
            ["0 audio recvonly opus", "1 video recvonly VP8+rtx H264+rtx"], [["0", "1"]]
        ),
        ("firefox_audio_video_offer", ["0 audio recvonly opus", "1 video recvonly VP8+rtx"], [["0", "1"]]),
        (
            "firefox_gathered_offer",
            [
                "0 audio recvonly opus", "1 video recvonly VP8+rtx", "2 video inactive VP8+rtx", "3 application - ",
            ], [["0", "1", "2", "3"]]
        ),
        ("firefox_max_bundle_simulcast_offer", ["0 audio recvonly opus", "1 video recvonly VP8+rtx"], [["0", "1"]]),
        (
            "firefox_style_offer",
            ["0 audio recvonly opus", "1 video recvonly VP8+rtx H264+rtx", "2 application - "], [["0", "1", "2"]]
        ),
        (
            "safari_style_offer",
            ["0 audio recvonly opus", "1 video recvonly H264+rtx VP8+rtx", "2 application - "], [["0", "1", "2"]]
        ),
        (
            "aiortc_offer",
            ["0 audio recvonly opus", "1 video recvonly VP8+rtx H264+rtx", "2 application - "], [["0", "1", "2"]]
        ),
        (
            "py120_dual_publisher_offer",
            ["0 video recvonly VP8", "1 audio recvonly opus", "2 application - "], [["0", "1", "2"]]
        ),
        (
            "py120_resume_ice_restart_offer",
            ["0 video recvonly VP8", "1 audio recvonly opus", "2 application - "], [["0", "1", "2"]]
        ),
        ("server_subscriber_offer_datachannel_only", ["0 application - "], [["0"]]),
    ])
    func `is answered`(name: String, outline: [String], bundle: [[String]]) throws {
        let (_, _, answer) = try answer(name)
        #expect(answer.outline == outline)
        #expect(answer.bundleGroups == bundle)
    }

    @Test(arguments: [
        "py120_single_join_offer", "py120_single_vp8_simulcast_reoffer", "py120_single_h264_simulcast_reoffer",
    ])
    func `a conference's offer is answered section by section`(name: String) throws {
        let (_, offer, answer) = try answer(name)
        #expect(answer.media.map(\.kind) == offer.media.map(\.kind))
        #expect(answer.media.map(\.mid) == offer.media.map(\.mid))
        #expect(answer.media.allSatisfy { !$0.isRejected })
        for (ours, theirs) in zip(answer.media, offer.media) where ours.kind != "application" {
            let allowed = (theirs.direction ?? .sendrecv).reversed
            #expect(allowed.intersection(ours.direction ?? .sendrecv) == ours.direction)
            #expect(Set(ours.formats).isSubset(of: theirs.formats))
        }
    }

    /// What browsers answered the offer that `roost call` makes with two transceivers.
    @Test(arguments: [
        (
            "chromium_call_answer",
            [
                "0 audio sendrecv opus red PCMU PCMA telephone-event telephone-event",
                "1 video sendrecv H264+rtx VP8+rtx",
            ]
        ),
        (
            "firefox_call_answer",
            ["0 audio sendrecv opus PCMU PCMA telephone-event", "1 video sendrecv VP8+rtx"]
        ),
    ])
    func `a browser's answer is taken`(name: String, outline: [String]) throws {
        var ann = Party("ann") { $0.audioCodecs = CodecParameters.defaultAudio }
        _ = try ann.negotiator.addTransceiver(.audio)
        _ = try ann.negotiator.addTransceiver(.video)
        _ = try ann.offers()
        let answer = try CapturedOffers.load(name)
        #expect(answer.outline == outline)
        let actions = try ann.negotiator.setRemote(.answer, answer)
        // The browser is the DTLS client, as the answerer is to be (RFC 8842 §5.3).
        #expect(actions.outline.contains("startDTLS server"))
        #expect(actions.outline.first == "stable")
        for (transceiver, section) in zip(ann.negotiator.transceivers, answer.media) {
            #expect(transceiver.currentDirection == .sendrecv)
            // Its sources, and a track with the name that it has there.
            #expect(transceiver.receiveParameters?.sources?.primary == section.first(SDP.SourceAttribute.self)?.ssrc)
            #expect(transceiver.remoteTrackID == section.first(SDP.MediaStreamID.self)?.track)
        }
    }

    @Test func `only the bundle's own candidates of a first offer are used`() throws {
        var bob = Party("bob")
        let offer = try CapturedOffers.load("aiortc_offer")
        #expect(offer.media.map(\.candidates.count) == [2, 2, 2])
        _ = try bob.takes(offer)
        let actions = try bob.answers().actions
        #expect(actions.filter { $0.outline.hasPrefix("candidate") }.count == 2)
        #expect(actions.outline.contains("endOfCandidates"))
    }

    @Test func `all of aiortc's fingerprints are passed on`() throws {
        var bob = Party("bob")
        _ = try bob.takes(CapturedOffers.load("aiortc_offer"))
        let algorithms = try bob.answers().actions.compactMap { action -> [String]? in
            guard case .startDTLS(_, let fingerprints) = action else { return nil }
            return fingerprints.map(\.algorithm)
        }
        #expect(algorithms == [["sha-256", "sha-384", "sha-512"]])
    }

    @Test func `a data channel alone connects`() throws {
        var bob = Party("bob")
        _ = try bob.takes(try CapturedOffers.load("server_subscriber_offer_datachannel_only"))
        let (answer, actions) = try bob.answers()
        #expect(!answer.media[0].isRejected)
        #expect(actions.outline.last == "data")
        #expect(actions.outline.contains("startDTLS client"))
    }

    @Test func `a data channel alone that is refused leaves nothing to connect, and fails nothing`() throws {
        var bob = Party("bob") { $0.dataChannels.acceptsOffers = false }
        let offer = try CapturedOffers.load("server_subscriber_offer_datachannel_only")
        #expect(try bob.takes(offer).outline == ["have-remote-offer"])
        let (answer, actions) = try bob.answers()
        #expect(actions.outline == ["stable"])
        #expect(answer.media[0].proto == "UDP/DTLS/SCTP")
        #expect(answer.media[0].formats == ["webrtc-datachannel"])
        #expect(answer.media[0].port == 0)
        // And its place may be used.
        _ = try bob.negotiator.addTransceiver(.audio)
        #expect(try bob.offers().sdp.outline == ["1 audio sendrecv opus"])
    }

    @Test func `Chromium's track, streams and sources are known`() throws {
        let (bob, offer, _) = try answer("chromium_audio_video_offer")
        let video = bob.negotiator.transceivers[1]
        let msid = try #require(offer.media[1].first(SDP.MediaStreamID.self))
        #expect(video.remoteStreamIDs == [msid.stream])
        #expect(video.remoteTrackID == msid.track)
        let group = try #require(offer.media[1].first(SDP.SourceGroup.self))
        #expect(video.receiveParameters?.sources?.primary == group.ssrcs.first)
        #expect(video.receiveParameters?.sources?.rtx == group.ssrcs.last)
    }

    @Test func `Safari's H_265 without parameters is Main at level 3_1 (RFC 7798 7_1)`() throws {
        var bob = Party("bob") { $0.videoCodecs = [.h265] }
        let offer = try CapturedOffers.load("safari_style_offer")
        _ = try bob.takes(offer)
        let (answer, _) = try bob.answers()
        #expect(answer.media[1].codecs.map(\.payloadType) == [104])
        #expect(answer.media[1].codecs.map(\.rtxPayloadType) == [105])
        // And the fragment that begins with slashes is the peer's.
        #expect(offer.media[1].iceUsernameFragment == "//Q7")
    }

    @Test func `one of Chromium's answers to itself can be taken for ours`() throws {
        // What we would offer, answered by a party with Chromium's numbers, goes through a whole renegotiation.
        var (bob, offer, _) = try answer("chromium_audio_video_offer")
        _ = try bob.negotiator.addTransceiver(.video, direction: .sendonly)
        let (second, _) = try bob.offers()
        #expect(second.media.prefix(2).map(\.mid) == offer.media.map(\.mid))
        #expect(second.media[2].codecs.map(\.payloadType).allSatisfy { offer.media[1].payloadTypes.contains($0) })
        let known = Dictionary(
            uniqueKeysWithValues: offer.media[1].all(SDP.ExtensionMap.self).map { ($0.uri, $0.id) })
        // RFC 8285 §5: what has a number keeps it, and what is new takes none that is in use.
        for map in second.media[2].all(SDP.ExtensionMap.self) {
            if let id = known[map.uri] { #expect(id == map.id) } else { #expect(!known.values.contains(map.id)) }
        }
    }
}
