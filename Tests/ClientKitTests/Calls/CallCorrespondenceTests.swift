import Testing

@testable import ClientKit

/// Four people in one room; every message reaches everybody.
@Suite struct CallCorrespondenceTests {
    private static func description(
        _ kind: SessionDescriptionPayload.Kind, certificate: String, from sender: String? = nil,
        to receiver: String? = nil
    ) -> SessionDescriptionPayload {
        var payload = SessionDescriptionPayload(
            type: kind, sdp: "v=0\r\na=fingerprint:sha-256 \(certificate)\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n")
        payload.fromCall = sender
        payload.toCall = receiver
        return payload
    }

    private static func candidate(from sender: String?, to receiver: String?) -> CallFact {
        var payload = IceCandidatePayload(candidate: "candidate:1 1 udp 1 192.0.2.1 9 typ host")
        payload.fromCall = sender
        payload.toCall = receiver
        return .candidateReceived(payload)
    }

    @Test func `a callee stays with the caller whose offer came first`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let verdicts = bob.verdicts(
            .offerReceived(Self.description(.offer, certificate: "AA", from: "ann")),
            .offerReceived(Self.description(.offer, certificate: "CC", from: "cid")),
            Self.candidate(from: "cid", to: nil),
            Self.candidate(from: "ann", to: nil),
            .offerReceived(Self.description(.offer, certificate: "aa", from: "ann", to: "bob")))
        #expect(verdicts == [true, false, false, true, true])
    }

    @Test func `a caller takes no answer that is meant for another caller`() {
        var cid = CallCorrespondence(role: .caller, call: "cid")
        let verdicts = cid.verdicts(
            .answerReceived(Self.description(.answer, certificate: "BB", from: "bob", to: "ann")),
            .answerReceived(Self.description(.answer, certificate: "BB", from: "bob", to: "cid")))
        #expect(verdicts == [false, true])
    }

    @Test func `a caller takes no offer before somebody has answered`() {
        var ann = CallCorrespondence(role: .caller, call: "ann")
        let verdicts = ann.verdicts(
            .offerReceived(Self.description(.offer, certificate: "CC")),
            .answerReceived(Self.description(.answer, certificate: "BB")),
            .offerReceived(Self.description(.offer, certificate: "BB")))
        #expect(verdicts == [false, true, true])
    }

    @Test func `without names the certificate tells a stranger from the partner`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let verdicts = bob.verdicts(
            .offerReceived(Self.description(.offer, certificate: "AA")),
            .offerReceived(Self.description(.offer, certificate: "CC")),
            .offerReceived(Self.description(.offer, certificate: "AA")))
        #expect(verdicts == [true, false, true])
    }

    @Test func `a stranger who borrows the partner's name has another certificate`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let verdicts = bob.verdicts(
            .offerReceived(Self.description(.offer, certificate: "AA", from: "ann")),
            .offerReceived(Self.description(.offer, certificate: "CC", from: "ann", to: "bob")))
        #expect(verdicts == [true, false])
    }

    @Test func `the partner's certificate beside a stranger's is a stranger's`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let both = "AA\r\na=fingerprint:sha-256 CC"
        let verdicts = bob.verdicts(
            .offerReceived(Self.description(.offer, certificate: "AA")),
            .offerReceived(Self.description(.offer, certificate: both)))
        #expect(verdicts == [true, false])
    }

    @Test func `a description without a certificate is nobody's`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let verdicts = bob.verdicts(
            .offerReceived(Self.description(.offer, certificate: "AA")),
            .offerReceived(SessionDescriptionPayload(type: .offer, sdp: "v=0\r\n")))
        #expect(verdicts == [true, false])
    }

    @Test func `whoever is not called by name leaves the offer alone`() {
        var ann = CallCorrespondence(role: .caller, call: "ann", username: "Ann", callee: "Bob")
        let description = Self.description(.offer, certificate: "AA")
        guard case .offer(let offer) = ann.addressed(.offer(description)) else { return }
        #expect(offer.fromUser == "Ann" && offer.toUser == "Bob")
        var bob = CallCorrespondence(role: .callee, call: "bob", username: "Bob")
        var cid = CallCorrespondence(role: .callee, call: "cid", username: "Cid")
        #expect(bob.verdicts(.offerReceived(offer)) == [true])
        #expect(cid.verdicts(.offerReceived(offer)) == [false])
        // Once somebody has answered, the calls' names tell who is meant.
        _ = ann.accepts(.answerReceived(Self.description(.answer, certificate: "BB", from: "bob", to: "ann")))
        guard case .offer(let next) = ann.addressed(.offer(description)) else { return }
        #expect(next.toUser == nil && next.toCall == "bob")
    }

    @Test func `what goes out names both calls, as far as they are known`() {
        var bob = CallCorrespondence(role: .callee, call: "bob")
        let candidate = IceCandidatePayload(candidate: "")
        guard case .candidate(let early) = bob.addressed(.candidate(candidate)) else { return }
        #expect(early.fromCall == "bob")
        #expect(early.toCall == nil)
        _ = bob.accepts(.offerReceived(Self.description(.offer, certificate: "AA", from: "ann")))
        guard case .answer(let answer) = bob.addressed(.answer(Self.description(.answer, certificate: "BB"))) else {
            return
        }
        #expect(answer.fromCall == "bob")
        #expect(answer.toCall == "ann")
    }
}

extension CallCorrespondence {
    /// Which of these facts concern the call, one after the other.
    fileprivate mutating func verdicts(_ facts: CallFact...) -> [Bool] {
        var verdicts: [Bool] = []
        for fact in facts { verdicts.append(accepts(fact)) }
        return verdicts
    }
}
