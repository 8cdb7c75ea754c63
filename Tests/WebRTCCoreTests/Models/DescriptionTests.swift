import Testing

@testable import WebRTCCore

@Suite struct DescriptionTests {
    private func offer(session: String, fingerprint: String = "sha-256 AA", ufrag: String, media: String = "video")
        -> DescriptionScan
    {
        DescriptionScan(
            """
            v=0\r
            o=- \(session) 2 IN IP4 0.0.0.0\r
            m=\(media) 9 UDP/TLS/RTP/SAVPF 96\r
            a=fingerprint:\(fingerprint)\r
            a=ice-ufrag:\(ufrag)\r
            """)
    }

    @Test func `a later offer of the same call is told from a new call`() {
        let first = offer(session: "1", ufrag: "u1")
        #expect(first.isContinued(by: offer(session: "1", ufrag: "u1")))
        // An ICE restart keeps the session; aiortc keeps the user name and makes a new session id.
        #expect(first.isContinued(by: offer(session: "1", ufrag: "u2")))
        #expect(first.isContinued(by: offer(session: "2", ufrag: "u1")))
        // Another connection with the same certificate, and one with another certificate.
        #expect(!first.isContinued(by: offer(session: "2", ufrag: "u2")))
        #expect(!first.isContinued(by: offer(session: "1", fingerprint: "sha-256 BB", ufrag: "u1")))
        #expect(!first.isContinued(by: DescriptionScan("garbage")))
    }

    @Test func `an offer is the same with and without candidates`() {
        let bare = "v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\n"
        let full = bare + "a=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\na=end-of-candidates\r\n"
        #expect(DescriptionScan(bare).essence == DescriptionScan(full).essence)
    }

    @Test func `the answer names its connection`() {
        let id = WebRTCConnectionID(userId: "Ann", answerSDP: "v=0\r\no=- 4711 2 IN IP4 0.0.0.0\r\n")
        #expect(id == WebRTCConnectionID(userId: "Ann", session: "4711"))
        #expect(WebRTCConnectionID(userId: "Ann", answerSDP: "mock") == WebRTCConnectionID(userId: "Ann"))
    }

    @Test func `data channels are taken out of an offer and out of its bundle`() {
        let offer = """
            v=0\r
            a=group:BUNDLE 0 1 data\r
            m=audio 9 UDP/TLS/RTP/SAVPF 111\r
            a=mid:0\r
            m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r
            a=mid:data\r
            m=video 9 UDP/TLS/RTP/SAVPF 96\r
            a=mid:1\r

            """
        let refused = ReceiveOnlyOffer.refusingData(offer)
        #expect(refused.contains("a=group:BUNDLE 0 1\r\n"))
        #expect(refused.contains("m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:data\r\n"))
        #expect(refused.contains("m=video 9 ") && refused.contains("m=audio 9 "))
        let without = "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
        #expect(ReceiveOnlyOffer.refusingData(without) == without)
    }

    @Test func `candidates say to which generation they belong`() {
        let candidate = ICECandidate.Candidate(
            candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host ufrag abcd network-id 1", sdpMLineIndex: 0, sdpMid: nil
        )
        #expect(candidate.usernameFragment == "abcd")
        #expect(ICECandidate.Candidate(candidate: "ufrag", sdpMLineIndex: 0, sdpMid: nil).usernameFragment == nil)
    }

    @Test(arguments: [
        ("candidate:1 1 udp", "candidate:1 1 udp"), ("a=candidate:1\r\n", "candidate:1"), ("", ""),
        ("end-of-candidates", ""), ("nonsense", nil),
    ])
    func `reads the attribute of a candidate`(text: String, attribute: String?) {
        #expect(ICECandidate.Candidate(candidate: text, sdpMLineIndex: 0, sdpMid: nil).attribute == attribute)
    }
}

@Suite struct EarlyCandidatesTests {
    private func candidate(_ number: Int, ufrag: String? = nil) -> ICECandidate.Candidate {
        ICECandidate.Candidate(
            candidate: "candidate:\(number)" + (ufrag.map { " ufrag \($0)" } ?? ""), sdpMLineIndex: 0, sdpMid: nil)
    }

    @Test func `the newest are kept, for so many peers`() {
        var early = EarlyCandidates()
        for number in 0..<100 { early.keep(candidate(number), of: "Ann") }
        #expect(early.count == EarlyCandidates.limitPerPeer)
        #expect(early.take(for: "Ann", offer: DescriptionScan("")).last == candidate(99))
        #expect(early.count == 0)
        for number in 0..<1_000 { early.keep(candidate(number), of: "peer \(number)") }
        #expect(early.count == EarlyCandidates.peerLimit)
        #expect(early.take(for: "peer 0", offer: DescriptionScan("")).isEmpty)
        #expect(early.take(for: "peer 999", offer: DescriptionScan("")).count == 1)
    }

    @Test func `those of a call that is over do not go into the next`() {
        var early = EarlyCandidates()
        early.keep(candidate(1, ufrag: "old"), of: "Ann")
        early.keep(candidate(2, ufrag: "new"), of: "Ann")
        early.keep(candidate(3), of: "Ann")
        let taken = early.take(for: "Ann", offer: DescriptionScan("a=ice-ufrag:new"))
        #expect(taken == [candidate(2, ufrag: "new"), candidate(3)])
    }
}

@Suite struct EventBroadcastTests {
    private func event(_ number: Int) -> WebRTCEvent {
        .connectionStateChanged(.new, connection: WebRTCConnectionID(userId: "\(number)"), because: "")
    }

    @Test func `each listener hears all from its beginning on; what nobody heard waits for the next`() async {
        let broadcast = WebRTCEventBroadcast()
        broadcast.send(event(1))
        let first = broadcast.stream()
        broadcast.send(event(2))
        let second = broadcast.stream()
        broadcast.send(event(3))
        var (one, two) = (first.makeAsyncIterator(), second.makeAsyncIterator())
        for number in 1...3 { #expect(await one.next() == event(number)) }
        #expect(await two.next() == event(3))
    }

    @Test func `a listener that stops is forgotten, and what follows is kept`() async {
        let broadcast = WebRTCEventBroadcast()
        do {
            let stream = broadcast.stream()
            broadcast.send(event(1))
            for await _ in stream { break }
        }
        #expect(broadcast.listenerCount == 0)
        for number in 0..<2_000 { broadcast.send(event(number)) }
        var late = broadcast.stream().makeAsyncIterator()
        #expect(await late.next() == event(2_000 - WebRTCEventBroadcast.backlog))
    }
}
