import RTCWire
import Testing

@testable import RTCEngine

@Suite struct TransportNegotiationTests {
    private func offer(_ change: (String) -> String = { $0 }) throws -> SessionDescription {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        return try SessionDescription(parsing: change(alice.offers().sdp.text))
    }

    struct Role: Sendable, CustomTestStringConvertible {
        var offered: String
        var configured: DTLSRole
        var answer: SDP.Setup
        var role: DTLSRole

        var testDescription: String { "\(offered), answered by \(configured)" }
    }

    static let roles: [Role] = [
        Role(offered: "a=setup:actpass\r\n", configured: .client, answer: .active, role: .client),
        Role(offered: "a=setup:actpass\r\n", configured: .server, answer: .passive, role: .server),
        Role(offered: "a=setup:active\r\n", configured: .client, answer: .passive, role: .server),
        Role(offered: "a=setup:passive\r\n", configured: .server, answer: .active, role: .client),
        Role(offered: "", configured: .client, answer: .active, role: .client),
    ]

    @Test(arguments: roles)
    func `the answer chooses the DTLS role that the offer leaves`(row: Role) throws {
        var bob = Party("bob") { $0.answeringDTLSRole = row.configured }
        _ = try bob.takes(offer { $0.replacing("a=setup:actpass\r\n", with: row.offered) })
        let (answer, actions) = try bob.answers()
        #expect(answer.media[0].setup == row.answer)
        #expect(actions.outline.contains("startDTLS \(row.role)"))
    }

    @Test func `the role stays when the other side offers later`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        let back = try negotiate(&bob, &alice)
        #expect(back.answer.media[0].setup == .passive)
        #expect(back.offererActions.outline == ["have-local-offer", "stable"])
        let forth = try negotiate(&alice, &bob)
        #expect(forth.answer.media[0].setup == .active)
    }

    @Test func `another role or certificate in mid-call is refused`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        let offer = try alice.offers().sdp.text
        let turned = offer.replacing("a=setup:actpass", with: "a=setup:active")
        #expect(throws: NegotiationError.dtlsAssociationChanged) {
            try bob.takes(SessionDescription(parsing: turned))
        }
        let print = try #require(SessionDescription(parsing: offer).media[0].values(of: "fingerprint").first)
        let other = "sha-256 " + Array(repeating: "00", count: 32).joined(separator: ":")
        #expect(throws: NegotiationError.dtlsAssociationChanged) {
            try bob.takes(SessionDescription(parsing: offer.replacing(print, with: other)))
        }
        // One that adds a hash of the same certificate is no other association.
        #expect(throws: Never.self) {
            try bob.takes(
                SessionDescription(parsing: offer.replacing(print, with: "\(print)\r\na=fingerprint:\(other)")))
        }
    }

    @Test func `a later answer that takes the role which is ours changes nothing`() throws {
        // Bob, who has answered, is the client.
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.takes(bob.offers().sdp)
        let answer = try alice.answers().sdp
        #expect(answer.media[0].setup == .passive)
        let turned = try SessionDescription(
            parsing: answer.text.replacing("a=setup:passive", with: "a=setup:active"))
        #expect(try bob.negotiator.setRemote(.answer, turned).outline == ["stable"])
        let next = try negotiate(&alice, &bob)
        #expect(next.answer.media[0].setup == .active)
        #expect(next.answererActions.outline == ["have-remote-offer", "stable"])
    }

    @Test func `a final answer with another role than its provisional one is refused`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        var bob = Party("bob")
        _ = try bob.takes(alice.offers().sdp)
        let answer = try bob.answers().sdp
        #expect(answer.media[0].setup == .active)
        let taken = try alice.negotiator.setRemote(.pranswer, answer)
        #expect(taken.outline.contains("startDTLS server"))
        let turned = try SessionDescription(
            parsing: answer.text.replacing("a=setup:active", with: "a=setup:passive"))
        #expect(throws: NegotiationError.dtlsAssociationChanged) { try alice.negotiator.setRemote(.answer, turned) }
        #expect(try alice.negotiator.setRemote(.answer, answer).outline == ["stable"])
    }

    @Test func `credentials and fingerprint may stand at session level`() throws {
        let text = try offer().text
        let names = ["a=ice-ufrag", "a=ice-pwd", "a=fingerprint", "a=setup"]
        let lines = text.split(separator: "\r\n").map(String.init)
        let moved = lines.filter { line in names.contains { line.hasPrefix($0) } }
        let kept = lines.filter { !moved.contains($0) }
        let split = try #require(kept.firstIndex { $0.hasPrefix("m=") })
        let rebuilt = (kept[..<split] + moved + kept[split...]).joined(separator: "\r\n")
        var bob = Party("bob")
        _ = try bob.takes(SessionDescription(parsing: rebuilt))
        #expect(
            try bob.answers().actions.outline.starts(with: [
                "stable", "iceRole controlled", "setRemoteICE alice-0", "startDTLS client",
            ]))
    }

    @Test func `who meets a lite agent controls`() throws {
        var bob = Party("bob")
        _ = try bob.takes(offer { $0.replacing("a=group", with: "a=ice-lite\r\na=group") })
        #expect(
            try bob.answers().actions.outline.starts(with: [
                "stable", "iceRole controlling", "setRemoteICE alice-0 lite",
            ])
        )
    }

    @Test func `the offerer restarts ICE, and the answer has to`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        alice.negotiator.restartICE()
        #expect(alice.negotiator.wantsICERestart && alice.negotiator.negotiationNeeded)
        alice.renewICE()
        let (offer, offering) = try alice.offers()
        #expect(offering.outline == ["have-local-offer", "restartICE alice-1"])
        #expect(try bob.takes(offer).outline == ["have-remote-offer"])
        #expect(bob.negotiator.answerNeedsNewICE)
        #expect(throws: NegotiationError.iceRestartUnanswered) { try bob.answers() }
        bob.renewICE()
        let (answer, answering) = try bob.answers()
        #expect(answering.outline == ["stable", "restartICE bob-1", "setRemoteICE alice-1"])
        #expect(try alice.negotiator.setRemote(.answer, answer).outline == ["stable", "setRemoteICE bob-1"])
        #expect(!alice.negotiator.wantsICERestart && !alice.negotiator.negotiationNeeded)
        #expect(!bob.negotiator.answerNeedsNewICE)
    }

    @Test func `a restart that is asked for while an offer is out comes with the next one`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        let (offer, _) = try alice.offers()
        alice.negotiator.restartICE()
        _ = try bob.takes(offer)
        #expect(!bob.negotiator.answerNeedsNewICE)
        _ = try alice.negotiator.setRemote(.answer, bob.answers().sdp)
        #expect(alice.negotiator.wantsICERestart && alice.negotiator.negotiationNeeded)

        alice.renewICE()
        let (restart, restarting) = try alice.offers()
        #expect(restarting.outline == ["have-local-offer", "restartICE alice-1"])
        // The paths of this one are lost, too.
        alice.negotiator.restartICE()
        _ = try bob.takes(restart)
        bob.renewICE()
        _ = try alice.negotiator.setRemote(.answer, bob.answers().sdp)
        #expect(alice.negotiator.wantsICERestart && alice.negotiator.negotiationNeeded)

        alice.renewICE()
        bob.renewICE()
        #expect(try negotiate(&alice, &bob).offer.iceParameters == Party.credential("alice", 2))
        #expect(!alice.negotiator.wantsICERestart && !alice.negotiator.negotiationNeeded)
    }

    @Test func `a restart that is asked for is had by answering the peer's, and not by another answer`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        bob.negotiator.restartICE()
        try negotiate(&alice, &bob)
        #expect(bob.negotiator.wantsICERestart && bob.negotiator.negotiationNeeded)
        alice.renewICE()
        bob.renewICE()
        try negotiate(&alice, &bob)
        #expect(!bob.negotiator.wantsICERestart && !bob.negotiator.negotiationNeeded)
    }

    @Test func `an answer with other credentials is followed though the offer restarts nothing`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try bob.takes(alice.offers().sdp)
        let renewed = try SessionDescription(
            parsing: bob.answers().sdp.text.replacing("a=ice-ufrag:bob-0", with: "a=ice-ufrag:bob-1"))
        #expect(try alice.negotiator.setRemote(.answer, renewed).outline == ["stable", "setRemoteICE bob-1"])
    }

    @Test func `the final answer to a restart has the credential of the provisional one`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        alice.negotiator.restartICE()
        alice.renewICE()
        _ = try bob.takes(alice.offers().sdp)
        bob.renewICE()
        let provisional = try bob.negotiator.createAnswer(ice: bob.ice)
        #expect(
            try bob.negotiator.setLocal(.pranswer).outline == [
                "have-local-pranswer", "restartICE bob-1", "setRemoteICE alice-1",
            ])
        let taken = try alice.negotiator.setRemote(.pranswer, overTheWire(provisional))
        #expect(taken.outline.contains("setRemoteICE bob-1"))
        #expect(!bob.negotiator.answerNeedsNewICE)
        let (answer, answering) = try bob.answers()
        #expect(answering.outline == ["stable"])
        #expect(try alice.negotiator.setRemote(.answer, answer).outline == ["stable"])
    }

    @Test func `an offer without credentials or fingerprint is refused`() throws {
        var bob = Party("bob")
        for (name, error) in [
            ("a=ice-ufrag", NegotiationError.missingICEParameters), ("a=ice-pwd", .missingICEParameters),
            ("a=fingerprint", .missingFingerprint),
        ] {
            let bare = try offer { text in
                text.split(separator: "\r\n").filter { !$0.hasPrefix(name) }.joined(separator: "\r\n")
            }
            #expect(throws: error) { try bob.takes(bare) }
        }
        #expect(bob.negotiator.signalingState == .stable)
        #expect(bob.negotiator.transceivers.isEmpty)
    }

    @Test func `a section without rtcp-mux, or outside the bundle, is rejected`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        let text = try alice.offers().sdp.text
        func answered(_ text: String) throws -> [String] {
            var bob = Party("bob")
            _ = try bob.takes(SessionDescription(parsing: text))
            return try bob.answers().sdp.outline
        }
        let half = text.split(separator: "m=video")
        let withoutMux = String(half[0]).replacing("a=rtcp-mux\r\n", with: "") + "m=video" + half[1]
        #expect(try answered(withoutMux) == ["0 audio rejected", "1 video recvonly H264+rtx VP8+rtx"])
        let unbundled = text.replacing("a=group:BUNDLE 0 1\r\n", with: "")
        #expect(try answered(unbundled) == ["0 audio recvonly opus", "1 video rejected"])
        let apart = text.replacing("BUNDLE 0 1", with: "BUNDLE 0\r\na=group:BUNDLE 1")
        #expect(try answered(apart) == ["0 audio recvonly opus", "1 video rejected"])
    }

    @Test func `an answer bundles in the offer's order, and makes no group of its own`() throws {
        var alice = Party("alice")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        let text = try alice.offers().sdp.text
        var bob = Party("bob")
        _ = try bob.takes(SessionDescription(parsing: text.replacing("BUNDLE 0 1", with: "BUNDLE 1 0")))
        #expect(try bob.answers().sdp.bundleGroups == [["1", "0"]])
        // What stands for the bundle by this answer does so in later offers.
        #expect(try bob.offers().sdp.bundleGroups == [["1", "0"]])
        var carol = Party("carol")
        _ = try carol.takes(SessionDescription(parsing: text.replacing("a=group:BUNDLE 0 1\r\n", with: "")))
        #expect(try carol.answers().sdp.bundleGroups.isEmpty)
    }

    @Test func `what stood for the bundle is still named first when a place before it is used again`() throws {
        var (alice, bob) = try RenegotiationTests.call()
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        // A peer that ends the first section lets the second one stand for the bundle.
        var (offer, _) = try bob.offers()
        offer.media[0].port = 0
        offer.removeAttributes(named: "group")
        offer.append(SDP.Group(semantics: "BUNDLE", mids: ["1"]))
        _ = try alice.takes(offer)
        #expect(try alice.answers().sdp.bundleGroups == [["1"]])
        _ = try alice.negotiator.addTransceiver(.audio)
        let next = try alice.offers().sdp
        #expect(next.outline == ["2 audio sendrecv opus", "1 video sendrecv H264+rtx VP8+rtx"])
        #expect(next.bundleGroups == [["1", "2"]])
        let place = try alice.negotiator.addLocalCandidate(ICECandidate(parsing: CandidateTests.host))
        #expect(place == CandidatePlace(mid: "1", mLineIndex: 1, usernameFragment: "alice-0"))
        let shown = try #require(alice.negotiator.localDescription?.sdp.media)
        #expect(shown.map(\.candidates.count) == [0, 1])
    }

    @Test func `the section that stands for the bundle is accepted without a known codec, and nothing flows in it`()
        throws
    {
        var alice = Party("alice") { $0.videoCodecs = [.av1] }
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video)
        _ = try alice.negotiator.addTransceiver(.audio)
        let first = try negotiate(&alice, &bob)
        #expect(first.answer.outline == ["0 video inactive AV1+rtx", "1 audio recvonly opus"])
        #expect(first.answer.bundleGroups == [["0", "1"]])
        #expect(first.answererActions.outline.contains("stopped 0"))
        #expect(bob.negotiator.transceivers.map(\.kind) == [.audio])
        #expect(!alice.negotiator.negotiationNeeded && !bob.negotiator.negotiationNeeded)
        // So it stays, whoever offers.
        let second = try negotiate(&alice, &bob)
        #expect(second.answer.outline == first.answer.outline)
        #expect(bob.negotiator.transceivers.map(\.kind) == [.audio])
        let third = try negotiate(&bob, &alice)
        #expect(third.offer.outline == ["0 video inactive AV1+rtx", "1 audio recvonly opus"])
        #expect(third.answer.outline == ["0 video inactive AV1+rtx", "1 audio sendonly opus"])
    }

    @Test func `what stood for the bundle without a known codec begins anew when it is offered with one`() throws {
        var alice = Party("alice") { $0.videoCodecs = [.av1, .vp8] }
        var bob = Party("bob")
        let video = try alice.negotiator.addTransceiver(.video)
        _ = try alice.negotiator.addTransceiver(.audio)
        try alice.negotiator.setCodecPreferences([.av1], of: video)
        #expect(try negotiate(&alice, &bob).answer.outline == ["0 video inactive AV1+rtx", "1 audio recvonly opus"])

        // RFC 8829 §5.10: a section without a transceiver gets one.
        try alice.negotiator.setCodecPreferences([], of: video)
        let change = try negotiate(&alice, &bob)
        #expect(change.offer.outline == ["0 video sendrecv AV1+rtx VP8+rtx", "1 audio sendrecv opus"])
        #expect(change.answer.outline == ["0 video recvonly VP8+rtx", "1 audio recvonly opus"])
        #expect(change.answer.bundleGroups == [["0", "1"]])
        #expect(change.answererActions.outline == ["have-remote-offer", "added 2", "track 2", "stable", "receive 2"])
        #expect(bob.negotiator.transceivers.map(\.mid) == ["1", "0"])
        #expect(alice.transceiver(video)?.currentDirection == .sendonly)
        #expect(!alice.negotiator.negotiationNeeded && !bob.negotiator.negotiationNeeded)

        // And ends again without it.
        try alice.negotiator.setCodecPreferences([.av1], of: video)
        let end = try negotiate(&alice, &bob)
        #expect(end.answer.outline == ["0 video inactive AV1+rtx", "1 audio recvonly opus"])
        #expect(
            end.answererActions.outline == [
                "have-remote-offer", "stable", "end receiver 2", "track gone 2", "stopped 2",
            ])
    }
}
