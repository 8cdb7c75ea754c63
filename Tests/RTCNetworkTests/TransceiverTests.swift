import RTCEngine
import RTCNetwork
import RTCWire
import Testing

/// What can be said of a transceiver between negotiations.
@Suite(.timeLimit(.minutes(2))) struct TransceiverTests {
    /// Offers and answers once more.
    private func negotiate(_ pair: ConnectedPair) async throws {
        let offer = try await pair.offerer.setLocalDescription()
        try await pair.answerer.setRemoteDescription(offer)
        let answer = try await pair.answerer.setLocalDescription()
        try await pair.offerer.setRemoteDescription(answer)
    }

    @Test func `preferred codecs are what is sent after the next negotiation, and unknown ones are refused`()
        async throws
    {
        let pair = try await ConnectedPair.connected()
        #expect(await pair.offerer.sendingFormat(of: pair.offererVideo) == .h264)
        try await pair.offerer.setCodecPreferences([.vp8], of: pair.offererVideo)
        #expect(await pair.offerer.sendingFormat(of: pair.offererVideo) == .h264, "nothing is negotiated yet")
        try await negotiate(pair)
        #expect(await pair.offerer.sendingFormat(of: pair.offererVideo) == .vp8)
        #expect(await pair.answerer.sendingFormat(of: pair.answererVideo) == .vp8)
        try await pair.offerer.setCodecPreferences([], of: pair.offererVideo)
        try await negotiate(pair)
        #expect(await pair.offerer.sendingFormat(of: pair.offererVideo) == .vp8, "what is in use stays")
        #expect(await pair.offerer.localDescription?.sdp.contains("H264/90000") == true)
        await #expect(throws: PeerConnectionError.peer(.negotiation(.unknownCodec))) {
            try await pair.offerer.setCodecPreferences([.h265], of: pair.offererVideo)
        }
        await pair.close()
        await #expect(throws: PeerConnectionError.peer(.closed)) {
            try await pair.offerer.setCodecPreferences([.vp8], of: pair.offererVideo)
        }
    }

    @Test func `giving way is one step, and negotiation is said to be needed after it`() async throws {
        let polite = PeerConnection(configuration: try ConnectedPair.configuration())
        let other = PeerConnection(configuration: try ConnectedPair.configuration())
        let events = polite.events
        _ = try await polite.addTransceiver(.audio)
        _ = try await other.addTransceiver(.video)
        try await polite.setLocalDescription()
        let offer = try await other.setLocalDescription()
        await #expect(throws: PeerConnectionError.peer(.negotiation(.wrongState(.haveLocalOffer, .offer, .remote)))) {
            try await polite.setRemoteDescription(offer, glare: .refuse)
        }
        try await polite.setRemoteDescription(offer)
        #expect(await polite.signalingState == .haveRemoteOffer)
        try await polite.setLocalDescription()
        await polite.close()
        var seen: [String] = []
        for await event in events {
            switch event {
            case .negotiationNeeded: seen.append("needed")
            case .signalingStateChange(let state): seen.append(state.rawValue)
            default: break
            }
        }
        #expect(seen == ["needed", "have-local-offer", "stable", "have-remote-offer", "stable", "needed"])
        await other.close()
    }

    @Test func `who gave way hears of candidates and of their end for the answer too`() async throws {
        let polite = PeerConnection(configuration: try ConnectedPair.configuration())
        let other = PeerConnection(configuration: try ConnectedPair.configuration())
        let first = polite.events
        _ = try await polite.addTransceiver(.audio)
        _ = try await other.addTransceiver(.audio)
        try await polite.setLocalDescription()
        for await event in first { if case .iceGatheringStateChange(.complete) = event { break } }
        try await polite.setRemoteDescription(try await other.setLocalDescription())
        let second = polite.events
        try await polite.setLocalDescription()
        var candidates: [String] = []
        for await event in second {
            if case .iceCandidate(let candidate) = event { candidates.append(candidate.candidate) }
            if case .iceGatheringStateChange(.complete) = event { break }
        }
        #expect(candidates.count >= 2 && candidates.last == "")
        for connection in [polite, other] { await connection.close() }
    }

    @Test func `stopping twice is fine, also what the peer has never heard of`() async throws {
        let connection = PeerConnection(configuration: try ConnectedPair.configuration())
        let transceiver = try await connection.addTransceiver(.audio)
        try await connection.stop(transceiver)
        try await connection.stop(transceiver)
        // Nothing is offered, and nothing gathered for it.
        try await connection.setLocalDescription()
        #expect(await connection.iceGatheringState == .new)
        try await connection.setLocalDescription(SessionDescriptionInit(type: .offer, sdp: ""))
        await connection.close()
    }

    @Test func `what encoders should make is told to all who listen, follows the limits, and ends with the connection`()
        async throws
    {
        let pair = try await ConnectedPair.connected()
        #expect(try await pair.carriesFrames(10))
        let video = pair.offererVideo.id
        let targets = pair.offerer.targetBitrates
        // What was told before is kept for who listens first.
        for await target in targets {
            #expect(target.shares.map(\.transceiver) == [video])
            #expect(target[video] == target.available && target.available >= .kilobits(30))
            break
        }
        let others = pair.offerer.targetBitrates
        // No path is thought to carry less.
        try await pair.offerer.setBitrateLimits(
            SenderBitrateLimits(maximum: .kilobits(30)), of: pair.offererVideo)
        for listener in [targets, others] {
            var share: Bitrate?
            for await target in listener {
                share = target[video]
                if share == .kilobits(30) { break }
            }
            #expect(share == .kilobits(30))
        }
        await pair.close()
        for listener in [targets, others] { for await _ in listener {} }
        await #expect(throws: PeerConnectionError.peer(.closed)) {
            try await pair.offerer.setBitrateLimits(.video, of: pair.offererVideo)
        }
    }

    @Test func `other streams are told to the peer with the next offer`() async throws {
        let pair = try await ConnectedPair.connected()
        try await pair.offerer.setStreams(["screen", "camera"], of: pair.offererVideo)
        try await negotiate(pair)
        let offer = try #require(await pair.answerer.remoteDescription).sdp
        #expect(offer.contains("a=msid:screen "))
        #expect(offer.contains("a=msid:camera "))
        await pair.close()
    }

    @Test
    func
        `a transceiver that is stopped has no direction left, and its section is rejected unless the bundle stands on it`()
        async throws
    {
        let pair = try await ConnectedPair.connected()
        #expect(await pair.offerer.mid(of: pair.offererVideo) == "0")
        #expect(await pair.offerer.direction(of: pair.offererVideo) == .sendrecv)
        try await pair.offerer.setDirection(.sendonly, of: pair.offererVideo)
        #expect(await pair.offerer.direction(of: pair.offererVideo) == .sendonly)
        #expect(await pair.offerer.currentDirection(of: pair.offererVideo) == .sendrecv)
        try await pair.offerer.stop(pair.offererVideo)
        try await pair.offerer.stop(pair.offererVideo)
        #expect(await pair.offerer.direction(of: pair.offererVideo) == .stopped)
        try await negotiate(pair)
        // The only section stands for the bundle, and stays for what comes.
        let answer = try #require(await pair.offerer.remoteDescription).sdp
        #expect(answer.contains("a=inactive"))
        #expect(await pair.offerer.transceivers.isEmpty)
        let sound = try await pair.offerer.addTransceiver(.audio)
        try await negotiate(pair)
        try await pair.offerer.stop(sound)
        try await negotiate(pair)
        #expect(try #require(await pair.offerer.remoteDescription).sdp.contains("m=audio 0 "))
        let theirs = await pair.answerer.transceivers
        #expect(theirs.map(\.kind) == [.video])
        await pair.close()
    }
}
