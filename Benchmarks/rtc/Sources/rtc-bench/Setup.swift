import RTCEngine
import RTCNetwork

/// From `PeerConnection.init` to connected on both sides, and to the first frame.
enum Setup {
    static func run(_ count: Int, of kind: String) async throws {
        for _ in 0..<count {
            let times = try await video()
            report([
                "kind": "video", "offer": times.offer.milliseconds, "connected": times.connected.milliseconds,
                "first": times.first.milliseconds,
            ])
        }
    }

    private static func video() async throws -> (offer: Duration, connected: Duration, first: Duration) {
        let clock = ContinuousClock()
        let begin = clock.now
        let pair = try await Pair()
        let callerEvents = pair.caller.events
        let calleeEvents = pair.callee.events

        async let callerUp = { () async throws -> Duration in
            await Pair.connected(pair.caller, callerEvents)
            let up = clock.now - begin
            try await pair.video.sender.send(.vp8(bytes: 2_000, timestamp: 0, isKeyFrame: true))
            return up
        }()
        async let calleeUp = { () async -> Duration in
            await Pair.connected(pair.callee, calleeEvents)
            return clock.now - begin
        }()

        try await pair.offer()
        let offered = clock.now - begin
        try await pair.negotiate()
        async let first = { () async -> Duration? in
            guard let receiver = await pair.callee.transceivers.first?.receiver else { return nil }
            for await _ in receiver.frames { return clock.now - begin }
            return nil
        }()
        let up = try await max(callerUp, calleeUp)
        guard let frame = await first else { throw BenchmarkError.noFrame }
        await pair.close()
        return (offered, up, frame)
    }
}

enum BenchmarkError: Error {
    case noFrame, notConnected
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
}
