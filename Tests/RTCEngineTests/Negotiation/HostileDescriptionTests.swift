import RTCWire
import Testing

@testable import RTCEngine

/// Descriptions and candidates that are too many, too large, or contradict themselves.
@Suite struct HostileDescriptionTests {
    @Test func `an offer that replaces one without an answer leaves nothing of it behind`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        var offer = try alice.offers().sdp
        for number in 0..<300 {
            offer.media[0].removeAttributes(named: "mid")
            offer.media[0].append(SDP.Mid("m\(number)"))
            offer.removeAttributes(named: "group")
            offer.append(SDP.Group(semantics: "BUNDLE", mids: ["m\(number)"]))
            _ = try bob.takes(offer)
        }
        #expect(bob.negotiator.transceivers.map(\.mid) == ["m299"])
        #expect(try bob.answers().sdp.outline == ["m299 audio recvonly opus"])
        #expect(bob.negotiator.transceivers[0].receiveParameters?.mid == "m299")
    }

    @Test func `an offer that is set again keeps the transceivers, as their users have set them`() throws {
        var (alice, bob) = (Party("alice"), Party("bob"))
        _ = try alice.negotiator.addTransceiver(.video, direction: .sendonly)
        let offer = try alice.offers().sdp
        #expect(try bob.takes(offer).outline == ["have-remote-offer", "added 0", "track 0"])
        let id = bob.negotiator.transceivers[0].id
        try bob.negotiator.setCodecPreferences([.vp8], of: id)
        // Nobody hears of it, for nothing has changed.
        #expect(try bob.takes(offer).outline == [])
        #expect(bob.negotiator.transceivers.map(\.id) == [id])
        #expect(try bob.negotiator.addTrack(.video) == id)
        _ = try bob.takes(offer)
        #expect(bob.negotiator.transceivers.map(\.id) == [id])
        #expect(try bob.answers().sdp.outline == ["0 video recvonly VP8+rtx"])
    }

    @Test func `a replaced offer's track is told to have gone`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video)
        let first = try alice.offers().sdp
        #expect(try bob.takes(first).outline == ["have-remote-offer", "added 1", "track 1"])
        _ = try alice.negotiator.setLocal(.rollback)
        var second = first
        second.media.removeLast()
        second.removeAttributes(named: "group")
        second.append(SDP.Group(semantics: "BUNDLE", mids: ["0"]))
        #expect(try bob.takes(second).outline == ["track gone 1", "stopped 1"])
        #expect(try bob.answers().sdp.outline == ["0 audio sendrecv opus"])
    }

    @Test func `a section is in one BUNDLE group, once`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        let offer = try alice.offers().sdp
        for groups in [["0 1 1"], ["0 1", "1"], ["0", "0 1"]] {
            var bad = offer
            bad.removeAttributes(named: "group")
            for mids in groups { bad.append(SDPAttribute("group", "BUNDLE \(mids)")) }
            var bob = Party("bob")
            #expect(throws: NegotiationError.invalidBundleGroup) { try bob.takes(bad) }
        }
    }

    @Test func `a BUNDLE group may name sections that are not there, in an offer and not without end`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.video)
        func bundling(_ mids: [String]) throws -> SessionDescription {
            var offer = try alice.negotiator.createOffer(ice: alice.ice)
            offer.removeAttributes(named: "group")
            offer.append(SDP.Group(semantics: "BUNDLE", mids: mids))
            var bob = Party("bob")
            _ = try bob.takes(offer)
            return try bob.answers().sdp
        }
        let answer = try bundling(["sound", "0"])
        #expect(answer.outline == ["0 video recvonly H264+rtx VP8+rtx"])
        #expect(answer.bundleGroups == [["0"]])
        #expect(throws: NegotiationError.invalidBundleGroup) { try bundling(["0", "sound", "sound"]) }
        #expect(throws: NegotiationError.invalidBundleGroup) { try bundling((0...256).map { "\($0)" }) }
    }

    @Test func `two extensions with one identifier: the first counts`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        var offer = try alice.offers().sdp
        offer.media[0].removeAttributes(named: "extmap")
        offer.media[0].append(SDP.ExtensionMap(id: 3, uri: HeaderExtensionURI.mid))
        offer.media[0].append(SDP.ExtensionMap(id: 3, uri: HeaderExtensionURI.transportSequence))
        _ = try bob.takes(offer)
        let answer = try bob.answers().sdp
        #expect(answer.media[0].all(SDP.ExtensionMap.self).map(\.uri) == [HeaderExtensionURI.mid])
    }

    @Test func `candidates that never stop are kept up to a bound, in the description and for the agent`() throws {
        var (alice, _) = try RenegotiationTests.call()
        for number in 0..<1_000 {
            _ = try alice.negotiator.addRemoteCandidate(
                "candidate:\(number) 1 udp \(number + 1) 192.0.2.1 \(2_000 + number) typ host", mid: "0", mLineIndex: 0)
        }
        #expect(alice.negotiator.remoteDescription?.sdp.media[0].candidates.count == 256)
        #expect(alice.negotiator.transport.remoteCandidates.count == 256)
    }

    @Test func `the end of candidates of a section that is bundled away is not the transport's`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        _ = try bob.takes(alice.offers().sdp)
        _ = try bob.answers()
        #expect(try bob.negotiator.addRemoteCandidate("", mid: "1", mLineIndex: 1).isEmpty)
        #expect(
            try bob.negotiator.addRemoteCandidate(CandidateTests.host, mid: "0", mLineIndex: 0).outline == [
                "candidate 1"
            ])
        #expect(
            try bob.negotiator.addRemoteCandidate("", mid: "0", mLineIndex: 0).outline == ["endOfCandidates"])
    }

    @Test(.timeLimit(.minutes(20))) func `an offer of the largest size is taken or refused within moments`() throws {
        // What costs most: sections, each with as many lines as fit, about formats that nobody knows.
        var text = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-ufrag:abcd\r\n"
        text += "a=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 "
        text += [String](repeating: "AB", count: 32).joined(separator: ":") + "\r\na=setup:actpass\r\n"
        var section = 0
        while text.utf8.count < 250_000 {
            text += "m=video 9 UDP/TLS/RTP/SAVPF \((96...127).map { "\($0)" }.joined(separator: " "))\r\n"
            text += "a=mid:\(section)\r\na=rtcp-mux\r\n"
            for type in 96...127 {
                text += "a=rtpmap:\(type) X\(section)Y\(type)/90000\r\na=rtpmap:\(type) rtx/90000\r\n"
                text += "a=fmtp:\(type) apt=\(type)\r\n"
            }
            section += 1
        }
        let offer = try SessionDescription(parsing: text)
        var bob = Party("bob")
        _ = try bob.takes(offer)
        _ = try bob.answers()
        #expect(bob.negotiator.transceivers.isEmpty)
    }

    @Test func `names that the peer has used are not given to sections of ours`() {
        var mids = MidGenerator()
        #expect(mids.make() == "0")
        for name in ["3", "audio", "1", "007", "99999999999999999999"] { mids.reserve(name) }
        let next = mids.make()
        #expect(!["0", "1", "3"].contains(next))
        mids.reserve("\((Int(next) ?? 0) + 1)")
        #expect(mids.make() != next)
    }
}
