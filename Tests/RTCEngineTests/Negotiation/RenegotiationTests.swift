import RTCWire
import Testing

@testable import RTCEngine

@Suite struct RenegotiationTests {
    /// RFC 5888 lets descriptions be without, and old gateways' are.
    @Test func `an offer to a peer whose sections have no names gives them none`() throws {
        var offer = try CodecNegotiationTests.offer(formats: "96", ["a=rtpmap:96 VP8/90000"])
        offer.media[0].removeAttributes(named: "mid")
        offer.removeAttributes(named: "group")
        var bob = Party("bob")
        _ = try bob.takes(offer)
        let answer = try bob.answers().sdp
        #expect(answer.media[0].mid == nil)
        let next = try bob.offers().sdp
        #expect(next.media.count == 1)
        #expect(next.media[0].mid == nil)
        #expect(!next.text.contains("section 0"))
        #expect(!next.text.contains("a=group"))
    }

    /// A call with sound both ways.
    static func call() throws -> (alice: Party, bob: Party) {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.negotiator.addTrack(.audio)
        try negotiate(&alice, &bob)
        return (alice, bob)
    }

    @Test func `the caller adds video`() throws {
        var (alice, bob) = try Self.call()
        let video = try alice.negotiator.addTransceiver(.video)
        #expect(alice.negotiator.negotiationNeeded)
        let change = try negotiate(&alice, &bob)

        #expect(change.offer.outline == ["0 audio sendrecv opus", "1 video sendrecv H264+rtx VP8+rtx"])
        #expect(change.answererActions.outline == ["have-remote-offer", "added 1", "track 1", "stable", "receive 1"])
        // Pictures may come before the answer, so the receiver stands ready with the offer.
        #expect(
            change.offererActions.outline == [
                "have-local-offer", "receive 1", "stable", "end receiver 1", "send 1",
            ])
        #expect(alice.transceiver(video)?.currentDirection == .sendonly)
    }

    @Test func `a transceiver that has sent one track sends another with sources of its own`() throws {
        var (alice, bob) = try Self.call()
        let id = try #require(alice.negotiator.transceivers.first).id
        let before = try #require(alice.transceiver(id)?.sendParameters).ssrc
        _ = try alice.negotiator.setDirection(.inactive, of: id)
        try negotiate(&alice, &bob)
        try alice.negotiator.renewSources(of: id)
        try alice.negotiator.setStreams(["stream"], trackID: "other", of: id)
        _ = try alice.negotiator.setDirection(.sendonly, of: id)
        let change = try negotiate(&alice, &bob)
        let after = try #require(alice.transceiver(id)?.sendParameters).ssrc
        #expect(after != before)
        let section = change.offer.media[0]
        #expect(section.values(of: "msid") == ["stream other"])
        #expect(section.values(of: "ssrc").allSatisfy { $0.hasPrefix("\(after) ") })
        #expect(throws: NegotiationError.unknownTransceiver) {
            try alice.negotiator.renewSources(of: TransceiverID(rawValue: 99))
        }
    }

    /// RFC 8830 §2 forbids to write it; but browsers have, of a track that was removed and added again (jsep #842), and
    /// take it. RFC 9429 asks nobody to look at ids of tracks: sections are told apart by their mids.
    @Test func `two sections that name the same stream and the same track are two tracks`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        for _ in 0..<2 { _ = try alice.negotiator.addTransceiver(.audio, streamIDs: ["camera"]) }
        var offer = try alice.offers().sdp
        for index in offer.media.indices {
            offer.media[index].removeAttributes(named: "msid")
            offer.media[index].append(SDP.MediaStreamID(stream: "camera", track: "voice"))
        }
        let taken = try bob.takes(offer)
        #expect(taken.outline == ["have-remote-offer", "added 0", "added 1", "track 0", "track 1"])
        let answered = try bob.answers()
        #expect(bob.negotiator.transceivers.map(\.remoteTrackID) == ["voice", "voice"])
        #expect(bob.negotiator.transceivers.map(\.remoteStreamIDs) == [["camera"], ["camera"]])
        #expect(Set(bob.negotiator.routes.map(\.mid)) == ["0", "1"])
        // One of them ends, the other goes on.
        _ = try alice.negotiator.setRemote(.answer, answered.sdp)
        _ = try alice.negotiator.setDirection(.inactive, of: alice.negotiator.transceivers[0].id)
        let change = try bob.takes(alice.offers().sdp)
        #expect(change.outline.contains("track gone 0") && !change.outline.contains("track gone 1"))
    }

    @Test func `no description of ours names the same stream and the same track in two sections`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        func add(_ streams: [String], _ track: String) throws {
            _ = try alice.negotiator.addTransceiver(.audio, streamIDs: streams, trackID: track)
        }
        try add(["camera", "desk"], "voice")
        try add(["other"], "voice")
        try add(["desk"], "voice")
        try add(["camera"], "music")
        let offer = try negotiate(&alice, &bob).offer
        #expect(
            offer.media.map { $0.values(of: "msid") } == [
                ["camera voice", "desk voice"], ["other voice"], ["desk"], ["camera music"],
            ])
        #expect(bob.negotiator.transceivers.map(\.remoteStreamIDs).last == ["camera"])
        #expect(!alice.negotiator.negotiationNeeded)
        // Who has ended sending a track leaves its name to another.
        _ = try alice.negotiator.setDirection(.recvonly, of: alice.negotiator.transceivers[0].id)
        let next = try negotiate(&alice, &bob).offer
        #expect(next.media[2].values(of: "msid") == ["desk voice"])
    }

    /// SRTP forgets those that have ended, and would use a keystream twice.
    @Test func `no source comes twice in the life of a connection`() throws {
        var negotiator = try Self.call().0.negotiator
        let id = try #require(negotiator.transceivers.first).id
        var seen: Set<UInt32> = []
        for _ in 0..<20_000 {
            try negotiator.renewSources(of: id)
            let transceiver = try #require(negotiator.transceiver(id))
            #expect(seen.insert(transceiver.ssrc).inserted)
            #expect(seen.insert(transceiver.rtxSSRC).inserted)
        }
    }

    @Test func `the callee adds video`() throws {
        var (alice, bob) = try Self.call()
        _ = try bob.negotiator.addTransceiver(.video, direction: .sendonly)
        let change = try negotiate(&bob, &alice)
        #expect(change.offer.outline == ["0 audio sendrecv opus", "1 video sendonly H264+rtx VP8+rtx"])
        #expect(change.answer.outline == ["0 audio sendrecv opus", "1 video recvonly H264+rtx VP8+rtx"])
        // The association goes on: nothing about ICE or DTLS, and the callee, who is the client, stays it.
        #expect(change.offererActions.outline == ["have-local-offer", "stable", "send 1"])
        #expect(change.offer.media.map(\.setup) == [.actpass, .actpass])
        #expect(change.answer.media.map(\.setup) == [.passive, .passive])
    }

    @Test func `who has answered a sender, and then wants to send too, is to offer`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video, direction: .sendonly)
        let first = try negotiate(&alice, &bob)
        #expect(first.answer.outline == ["0 video recvonly H264+rtx VP8+rtx"])
        #expect(first.answer.media[0].values(of: "msid").isEmpty)
        #expect(!bob.negotiator.negotiationNeeded)

        let id = try bob.negotiator.addTrack(.video, streamIDs: ["camera"], trackID: "lens")
        #expect(bob.negotiator.transceivers.map(\.id) == [id])
        #expect(bob.negotiator.negotiationNeeded)
        let second = try negotiate(&bob, &alice)
        #expect(second.offer.outline == ["0 video sendrecv H264+rtx VP8+rtx"])
        #expect(!bob.negotiator.negotiationNeeded)

        // What the offer does not let him send is described all the same, and asking again would change nothing.
        let third = try negotiate(&alice, &bob)
        #expect(third.answer.outline == ["0 video recvonly H264+rtx VP8+rtx"])
        #expect(third.answer.media[0].values(of: "msid") == ["camera lens"])
        #expect(third.answer.media[0].values(of: "ssrc").isEmpty)
        #expect(!bob.negotiator.negotiationNeeded)
    }

    @Test func `hold and resume`() throws {
        var (alice, bob) = try Self.call()
        let id = alice.negotiator.transceivers[0].id
        try alice.negotiator.setDirection(.sendonly, of: id)
        #expect(alice.negotiator.negotiationNeeded)
        let held = try negotiate(&alice, &bob)
        #expect(held.answer.outline == ["0 audio recvonly opus"])
        #expect(held.offererActions.outline == ["have-local-offer", "stable", "end receiver 0", "track gone 0"])
        #expect(held.answererActions.outline == ["have-remote-offer", "stable", "end sender 0"])

        try alice.negotiator.setDirection(.inactive, of: id)
        let silent = try negotiate(&alice, &bob)
        #expect(silent.answer.outline == ["0 audio inactive opus"])
        #expect(
            silent.answererActions.outline == [
                "have-remote-offer", "track gone 0", "stable", "end receiver 0",
            ])

        try alice.negotiator.setDirection(.sendrecv, of: id)
        let resumed = try negotiate(&alice, &bob)
        #expect(resumed.answer.outline == ["0 audio sendrecv opus"])
        #expect(
            resumed.offererActions.outline == [
                "have-local-offer", "stable", "receive 0", "send 0", "track 0",
            ])
        #expect(resumed.answererActions.outline == ["have-remote-offer", "track 0", "stable", "receive 0", "send 0"])
    }

    @Test func `the state is told first, then tracks that end, then those that begin`() throws {
        var (alice, bob) = try Self.call()
        let audio = alice.negotiator.transceivers[0].id
        let video = try alice.negotiator.addTransceiver(.video)
        try alice.negotiator.setDirection(.inactive, of: audio)
        try negotiate(&alice, &bob)
        try alice.negotiator.setDirection(.sendonly, of: audio)
        try alice.negotiator.setDirection(.inactive, of: video)
        #expect(try bob.takes(alice.offers().sdp).outline == ["have-remote-offer", "track gone 1", "track 0"])
    }

    @Test func `a track ends with an answer of ours that does not take it, until one does`() throws {
        var (alice, bob) = try Self.call()
        let id = bob.negotiator.transceivers[0].id
        try bob.negotiator.setDirection(.sendonly, of: id)
        let refused = try negotiate(&alice, &bob)
        #expect(refused.answer.outline == ["0 audio sendonly opus"])
        #expect(refused.answererActions.outline == ["have-remote-offer", "stable", "end receiver 0", "track gone 0"])
        // Each offer brings it again.
        let again = try negotiate(&alice, &bob)
        #expect(again.answererActions.outline == ["have-remote-offer", "track 0", "stable", "track gone 0"])

        try bob.negotiator.setDirection(.sendrecv, of: id)
        let taken = try negotiate(&bob, &alice)
        #expect(taken.offererActions.outline == ["have-local-offer", "stable", "receive 0", "track 0"])
    }

    @Test func `a transceiver that is stopped leaves its section rejected, and the next one takes the place`() throws {
        var (alice, bob) = try Self.call()
        let video = try alice.negotiator.addTransceiver(.video)
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        #expect(try alice.negotiator.stop(video).outline == ["end sender 1"])
        #expect(alice.transceiver(video)?.direction == .stopped)
        #expect(alice.negotiator.negotiationNeeded)

        let stopped = try negotiate(&alice, &bob)
        #expect(stopped.offer.outline[1] == "1 video rejected")
        #expect(stopped.answer.outline[1] == "1 video rejected")
        #expect(stopped.offer.bundleGroups == [["0", "2"]])
        #expect(stopped.offererActions.outline == ["have-local-offer", "stable", "stopped 1"])
        #expect(
            stopped.answererActions.outline == [
                "have-remote-offer", "stable", "end receiver 1", "track gone 1", "stopped 1",
            ])
        #expect(alice.negotiator.transceivers.count == 2 && bob.negotiator.transceivers.count == 2)
        #expect(!alice.negotiator.negotiationNeeded)

        // The place is free for anything, and for either side.
        _ = try bob.negotiator.addTransceiver(.audio)
        let recycled = try negotiate(&bob, &alice)
        #expect(
            recycled.offer.outline == [
                "0 audio sendrecv opus", "3 audio sendrecv opus", "2 video recvonly H264+rtx VP8+rtx",
            ])
        #expect(
            recycled.answer.outline == [
                "0 audio sendrecv opus", "3 audio recvonly opus", "2 video sendonly H264+rtx VP8+rtx",
            ])
    }

    @Test func `the answerer stops a transceiver while answering`() throws {
        var (alice, bob) = try Self.call()
        _ = try alice.negotiator.addTransceiver(.video)
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        _ = try bob.negotiator.stop(bob.negotiator.transceivers[1].id)
        let (answer, _) = try bob.answers()
        #expect(answer.outline == ["0 audio sendrecv opus", "1 video inactive H264+rtx VP8+rtx"])
        #expect(try alice.negotiator.setRemote(.answer, answer).outline == ["stable", "end receiver 1"])
        // Only an offer ends it.
        #expect(bob.negotiator.transceivers.map(\.direction) == [.sendrecv, .stopped])
        #expect(bob.negotiator.negotiationNeeded)
        let end = try negotiate(&bob, &alice)
        #expect(end.offer.outline == ["0 audio sendrecv opus", "1 video rejected"])
        #expect(end.offererActions.outline == ["have-local-offer", "stable", "stopped 1"])
        #expect(end.answererActions.outline == ["have-remote-offer", "stable", "stopped 1"])
        #expect(alice.negotiator.transceivers.count == 1 && bob.negotiator.transceivers.count == 1)
        #expect(!bob.negotiator.negotiationNeeded)
    }

    /// libwebrtc names the transport by it and ends both together.
    @Test func `the section that the bundle stands on is inactive when its transceiver is stopped, and keeps its name`()
        throws
    {
        var (alice, bob) = try Self.call()
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        _ = try alice.negotiator.stop(alice.negotiator.transceivers[0].id)
        #expect(alice.negotiator.negotiationNeeded)

        let stopped = try negotiate(&alice, &bob)
        #expect(stopped.offer.outline == ["0 audio inactive opus", "1 video sendrecv H264+rtx VP8+rtx"])
        #expect(stopped.answer.outline == ["0 audio inactive opus", "1 video recvonly H264+rtx VP8+rtx"])
        #expect(stopped.offer.bundleGroups == [["0", "1"]])
        #expect(stopped.offererActions.outline == ["have-local-offer", "stable", "stopped 0"])
        #expect(
            stopped.answererActions.outline == [
                "have-remote-offer", "track gone 0", "stable", "end receiver 0", "end sender 0",
            ])
        // To the application it has ended.
        #expect(alice.negotiator.transceivers.map(\.mid) == ["1"])
        #expect(!alice.negotiator.negotiationNeeded && !bob.negotiator.negotiationNeeded)

        // The place is not another one's.
        _ = try alice.negotiator.addTransceiver(.audio)
        let added = try negotiate(&alice, &bob)
        #expect(
            added.offer.outline == [
                "0 audio inactive opus", "1 video sendrecv H264+rtx VP8+rtx", "2 audio sendrecv opus",
            ])
        #expect(added.offer.media[0].values(of: "msid").isEmpty && added.offer.media[0].values(of: "ssrc").isEmpty)
        // Also when all else has ended: the transport is there for what comes.
        for transceiver in alice.negotiator.transceivers { _ = try alice.negotiator.stop(transceiver.id) }
        let ended = try negotiate(&alice, &bob).offer
        #expect(ended.outline == ["0 audio inactive opus", "1 video rejected", "2 audio rejected"])
        #expect(ended.bundleGroups == [["0"]])
        #expect(alice.negotiator.transceivers.isEmpty)
        _ = try alice.negotiator.addTransceiver(.video)
        let again = try negotiate(&alice, &bob).offer
        #expect(
            again.outline == ["0 audio inactive opus", "3 video sendrecv H264+rtx VP8+rtx", "2 audio rejected"])
    }

    @Test func `where everything is rejected the bundle is empty, and not missing`() throws {
        var (alice, bob) = try Self.call()
        for transceiver in bob.negotiator.transceivers { _ = try bob.negotiator.stop(transceiver.id) }
        var (offer, _) = try bob.offers()
        for index in offer.media.indices { offer.media[index].port = 0 }
        _ = try alice.takes(offer)
        let answer = try alice.answers().sdp
        #expect(answer.media.allSatisfy { $0.isRejected })
        #expect(answer.text.contains("a=group:BUNDLE\r\n"))
        #expect(try SessionDescription(parsing: answer.text).bundleGroups == [[]])
    }

    @Test func `an offer that was made before a transceiver was stopped may still be set, and takes its name`() throws {
        var (alice, bob) = try Self.call()
        let video = try alice.negotiator.addTransceiver(.video)
        let offer = try alice.negotiator.createOffer(ice: alice.ice)
        _ = try alice.negotiator.stop(video)
        _ = try alice.negotiator.setLocal(.offer, offer)
        _ = try bob.takes(offer)
        _ = try alice.negotiator.setRemote(.answer, try bob.answers().sdp)
        #expect(alice.negotiator.negotiationNeeded)
        _ = try alice.negotiator.addTransceiver(.audio)
        let next = try negotiate(&alice, &bob).offer
        #expect(next.outline == ["0 audio sendrecv opus", "1 video rejected", "2 audio sendrecv opus"])
        #expect(Set(next.media.map(\.mid)).count == 3)
    }

    @Test func `one that was thrown away with its offer is nobody's`() throws {
        var (alice, bob) = try Self.call()
        let video = try alice.negotiator.addTransceiver(.video)
        _ = try alice.negotiator.createOffer(ice: alice.ice)
        _ = try alice.negotiator.stop(video)
        #expect(!alice.negotiator.negotiationNeeded)
        #expect(try negotiate(&alice, &bob).offer.outline == ["0 audio sendrecv opus"])
        #expect(alice.negotiator.transceivers.count == 1)
    }

    @Test func `a number for retransmissions that the peer gives to a codec is no longer ours`() throws {
        var registry = PayloadTypeRegistry()
        let first = registry.assign(.vp8)
        let ours = try #require(first?.rtxPayloadType)
        var sound = MediaDescription(kind: "audio", port: 9, proto: "UDP/TLS/RTP/SAVPF", formats: ["\(ours)"])
        sound.append(SDP.RTPMap(payloadType: ours, encoding: "opus", clockRate: 48_000, channels: 2))
        registry.learn(sound)
        let opus = registry.assign(.opus)
        let next = registry.assign(.vp8)
        #expect(opus?.payloadType == ours)
        #expect(next?.payloadType == CodecParameters.vp8.payloadType)
        #expect(next?.rtxPayloadType != nil && next?.rtxPayloadType != ours)
    }

    @Test func `what was stopped there does not come back with an offer of the peer's, but another track does`()
        throws
    {
        var (alice, bob) = try Self.call()
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        _ = try alice.negotiator.stop(alice.negotiator.transceivers[0].id)
        try negotiate(&alice, &bob)
        let same = try negotiate(&bob, &alice)
        #expect(same.offer.outline[0] == "0 audio sendrecv opus")
        #expect(same.answer.outline[0] == "0 audio inactive opus")
        #expect(alice.negotiator.transceivers.map(\.mid) == ["1"])

        try bob.negotiator.setStreams([], trackID: "other", of: bob.negotiator.transceivers[0].id)
        let (offer, _) = try bob.offers()
        #expect(try alice.takes(offer).outline == ["have-remote-offer", "added 2", "track 2"])
        _ = try alice.negotiator.setRemote(.rollback)
        #expect(alice.negotiator.transceivers.map(\.mid) == ["1"])
        #expect(try alice.takes(offer).outline == ["have-remote-offer", "added 3", "track 3"])
        #expect(try alice.answers().sdp.outline[0] == "0 audio recvonly opus")
    }

    @Test func `stopping what the peer has never heard of needs no negotiation`() throws {
        var (alice, _) = try Self.call()
        let id = try alice.negotiator.addTransceiver(.video)
        #expect(try alice.negotiator.stop(id).outline == ["stopped 1"])
        #expect(!alice.negotiator.negotiationNeeded)
        #expect(try alice.negotiator.stop(id).outline == [], "it has ended")
        let unknown = TransceiverID(rawValue: 2)
        #expect(throws: NegotiationError.unknownTransceiver) { try alice.negotiator.stop(unknown) }
    }

    @Test func `payload types and identifiers stay as the first offer had them, whoever offers`() throws {
        var alice = Party("alice") { $0.videoCodecs[0].payloadType = 109 }
        var bob = Party("bob") { $0.headerExtensions.reverse() }
        _ = try alice.negotiator.addTransceiver(.video)
        let first = try negotiate(&alice, &bob)
        _ = try bob.negotiator.addTransceiver(.video)
        let second = try negotiate(&bob, &alice)
        #expect(second.offer.media[1].codecs.map(\.payloadType) == [109, 96])
        #expect(second.offer.media[0].codecs.map(\.payloadType) == [109, 96])
        let before = Set(first.offer.media[0].all(SDP.ExtensionMap.self))
        #expect(Set(second.offer.media[1].all(SDP.ExtensionMap.self)) == before)
    }

    @Test func `a payload type that the peer gave away is not used for another codec`() throws {
        // The peer's offer has 96 and 102 for codecs of its own, and VP8 elsewhere.
        var alice = Party("alice") { $0.videoCodecs = [CodecParameters.vp8] }
        alice.negotiator = Negotiator(
            configuration: {
                var configuration = alice.negotiator.configuration
                configuration.videoCodecs = [
                    CodecParameters(payloadType: 102, name: "VP9", clockRate: 90_000),
                    CodecParameters(payloadType: 120, name: "VP8", clockRate: 90_000),
                ]
                return configuration
            }(), random: .seeded(1))
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        _ = try bob.negotiator.addTransceiver(.video)
        let (offer, _) = try bob.offers()
        // H.264 would have liked 102.
        #expect(offer.media[1].codecs.map { "\($0.name) \($0.payloadType)" } == ["H264 96", "VP8 120"])
    }

    @Test func `a later offer of the other side keeps the codec that is in use`() throws {
        var alice = Party("alice") { $0.videoCodecs = [.vp8, .h264] }
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video)
        _ = try bob.negotiator.addTrack(.video)
        try negotiate(&alice, &bob)
        #expect(bob.negotiator.transceivers[0].sendParameters?.codec.name == "VP8")
        #expect(try negotiate(&bob, &alice).offer.outline == ["0 video sendrecv VP8+rtx H264+rtx"])
        #expect(bob.negotiator.transceivers[0].sendParameters?.codec.name == "VP8")
    }

    @Test func `changed streams need a negotiation, and the peer hears of them`() throws {
        var (alice, bob) = try Self.call()
        try alice.negotiator.setStreams(["screen", "desk"], of: alice.negotiator.transceivers[0].id)
        #expect(alice.negotiator.negotiationNeeded)
        // The track goes on, in streams that are new to the peer.
        let change = try negotiate(&alice, &bob)
        #expect(change.answererActions.outline == ["have-remote-offer", "track 0", "stable"])
        #expect(!alice.negotiator.negotiationNeeded)
        #expect(bob.negotiator.transceivers[0].remoteStreamIDs == ["screen", "desk"])
        try alice.negotiator.setStreams(["desk"], of: alice.negotiator.transceivers[0].id)
        #expect(try negotiate(&alice, &bob).answererActions.outline == ["have-remote-offer", "track 0", "stable"])
        #expect(bob.negotiator.transceivers[0].remoteStreamIDs == ["desk"])
        // Another track, and told by an answer.
        try alice.negotiator.setStreams(["desk"], trackID: "film", of: alice.negotiator.transceivers[0].id)
        #expect(try negotiate(&bob, &alice).offererActions.outline == ["have-local-offer", "stable"])
        #expect(bob.negotiator.transceivers[0].remoteTrackID == "film")
    }

    @Test(arguments: ["-", "", "my stream", "a\r\nb", "ü"])
    func `the id of a stream that a description cannot name is refused`(id: String) throws {
        var (alice, _) = try Self.call()
        let transceiver = alice.negotiator.transceivers[0].id
        #expect(throws: NegotiationError.invalidStreamID) {
            try alice.negotiator.addTransceiver(.audio, streamIDs: ["desk", id])
        }
        #expect(throws: NegotiationError.invalidStreamID) { try alice.negotiator.addTrack(.video, streamIDs: [id]) }
        #expect(throws: NegotiationError.invalidStreamID) {
            try alice.negotiator.setStreams([id], of: transceiver)
        }
        #expect(!alice.negotiator.negotiationNeeded && alice.negotiator.transceivers.count == 1)
        // Each once.
        try alice.negotiator.setStreams(["desk", "screen", "desk"], of: transceiver)
        #expect(alice.negotiator.transceivers[0].streamIDs == ["desk", "screen"])
    }

    @Test func `of a peer that names no streams all tracks are in one`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        for kind in [MediaKind.audio, .video] {
            _ = try alice.negotiator.addTransceiver(kind, streamIDs: ["desk"])
        }
        let offer = try alice.offers().sdp
        var silent = offer
        for index in silent.media.indices { silent.media[index].removeAttributes(named: "msid") }
        _ = try bob.takes(silent)
        let streams = bob.negotiator.transceivers.map(\.remoteStreamIDs)
        #expect(streams[0].count == 1 && streams[0] == streams[1])
        _ = try bob.answers()
        // Where it names some, a track without any is in none.
        silent.media[0].append(SDP.MediaStreamID(stream: "desk", track: nil))
        _ = try bob.takes(silent)
        #expect(bob.negotiator.transceivers.map(\.remoteStreamIDs) == [["desk"], []])
    }

    @Test func `the session's version grows with every description`() throws {
        var (alice, bob) = try Self.call()
        let first = try #require(alice.negotiator.localDescription?.sdp.origin)
        try negotiate(&alice, &bob)
        let second = try #require(alice.negotiator.localDescription?.sdp.origin)
        #expect(first.sessionID == second.sessionID)
        #expect(first.sessionVersion < second.sessionVersion)
    }

    @Test func `nothing changes once it is closed`() throws {
        var (alice, _) = try Self.call()
        #expect(
            alice.negotiator.close().outline == [
                "closed", "end receiver 0", "end sender 0", "track gone 0", "stopped 0",
            ])
        #expect(throws: NegotiationError.closed) { try alice.negotiator.createOffer(ice: alice.ice) }
        #expect(throws: NegotiationError.closed) { try alice.negotiator.addTransceiver(.audio) }
        #expect(throws: NegotiationError.closed) { try alice.negotiator.setLocal(.rollback) }
        #expect(!alice.negotiator.negotiationNeeded)
    }
}
