import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import WebRTCCore

/// The engine with real senders over UDP on 127.0.0.1.
@Suite(.timeLimit(.minutes(5))) struct ReceivingTests {
    @Test func `an offer makes the connection and the answer by itself, and frames arrive unchanged`() async throws {
        let engine = try ConnectionWitness().engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")

        let offer = try await ann.offer(adding: [.video, .audio])
        let answer = try await engine.setRemoteOffer(offer)
        #expect(answer.from == "watcher" && answer.to == "Ann")
        #expect(answer.type == "answer" && answer.videoSource == "camera")
        try await ann.accept(answer)

        let video = try #require(await log.video(of: "Ann"))
        #expect(await log.reached(.connected, by: "Ann") == video.connection)
        await ann.reached(.connected)
        try await ann.sendVideo(0..<10)
        let received = await video.track.next(10)
        #expect(received.map(\.payload) == (try TestMedia.video().frames.prefix(10).map(\.payload)))
        await ann.connection.close()
    }

    @Test func `three senders at once, each over a track of its own`() async throws {
        let engine = try ConnectionWitness().engine()
        // One certificate for all three, as in a process that calls several times.
        let configuration = try TestSender.configuration()
        let senders = try ["Ann", "Bob", "Cyd"].map { try TestSender($0, configuration: configuration) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, sender) in senders.enumerated() {
                let log = await EventLog(engine)
                group.addTask {
                    try await sender.accept(try await engine.setRemoteOffer(try await sender.offer(adding: [.video])))
                    let video = try #require(await log.video(of: sender.name))
                    #expect(await log.reached(.connected, by: sender.name) != nil)
                    await sender.reached(.connected)
                    // Each sends other many frames after the first, so that a mix-up shows.
                    try await sender.sendVideo(0..<(4 + place))
                    let received = await video.track.next(4 + place)
                    #expect(
                        received.map(\.payload) == (try TestMedia.video().frames.prefix(4 + place).map(\.payload)))
                }
            }
            try await group.waitForAll()
        }
        #expect(await engine.holdings.peers == ["Ann", "Bob", "Cyd"])
        for sender in senders { await sender.connection.close() }
    }

    @Test func `a track that its sender holds ends, and is another one when it is sent again`() async throws {
        let engine = try ConnectionWitness().engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        let first = try #require(await log.video(of: "Ann"))
        await ann.reached(.connected)
        var frames = first.track.frames.makeAsyncIterator()
        try await ann.sendVideo(0..<3)
        for _ in 0..<3 { _ = await frames.next() }

        let camera = try #require(await ann.connection.transceivers.first)
        try await ann.connection.setDirection(.inactive, of: camera)
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer()))
        let end = await frames.next()
        #expect(end == nil)

        try await ann.connection.setDirection(.sendonly, of: camera)
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer()))
        let second = try #require(await log.video(of: "Ann"))
        // From the video's beginning, which is a key frame.
        let count = try TestMedia.video().frames.count
        let resumed = second.track.frames
        try await ann.sendVideo(count..<count + 3)
        #expect(await RemoteTrack.take(3, of: resumed).count == 3)
        await ann.connection.close()
    }

    @Test func `candidates that come before their offer are kept for it`() async throws {
        let engine = try ConnectionWitness().engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        var offer = try await ann.offer(adding: [.video])
        let lines = offer.sdp.split(separator: "\r\n").map(String.init)
        let candidates = lines.filter { $0.hasPrefix("a=candidate:") }
        offer.sdp = withoutCandidates(offer.sdp)
        #expect(!candidates.isEmpty)

        for candidate in candidates {
            try await engine.addIceCandidate(
                ICECandidate(
                    type: "ice", from: "Ann", to: "watcher",
                    candidate: ICECandidate.Candidate(candidate: candidate, sdpMLineIndex: 0, sdpMid: "0")))
        }
        #expect(await engine.holdings.earlyCandidates == candidates.count)
        #expect(await engine.holdings.peers.isEmpty)

        // The sender learns of no address of ours: what was kept is the only way to find each other.
        let answer = try await engine.setRemoteOffer(offer)
        try await ann.accept(sdp: withoutCandidates(answer.sdp))
        #expect(await log.reached(.connected, by: "Ann") != nil)
        #expect(await engine.holdings.earlyCandidates == 0)
        await ann.connection.close()
    }

    @Test func `candidates of an ICE restart that overtake its offer wait for it`() async throws {
        let engine = try ConnectionWitness().engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        let video = try #require(await log.video(of: "Ann"))
        #expect(await log.reached(.connected, by: "Ann") != nil)

        await ann.connection.restartICE()
        var offer = try await ann.offer()
        let lines = offer.sdp.split(separator: "\r\n").map(String.init)
        let generation = try #require(lines.first { $0.hasPrefix("a=ice-ufrag:") }).dropFirst("a=ice-ufrag:".count)
        let candidates = lines.filter { $0.hasPrefix("a=candidate:") }
        offer.sdp = withoutCandidates(offer.sdp)
        for candidate in candidates {
            try await engine.addIceCandidate(
                ICECandidate(
                    type: "ice", from: "Ann", to: "watcher",
                    candidate: ICECandidate.Candidate(
                        candidate: "\(candidate) ufrag \(generation)", sdpMLineIndex: 0, sdpMid: "0")))
        }
        #expect(await engine.holdings.earlyCandidates == candidates.count && !candidates.isEmpty)

        let answer = try await engine.setRemoteOffer(offer)
        #expect(await engine.holdings.earlyCandidates == 0)
        try await ann.accept(sdp: withoutCandidates(answer.sdp))
        try await ann.sendVideo(0..<5)
        #expect(await video.track.next(5).count == 5)
        await ann.connection.close()
    }

    @Test func `a second offer of the same peer adds sound, and the picture goes on`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        let video = try #require(await log.video(of: "Ann"))
        let frames = video.track.frames
        #expect(await log.reached(.connected, by: "Ann") != nil)
        await ann.reached(.connected)
        try await ann.sendVideo(0..<5)

        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.audio])))
        let audio = try #require(await log.audio(of: "Ann"))
        #expect(audio.connection == video.connection)
        try await ann.sendVideo(5..<10)
        try await ann.sendSound()
        #expect(await RemoteTrack.take(10, of: frames).count == 10)
        #expect(await audio.track.next(1).first?.format == .opus)
        #expect(witness.made == 1)
        await ann.connection.close()
    }

    @Test func `an unanswered offer may be repeated, and gets the same answer`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let ann = try TestSender("Ann")
        var offer = try await ann.offer(adding: [.video])
        let first = try await engine.setRemoteOffer(offer)
        offer.sdp = withoutCandidates(offer.sdp)
        let second = try await engine.setRemoteOffer(offer)
        #expect(withoutCandidates(first.sdp) == withoutCandidates(second.sdp))
        #expect(witness.made == 1)
        await ann.connection.close()
    }

    @Test func `a peer that begins anew replaces its former connection, whose late news is not told`() async throws {
        let witness = ConnectionWitness()
        let engine = try witness.engine()
        let log = await EventLog(engine)
        let configuration = try TestSender.configuration()
        let before = try TestSender("Ann", configuration: configuration)
        try await before.accept(try await engine.setRemoteOffer(try await before.offer(adding: [.video])))
        let first = try #require(await log.reached(.connected, by: "Ann"))

        let after = try TestSender("Ann", configuration: configuration)
        try await after.accept(try await engine.setRemoteOffer(try await after.offer(adding: [.video])))
        let told = await EventLog(engine)
        let second = try #require(await log.reached(.connected, by: "Ann"))
        #expect(second != first)
        await before.reached(.closed)
        #expect(await engine.holdings.peers == ["Ann"])
        #expect(witness.alive == 1)

        // Everything told since the second answer is about the second connection.
        await after.connection.close()
        var connections: Set<WebRTCConnectionID> = []
        _ = await told.first { event in
            connections.insert(event.connection)
            if case .connectionStateChanged(.closed, _, _) = event { return true }
            return nil
        }
        #expect(connections == [second])
    }

    @Test func `several listeners each hear everything`() async throws {
        let engine = try ConnectionWitness().engine()
        let logs = [await EventLog(engine), await EventLog(engine), await EventLog(engine)]
        let ann = try TestSender("Ann")
        try await ann.accept(try await engine.setRemoteOffer(try await ann.offer(adding: [.video])))
        for log in logs {
            #expect(await log.video(of: "Ann") != nil)
            #expect(await log.reached(.connected, by: "Ann") != nil)
        }
        await ann.connection.close()
        for log in logs { #expect(await log.reached(.closed, by: "Ann") != nil) }
        #expect(await engine.holdings.peers.isEmpty)
    }
}

/// The description as it was before candidates were known.
func withoutCandidates(_ sdp: String) -> String {
    sdp.split(separator: "\r\n").filter { !$0.hasPrefix("a=candidate:") && $0 != "a=end-of-candidates" }
        .map { $0 + "\r\n" }.joined()
}
