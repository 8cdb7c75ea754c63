import RTCWire
import Testing

@testable import RTCEngine

@Suite struct CandidateTests {
    static let host = "candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host"

    private func candidate(_ foundation: String, ufrag: String? = nil) throws -> ICECandidate {
        try ICECandidate(
            parsing: Self.host.replacing("candidate:1", with: "candidate:\(foundation)")
                + (ufrag.map { " ufrag \($0)" } ?? ""))
    }

    @Test func `ours appear in the local description, in the section that stands for the bundle`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        let place = try alice.negotiator.addLocalCandidate(candidate("7"))
        #expect(place == CandidatePlace(mid: "0", mLineIndex: 0, usernameFragment: "alice-0"))
        _ = try alice.negotiator.addLocalCandidate(candidate("7"))
        #expect(alice.negotiator.endOfLocalCandidates()?.mid == "0")
        let media = try #require(alice.negotiator.localDescription?.sdp.media)
        #expect(media.map { $0.candidates.map(\.foundation) } == [["7"], []])
        #expect(media[0].has(.endOfCandidates))
    }

    @Test func `before an answer says which section stands for the bundle, ours are in all of an offer's`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        for kind in [MediaKind.audio, .video] { _ = try alice.negotiator.addTransceiver(kind) }
        let offer = try alice.offers().sdp
        #expect(try alice.negotiator.addLocalCandidate(candidate("7"))?.mid == "0")
        _ = alice.negotiator.endOfLocalCandidates()
        let offered = try #require(alice.negotiator.localDescription?.sdp.media)
        #expect(offered.map { $0.candidates.map(\.foundation) } == [["7"], ["7"]])
        #expect(offered.allSatisfy { $0.has(.endOfCandidates) })
        // Whoever rejects the first finds them in the second.
        _ = try bob.takes(offer)
        var answer = try bob.answers().sdp
        answer.media[0].port = 0
        answer.removeAttributes(named: "group")
        answer.append(SDP.Group(semantics: "BUNDLE", mids: ["1"]))
        _ = try alice.negotiator.setRemote(.answer, answer)
        #expect(try alice.negotiator.addLocalCandidate(candidate("8"))?.mid == "1")
        let agreed = try #require(alice.negotiator.localDescription?.sdp.media)
        #expect(agreed.map { $0.candidates.map(\.foundation) } == [["7"], ["7", "8"]])
    }

    @Test func `later descriptions of the same generation have them from the start, a restart has none`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addLocalCandidate(candidate("7", ufrag: "alice-0"))
        #expect(try negotiate(&alice, &bob).offer.media[0].candidates.count == 1)
        alice.renewICE()
        let offer = try alice.offers().sdp
        #expect(offer.media[0].candidates.isEmpty)
        // A late one of the old generation goes nowhere, and does not make the new ones forgotten.
        #expect(try alice.negotiator.addLocalCandidate(candidate("8", ufrag: "alice-1"))?.usernameFragment == "alice-1")
        #expect(try alice.negotiator.addLocalCandidate(candidate("9", ufrag: "alice-0")) == nil)
        let shown = try #require(alice.negotiator.localDescription?.sdp.media[0].candidates)
        #expect(shown.map(\.foundation) == ["8"])
    }

    @Test func `an end that comes when the first offer is taken back is in the next description`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.negotiator.addTransceiver(.audio)
        _ = try alice.offers()
        _ = try alice.negotiator.addLocalCandidate(candidate("7", ufrag: "alice-0"))
        _ = try alice.negotiator.setLocal(.rollback)
        let untold = alice.negotiator.endOfLocalCandidates(of: "alice-0")
        #expect(untold == nil)
        _ = try alice.takes(bob.offers().sdp)
        let answer = try alice.negotiator.createAnswer(ice: alice.ice)
        #expect(answer.media[0].candidates.map(\.foundation) == ["7"])
        #expect(answer.media[0].has(.endOfCandidates))
        _ = try alice.answers()
        // That of a generation before says nothing of this one.
        let former = alice.negotiator.endOfLocalCandidates(of: "alice-1")
        #expect(former == nil)
        let present = alice.negotiator.endOfLocalCandidates(of: "alice-0")
        #expect(present?.mid == "0")
    }

    @Test func `the peer's wait for our answer, and come with it`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.takes(alice.offers().sdp)
        #expect(try bob.negotiator.addRemoteCandidate(Self.host, mid: "0", mLineIndex: nil).isEmpty)
        #expect(try bob.negotiator.addRemoteCandidate("", mid: "0", mLineIndex: 0).isEmpty)
        #expect(
            try bob.answers().actions.outline == [
                "stable", "iceRole controlled", "setRemoteICE alice-0", "startDTLS client", "candidate 1",
                "endOfCandidates", "receive 0",
            ])
        #expect(bob.negotiator.remoteDescription?.sdp.media[0].candidates.count == 1)
        #expect(bob.negotiator.remoteDescription?.sdp.media[0].has(.endOfCandidates) == true)
    }

    @Test func `after the answer they go straight to the agent, once`() throws {
        var (alice, _) = try RenegotiationTests.call()
        let text = Self.host
        #expect(try alice.negotiator.addRemoteCandidate(text, mid: "0", mLineIndex: nil).outline == ["candidate 1"])
        #expect(try alice.negotiator.addRemoteCandidate(text, mid: "0", mLineIndex: nil).isEmpty)
        #expect(
            try alice.negotiator.addRemoteCandidate("a=\(text.replacing(":1", with: ":2"))", mid: "", mLineIndex: 0)
                .outline == ["candidate 2"])
        #expect(try alice.negotiator.addRemoteCandidate("", mid: nil, mLineIndex: nil).outline == ["endOfCandidates"])
    }

    @Test func `candidates inside an answer go to the agent`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try bob.takes(alice.offers().sdp)
        _ = try bob.answers()
        _ = try bob.negotiator.addLocalCandidate(candidate("5"))
        _ = bob.negotiator.endOfLocalCandidates()
        let answer = try #require(bob.negotiator.localDescription?.sdp)
        #expect(
            try alice.negotiator.setRemote(.answer, answer).outline == [
                "stable", "setRemoteICE bob-0", "startDTLS server", "candidate 5", "endOfCandidates", "send 0",
            ])
    }

    @Test func `a candidate's generation decides which description gets it`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        alice.renewICE()
        _ = try bob.takes(alice.offers().sdp)
        // Of the old generation: for the transport that is up. Of the new one: for later.
        #expect(
            try bob.negotiator.addRemoteCandidate("\(Self.host) ufrag alice-0", mid: "0", mLineIndex: nil).outline
                == ["candidate 1"])
        #expect(
            try bob.negotiator.addRemoteCandidate(Self.host, mid: "0", mLineIndex: nil, usernameFragment: "alice-1")
                .isEmpty)
        #expect(throws: NegotiationError.unknownGeneration) {
            try bob.negotiator.addRemoteCandidate("\(Self.host) ufrag eve", mid: "0", mLineIndex: nil)
        }
        bob.renewICE()
        #expect(
            try bob.answers().actions.outline == [
                "stable", "restartICE bob-1", "setRemoteICE alice-1", "candidate 1",
            ])
    }

    @Test func `refuses what fits nowhere`() throws {
        var fresh = Party("alice")
        #expect(throws: NegotiationError.noRemoteDescription) {
            try fresh.negotiator.addRemoteCandidate(Self.host, mid: "0", mLineIndex: 0)
        }
        var (alice, _) = try RenegotiationTests.call()
        let rows: [(String, String?, Int?, NegotiationError)] = [
            (Self.host, nil, nil, .candidateWithoutSection),
            (Self.host, "9", nil, .unknownSection),
            (Self.host, "9", 0, .unknownSection),
            (Self.host, nil, 1, .unknownSection),
            (Self.host, nil, -1, .unknownSection),
            ("candidate:1 1 udp", "0", nil, .malformedCandidate(.truncated)),
            (Self.host.replacing("5000", with: "50000000"), "0", nil, .malformedCandidate(.port)),
        ]
        for (text, mid, index, error) in rows {
            #expect(throws: error) { try alice.negotiator.addRemoteCandidate(text, mid: mid, mLineIndex: index) }
        }
        // What we merely do not know is no error.
        let strange = [
            Self.host.replacing("udp", with: "quic"), Self.host.replacing("192.0.2.1", with: "host.example"),
        ]
        for text in strange {
            #expect(try alice.negotiator.addRemoteCandidate(text, mid: "0", mLineIndex: nil).isEmpty)
        }
    }

    @Test func `an end of candidates without a section is the end in all of them`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        for kind in [MediaKind.audio, .video] { _ = try alice.negotiator.addTransceiver(kind) }
        _ = try bob.takes(alice.offers().sdp)
        #expect(try bob.negotiator.addRemoteCandidate("", mid: nil, mLineIndex: nil).isEmpty)
        let sections = try #require(bob.negotiator.remoteDescription?.sdp.media)
        #expect(sections.map { $0.has(.endOfCandidates) } == [true, true])
        #expect(try bob.answers().actions.outline.contains("endOfCandidates"))
    }

    @Test func `candidates of sections that nobody uses leave room for those of the bundle`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        for _ in 0..<4 { _ = try alice.negotiator.addTransceiver(.video) }
        _ = try bob.takes(alice.offers().sdp)
        // A browser gathers for each section as long as it does not know of the bundle.
        func add(_ port: Int, _ mid: String) throws -> [NegotiationAction] {
            try bob.negotiator.addRemoteCandidate(
                Self.host.replacing("5000", with: "\(port)"), mid: mid, mLineIndex: nil)
        }
        for mid in ["1", "2", "3"] { for port in 1...100 { _ = try add(port, mid) } }
        _ = try add(5_000, "0")
        #expect(try bob.answers().actions.outline.filter { $0 == "candidate 1" }.count == 1)
        #expect(try add(5_001, "0").outline == ["candidate 1"])
        // One section of a peer that never stops, and then all of them.
        for port in 1...400 { _ = try add(port, "0") }
        for mid in ["1", "2", "3"] { for port in 1_000...2_000 { _ = try add(port, mid) } }
        let kept = try #require(bob.negotiator.remoteDescription?.sdp.media.map(\.candidates.count))
        #expect(kept == [256, 256, 256, 256])
    }
}
