import RTCEngine
import RTCNetwork
import Testing

@testable import WebRTCCore

@Suite(.timeLimit(.minutes(5))) struct EndingTests {
    @Test func `disconnecting frees everything of that peer and nothing of the others`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let (ann, bob) = (try TestSender("Ann"), try TestSender("Bob"))
        for sender in [ann, bob] {
            try await sender.accept(try await engine.setRemoteOffer(try await sender.offer(adding: [.video])))
            #expect(await log.reached(.connected, by: sender.name) != nil)
        }
        #expect(witness.alive == 2)

        await engine.disconnect("Ann")
        await ann.reached(.closed)
        #expect(witness.alive == 1)
        #expect(await engine.holdings.peers == ["Bob"])

        // A track that was kept ends, and holds no connection.
        await bob.reached(.connected)
        await engine.disconnect("Bob")
        await bob.reached(.closed)
        #expect(witness.alive == 0)
        await engine.disconnect("Bob")
        await engine.disconnect("nobody")
    }

    @Test func `a track that is kept ends with its connection and does not keep it`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        let video = try #require(await log.video(of: "Ann"))
        let frames = video.track.frames
        await engine.disconnect("Ann")
        for await _ in frames {}
        await video.track.requestKeyFrame()
        #expect(witness.alive == 0)
        await ann.connection.close()
    }

    @Test func `a peer that leaves is told as closed and freed`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        #expect(await log.reached(.connected, by: "Ann") != nil)
        await ann.connection.close()
        #expect(await log.reached(.closed, by: "Ann") != nil)
        await engine.disconnect("Ann")
        #expect(witness.alive == 0)
    }

    @Test func `an engine that goes takes its connections and streams with it`() async throws {
        let witness = ConnectionWitness()
        let ann = try TestSender("Ann")
        let stream: AsyncStream<WebRTCEvent>
        do {
            let engine = try witness.engine()
            stream = await engine.events()
            try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
            #expect(await EventLog(stream).reached(.connected, by: "Ann") != nil)
        }
        for await _ in stream {}
        #expect(witness.alive == 0)
        await ann.connection.close()
    }

    @Test func `an offer whose wait was cancelled leaves nothing`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let ann = try TestSender("Ann")
        let offer = try await ann.offer(adding: [.video])
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answering = Task {
            for await _ in gate {}
            await #expect(throws: WebRTCError.disconnected(userId: "Ann")) { try await engine.setRemoteOffer(offer) }
        }
        answering.cancel()
        open.finish()
        await answering.value
        #expect(witness.made == 0)
        await ann.connection.close()
    }

    @Test func `candidates after the end are no error, and do not stand in the way of the next call`() async throws {
        let engine = try ConnectionWitness().engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        #expect(await log.reached(.connected, by: "Ann") != nil)
        await engine.disconnect("Ann")
        try await engine.addIceCandidate(
            ICECandidate(
                type: "ice", from: "Ann", to: "watcher",
                candidate: ICECandidate.Candidate(
                    candidate: "candidate:1 1 udp 2122260223 127.0.0.1 9 typ host ufrag gone", sdpMLineIndex: 0,
                    sdpMid: "0")))
        #expect(await engine.holdings.peers.isEmpty)

        let again = try TestSender("Ann")
        try await again.accept(try await engine.setRemoteOffer(try await again.offer(adding: [.video])))
        #expect(await log.reached(.connected, by: "Ann") != nil)
        #expect(await engine.holdings.earlyCandidates == 0)
        await again.connection.close()
    }
}
