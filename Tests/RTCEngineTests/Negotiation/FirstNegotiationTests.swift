import RTCWire
import Testing

@testable import RTCEngine

@Suite struct FirstNegotiationTests {
    @Test func `a call with sound and pictures both ways`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let audio = try alice.negotiator.addTransceiver(.audio, streamIDs: ["camera"], trackID: "mic")
        let video = try alice.negotiator.addTransceiver(.video, streamIDs: ["camera"], trackID: "lens")
        _ = try bob.negotiator.addTrack(.audio)
        _ = try bob.negotiator.addTrack(.video)

        let call = try negotiate(&alice, &bob)

        #expect(call.offer.outline == ["0 audio sendrecv opus", "1 video sendrecv H264+rtx VP8+rtx"])
        #expect(call.answer.outline == ["0 audio sendrecv opus", "1 video sendrecv H264+rtx VP8+rtx"])
        #expect(call.offer.bundleGroups == [["0", "1"]])
        #expect(call.answer.bundleGroups == [["0", "1"]])
        #expect(
            call.offererActions.outline == [
                "have-local-offer", "iceRole controlling",
                "stable", "setRemoteICE bob-0", "startDTLS server",
                "receive 0", "send 0", "receive 1", "send 1", "track 0", "track 1",
            ])
        #expect(
            call.answererActions.outline == [
                "have-remote-offer", "track 0", "track 1",
                "stable", "iceRole controlled", "setRemoteICE alice-0", "startDTLS client",
                "receive 0", "send 0", "receive 1", "send 1",
            ])
        #expect(alice.transceiver(audio)?.currentDirection == .sendrecv)
        #expect(alice.transceiver(video)?.mid == "1")
        #expect(bob.negotiator.transceivers.map(\.remoteStreamIDs) == [["camera"], ["camera"]])
        #expect(bob.negotiator.transceivers.map(\.remoteTrackID) == ["mic", "lens"])
        #expect(!alice.negotiator.negotiationNeeded && !bob.negotiator.negotiationNeeded)
    }

    @Test func `both ends agree on who sends what as which source`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        let sent = try #require(alice.negotiator.transceivers[0].sendParameters)
        let received = try #require(bob.negotiator.transceivers[0].receiveParameters)

        #expect(received.sources == SignaledSources(primary: sent.ssrc, rtx: sent.rtxSSRC, cname: "alice"))
        #expect(received.mid == sent.mid)
        #expect(received.codecs == sent.codecs)
        #expect(received.extensions == sent.extensions)
        #expect(sent.codec.payloadFormat == .h264)
        #expect(sent.codec.feedback == CodecParameters.videoFeedback)
        #expect(sent.allowsReducedSizeRTCP && sent.allowsMixedExtensions)
        // Bob has nothing to send: his transceiver came with the offer.
        #expect(bob.negotiator.transceivers[0].sendParameters == nil)
        #expect(bob.negotiator.transceivers[0].direction == .recvonly)
        #expect(alice.negotiator.transceivers[0].currentDirection == .sendonly)
        #expect(alice.negotiator.transceivers[0].receiveParameters == nil)
    }

    struct Directions: Sendable, CustomTestStringConvertible {
        var offered: TransceiverDirection
        var wanted: TransceiverDirection
        var offerer: TransceiverDirection
        var answerer: TransceiverDirection

        var testDescription: String { "\(offered) meets \(wanted)" }
    }

    static let directions: [Directions] = [
        Directions(offered: .sendrecv, wanted: .sendrecv, offerer: .sendrecv, answerer: .sendrecv),
        Directions(offered: .sendrecv, wanted: .sendonly, offerer: .recvonly, answerer: .sendonly),
        Directions(offered: .sendrecv, wanted: .recvonly, offerer: .sendonly, answerer: .recvonly),
        Directions(offered: .sendrecv, wanted: .inactive, offerer: .inactive, answerer: .inactive),
        Directions(offered: .sendonly, wanted: .sendrecv, offerer: .sendonly, answerer: .recvonly),
        Directions(offered: .sendonly, wanted: .sendonly, offerer: .inactive, answerer: .inactive),
        Directions(offered: .recvonly, wanted: .sendrecv, offerer: .recvonly, answerer: .sendonly),
        Directions(offered: .recvonly, wanted: .recvonly, offerer: .inactive, answerer: .inactive),
        Directions(offered: .inactive, wanted: .sendrecv, offerer: .inactive, answerer: .inactive),
    ]

    @Test(arguments: directions)
    func `an answer allows what both want`(row: Directions) throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let id = try alice.negotiator.addTransceiver(.audio, direction: row.offered)
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        let other = bob.negotiator.transceivers[0].id
        try bob.negotiator.setDirection(row.wanted, of: other)
        let (answer, _) = try bob.answers()
        _ = try alice.negotiator.setRemote(.answer, answer)

        #expect(alice.transceiver(id)?.currentDirection == row.offerer)
        #expect(bob.transceiver(other)?.currentDirection == row.answerer)
        #expect((alice.transceiver(id)?.sendParameters != nil) == row.offerer.sends)
        #expect((alice.transceiver(id)?.receiveParameters != nil) == row.offerer.receives)
        #expect((bob.transceiver(other)?.sendParameters != nil) == row.answerer.sends)
    }

    struct Beyond: Sendable, CustomTestStringConvertible {
        var offered: TransceiverDirection
        var answered: SDP.Direction
        var offerer: TransceiverDirection

        var testDescription: String { "\(answered) answers \(offered)" }
    }

    static let beyond: [Beyond] = [
        Beyond(offered: .recvonly, answered: .sendrecv, offerer: .recvonly),
        Beyond(offered: .sendonly, answered: .sendrecv, offerer: .sendonly),
        Beyond(offered: .sendonly, answered: .sendonly, offerer: .inactive),
        Beyond(offered: .inactive, answered: .sendrecv, offerer: .inactive),
    ]

    /// As older Pions have it.
    @Test(arguments: beyond)
    func `of an answer that goes beyond the offer what was offered counts`(row: Beyond) throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let id = try alice.negotiator.addTransceiver(.audio, direction: row.offered)
        _ = try bob.takes(alice.offers().sdp)
        var answer = try bob.answers().sdp
        for direction in SDP.Direction.allCases { answer.media[0].removeAttributes(named: direction.rawValue) }
        answer.media[0].append(row.answered)
        let actions = try alice.negotiator.setRemote(.answer, answer)

        #expect(alice.transceiver(id)?.currentDirection == row.offerer)
        #expect((alice.transceiver(id)?.sendParameters != nil) == row.offerer.sends)
        #expect((alice.transceiver(id)?.receiveParameters != nil) == row.offerer.receives)
        #expect(actions.outline.contains("track 0") == row.offerer.receives)
        #expect(!alice.negotiator.negotiationNeeded)
        // What was not offered is to be offered, whatever the answer said of it.
        try alice.negotiator.setDirection(.sendrecv, of: id)
        #expect(alice.negotiator.negotiationNeeded)
    }

    @Test func `addTransceiver wants a section of its own, addTrack takes an offered one`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        let own = try bob.negotiator.addTransceiver(.audio)
        let track = try bob.negotiator.addTrack(.audio, trackID: "mic")
        try negotiate(&alice, &bob)

        #expect(bob.transceiver(track)?.mid == "0")
        #expect(bob.transceiver(own)?.mid == nil)
        #expect(bob.negotiator.negotiationNeeded)
        #expect(alice.negotiator.transceivers[0].remoteTrackID == "mic")
    }

    @Test func `a track goes to the transceiver that an offer has made`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        let (offer, _) = try alice.offers()
        let actions = try bob.takes(offer)
        #expect(actions.outline == ["have-remote-offer", "added 0", "track 0"])
        let id = try bob.negotiator.addTrack(.audio)
        #expect(bob.negotiator.transceivers.map(\.id) == [id])
        #expect(try bob.answers().sdp.outline == ["0 audio sendrecv opus"])
    }

    @Test func `provisional answers start the transport, the final one ends the exchange`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        let answer = try bob.negotiator.createAnswer(ice: bob.ice)
        #expect(
            try bob.negotiator.setLocal(.pranswer).outline == [
                "have-local-pranswer", "iceRole controlled", "setRemoteICE alice-0", "startDTLS client", "receive 0",
            ])
        #expect(
            try alice.negotiator.setRemote(.pranswer, answer).outline == [
                "have-remote-pranswer", "setRemoteICE bob-0", "startDTLS server", "send 0",
            ])
        #expect(try bob.negotiator.setLocal(.answer).outline == ["stable"])
        #expect(try alice.negotiator.setRemote(.answer, answer).outline == ["stable"])
        #expect(alice.negotiator.currentRemoteDescription?.type == .answer)
    }

    @Test func `an offer without transceivers is one without sections`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let call = try negotiate(&alice, &bob)
        #expect(call.offer.media.isEmpty && call.answer.media.isEmpty)
        #expect(call.answererActions.outline == ["have-remote-offer", "stable"])
    }

    @Test func `mids do not come twice, not even those of the peer`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        try negotiate(&alice, &bob)
        _ = try bob.negotiator.addTransceiver(.video)
        #expect(try negotiate(&bob, &alice).offer.media.map(\.mid) == ["0", "1"])
    }
}
