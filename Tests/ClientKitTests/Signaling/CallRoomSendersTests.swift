import Testing

@testable import ClientKit

@Suite struct CallRoomSendersTests {
    private func offer(
        from: String? = nil, call: String? = nil, to: String? = nil, toCall: String? = nil, certificate: String = "AA",
        ufrag: String = "u1"
    ) -> SessionDescriptionPayload {
        var offer = SessionDescriptionPayload(
            type: .offer, sdp: "v=0\r\na=ice-ufrag:\(ufrag)\r\na=fingerprint:sha-256 \(certificate)\r\n")
        (offer.from, offer.fromCall, offer.to, offer.toCall) = (from, call, to, toCall)
        return offer
    }

    private func candidate(
        _ text: String = "candidate:1", from: String? = nil, call: String? = nil, to: String? = nil
    ) -> IceCandidatePayload {
        var candidate = IceCandidatePayload(candidate: text)
        (candidate.from, candidate.fromCall, candidate.to) = (from, call, to)
        return candidate
    }

    @Test func `who gives a name is known by it, in offers and candidates`() {
        var senders = CallRoomSenders(us: "Watcher")
        #expect(senders.sender(of: candidate(from: "Ann")) == "Ann")
        #expect(senders.sender(of: offer(from: "Ann")) == "Ann")
        #expect(senders.sender(of: offer(from: "Bob", certificate: "AA")) == "Bob")
        #expect(senders.sender(of: candidate(from: "Bob")) == "Bob")
        #expect(senders.sender(of: candidate()) == nil)
    }

    @Test func `who names its call is the caller who is left over, and stays that through later offers`() {
        var senders = CallRoomSenders(us: "Watcher")
        senders.joined(CallParticipant(username: "Ann", role: .caller))
        senders.joined(CallParticipant(username: "Bob", role: .caller))
        senders.joined(CallParticipant(username: "Cyd", role: .callee))
        #expect(senders.sender(of: offer(from: "Bob")) == "Bob")
        #expect(senders.sender(of: offer(call: "x1")) == "Ann")
        #expect(senders.sender(of: offer(call: "x1", certificate: "CC")) == "Ann")
        #expect(senders.sender(of: candidate(call: "x1")) == "Ann")
        #expect(senders.sender(of: offer(call: "x2")) == "caller 1")
        #expect(senders.sender(of: offer(call: "x3")) == "caller 2")
    }

    @Test func `who says nothing is known by certificate and ICE user name`() {
        var senders = CallRoomSenders(us: "Watcher")
        #expect(senders.sender(of: offer(certificate: "AA", ufrag: "u1")) == "caller 1")
        #expect(senders.sender(of: candidate()) == "caller 1")
        #expect(senders.sender(of: offer(certificate: "BB", ufrag: "u2")) == "caller 2")
        #expect(senders.sender(of: offer(certificate: "AA", ufrag: "u3")) == "caller 1")
        #expect(senders.sender(of: candidate("candidate:1 1 udp ufrag u2")) == "caller 2")
        #expect(senders.sender(of: candidate("candidate:1 1 udp ufrag u3")) == "caller 1")
        #expect(senders.sender(of: candidate()) == nil)
    }

    @Test func `what is for somebody else is not taken`() {
        var senders = CallRoomSenders(us: "Watcher")
        #expect(senders.sender(of: offer(from: "Ann", to: "Bob")) == nil)
        #expect(senders.sender(of: offer(from: "Ann", toCall: "x9")) == nil)
        #expect(senders.sender(of: candidate(from: "Ann", to: "Bob")) == nil)
        #expect(senders.sender(of: offer(from: "Ann", to: "Watcher", toCall: "Watcher/Ann")) == "Ann")
    }

    @Test func `answers and candidates carry both names and both calls`() {
        var senders = CallRoomSenders(us: "Watcher")
        _ = senders.sender(of: offer(from: "Ann", call: "x1"))
        let answer = senders.answer("v=0", to: "Ann")
        #expect(answer.from == "Watcher" && answer.to == "Ann" && answer.toCall == "x1")
        #expect(answer.fromCall == "Watcher/Ann")
        let candidate = senders.addressed(candidate(), to: "Ann")
        #expect(candidate.from == "Watcher" && candidate.to == "Ann" && candidate.toCall == "x1")
    }

    @Test func `a name is free again when its owner has left`() {
        var senders = CallRoomSenders(us: "Watcher")
        senders.joined(CallParticipant(username: "Ann", role: .caller))
        #expect(senders.sender(of: offer(call: "x1")) == "Ann")
        let isGone = senders.left("Ann")
        #expect(isGone)
        senders.joined(CallParticipant(username: "Ann", role: .caller))
        #expect(senders.sender(of: offer(call: "x2", certificate: "BB")) == "Ann")
    }

    @Test func `a lost connection that is told late takes nothing from who has come back`() {
        var senders = CallRoomSenders(us: "Watcher")
        senders.present([CallParticipant(username: "Ann", role: .caller)])
        #expect(senders.sender(of: offer(call: "x1")) == "Ann")
        senders.joined(CallParticipant(username: "Ann", role: .caller))
        let oneIsGone = senders.left("Ann")
        #expect(!oneIsGone)
        #expect(senders.sender(of: candidate(call: "x1")) == "Ann")
        let bothAreGone = senders.left("Ann")
        #expect(bothAreGone)
    }

    @Test func `candidates of a call that made us no offer are nobody's`() {
        var senders = CallRoomSenders(us: "Watcher")
        #expect(senders.sender(of: candidate(call: "x9")) == nil)
        #expect(senders.sender(of: offer(call: "x1")) == "caller 1")
    }

    @Test func `names without end are kept up to a limit, the newest of them`() {
        var senders = CallRoomSenders(us: "Watcher")
        for number in 0...CallRoomSenders.limit {
            let name = "caller \(number)"
            #expect(senders.sender(of: offer(from: name, call: "x\(number)", certificate: name)) == name)
        }
        #expect(senders.sender(of: candidate(call: "x0")) == nil)
        #expect(senders.sender(of: candidate(call: "x1")) == "caller 1")
        #expect(senders.sender(of: candidate(call: "x\(CallRoomSenders.limit)")) == "caller \(CallRoomSenders.limit)")
    }

    @Test func `nobody gets a name that cannot be shown, whatever the server says`() {
        var senders = CallRoomSenders(us: "Watcher")
        senders.present([CallParticipant(username: "\u{202e}Ann", role: .caller)])
        #expect(senders.sender(of: offer(call: "x1")) == "caller 1")
    }
}
