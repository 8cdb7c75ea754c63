import Foundation
import RTCEngine
import RTCNetwork
import Testing

@testable import WebRTCCore

@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    static let garbage = [
        "", "mock-offer-sdp", "v=0", "v=0\r\n", "\u{0}\u{1}\u{2}", String(repeating: "m=video 9 x 1\r\n", count: 5_000),
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n",
    ]

    @Test func `garbage gives a typed error with a sentence, and the others go on`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        let video = try #require(await log.video(of: "Ann"))
        #expect(await log.reached(.connected, by: "Ann") != nil)
        await ann.reached(.connected)

        for sdp in Self.garbage {
            for sender in ["Ann", "Mallory"] {
                let error = await #expect(throws: WebRTCError.self) {
                    try await engine.setRemoteOffer(
                        WebRTCOffer(sdp: sdp, type: "offer", from: sender, to: "watcher", videoSource: ""))
                }
                #expect(error?.userId == sender)
                #expect(error?.localizedDescription.hasSuffix(".") == true)
                #expect(error?.localizedDescription.contains(sender) == true)
            }
        }
        #expect(await engine.holdings.peers == ["Ann"])
        #expect(witness.alive == 1)
        try await ann.sendVideo(0..<3)
        #expect(await video.track.next(3).count == 3)
        await ann.connection.close()
    }

    @Test func `so many peers are received from and no more, though all call at once, and who goes makes room`()
        async throws
    {
        let witness = ConnectionWitness()
        let engine = try witness.engine(peerLimit: 2)
        let senders = try ["Ann", "Bob", "Cyd", "Dan"].map { try TestSender($0) }
        var offers: [WebRTCOffer] = []
        for sender in senders { offers.append(try await sender.offer(adding: [.video])) }
        let refusals = await withTaskGroup(of: WebRTCError?.self) { group in
            for offer in offers {
                group.addTask {
                    do throws(WebRTCError) {
                        _ = try await engine.setRemoteOffer(offer)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: [WebRTCError]()) { if let error = $1 { $0.append(error) } }
        }
        let taken = await engine.holdings.peers
        #expect(taken.count == 2 && refusals.count == 2 && witness.made == 2)
        for refusal in refusals {
            let sentence = "The call from \(refusal.userId ?? "") cannot be answered. There are 2 connections already."
            #expect(refusal.localizedDescription == sentence)
        }
        // Who is there may begin anew, and who goes makes room for another.
        let present = try #require(taken.first)
        _ = try await engine.setRemoteOffer(try await TestSender(present).offer(adding: [.video]))
        await engine.disconnect(present)
        let next = try #require(offers.first { !taken.contains($0.from) })
        _ = try await engine.setRemoteOffer(next)
        #expect(await engine.holdings.peers == taken.subtracting([present]).union([next.from]))
        for sender in senders { await sender.connection.close() }
    }

    @Test func `who failed makes room for an offer that is answered, and for no other`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine(peerLimit: 1) { configuration in
            (configuration.ice.checksTimeout, configuration.ice.patience) = (.milliseconds(200), .milliseconds(200))
        }
        let log = await EventLog(engine)
        // She is never told the answer, so no path is found.
        let (ann, bob) = (try TestSender("Ann"), try TestSender("Bob"))
        _ = try await engine.setRemoteOffer(try await ann.offer(adding: [.video]))
        #expect(await log.reached(.failed, by: "Ann") != nil)
        for sdp in Self.garbage {
            await #expect(throws: WebRTCError.self) {
                try await engine.setRemoteOffer(
                    WebRTCOffer(sdp: sdp, type: "offer", from: "Mallory", to: "watcher", videoSource: ""))
            }
        }
        #expect(await engine.holdings.peers == ["Ann"])
        _ = try await engine.setRemoteOffer(try await bob.offer(adding: [.video]))
        #expect(await engine.holdings.peers == ["Bob"])
        #expect(await log.reached(.closed, by: "Ann") != nil)
        for sender in [ann, bob] { await sender.connection.close() }
    }

    @Test func `a candidate that is none gives a typed error, before its offer and after it`() async throws {
        let engine = try ConnectionWitness().engine()
        let candidate = ICECandidate(
            type: "ice", from: "Ann", to: "watcher",
            candidate: ICECandidate.Candidate(candidate: "nonsense", sdpMLineIndex: 0, sdpMid: "0"))
        await #expect(throws: WebRTCError.candidateRefused(userId: "Ann", reason: "It is no candidate.")) {
            try await engine.addIceCandidate(candidate)
        }
        #expect(await engine.holdings.earlyCandidates == 0)
        let ann = try TestSender("Ann")
        _ = try await engine.setRemoteOffer(try await ann.offer(adding: [.video]))
        for text in ["nonsense", "candidate:", "candidate:1 1 udp x 127.0.0.1 9 typ host"] {
            var candidate = candidate
            candidate.candidate.candidate = text
            let error = await #expect(throws: WebRTCError.self) { try await engine.addIceCandidate(candidate) }
            #expect(error?.userId == "Ann")
        }
        await ann.connection.close()
    }

    @Test func `the answer receives only: nothing is sent, and data channels are refused`() async throws {
        let engine = try ConnectionWitness().engine()
        let ann = try TestSender("Ann")
        var offer = try await ann.offer(adding: [.video, .audio])
        offer.sdp += Self.dataSection
        let answer = try await engine.setRemoteOffer(offer)
        let lines = answer.sdp.split(separator: "\r\n")
        #expect(lines.count { $0 == "a=recvonly" } == 2)
        #expect(!lines.contains("a=sendrecv") && !lines.contains("a=sendonly"))
        #expect(lines.contains { $0.hasPrefix("m=application 0 ") })
        #expect(!lines.contains { $0.hasPrefix("a=ssrc") })
        await ann.connection.close()
    }

    @Test func `an offer without sound and pictures has nothing to receive`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let ann = try TestSender("Ann")
        let offer = try await ann.offer(adding: [.video])
        let section = try #require(offer.sdp.range(of: "m=video"))
        let keys = offer.sdp.split(separator: "\r\n").filter {
            $0.hasPrefix("a=ice-ufrag") || $0.hasPrefix("a=ice-pwd") || $0.hasPrefix("a=fingerprint")
        }
        let session = offer.sdp[..<section.lowerBound].split(separator: "\r\n").filter { !$0.hasPrefix("a=group") }
        let dataOnly =
            (session + []).map { $0 + "\r\n" }.joined() + Self.dataSection
            + Set(keys).map { $0 + "\r\n" }.joined()
        await #expect(throws: WebRTCError.nothingToReceive(userId: "Ann")) {
            try await engine.setRemoteOffer(
                WebRTCOffer(sdp: dataOnly, type: "offer", from: "Ann", to: "watcher", videoSource: ""))
        }
        #expect(witness.alive == 0)
        await ann.connection.close()
    }

    private static let dataSection = """
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r
        c=IN IP4 0.0.0.0\r
        a=mid:data\r
        a=setup:actpass\r
        a=sctp-port:5000\r

        """
}
