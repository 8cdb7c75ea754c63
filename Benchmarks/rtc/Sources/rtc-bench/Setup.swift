import RTCEngine
import RTCNetwork

/// From `PeerConnection.init` to connected on both sides, and to the first frame or message.
enum Setup {
    private struct Times {
        var offer: Duration
        var connected: Duration
        var first: Duration
    }

    static func run(_ count: Int, of cargo: Cargo) async throws {
        for _ in 0..<count {
            let times =
                switch cargo {
                case .video: try await video()
                case .data: try await data()
                }
            report([
                "kind": cargo.rawValue, "offer": times.offer.milliseconds,
                "connected": times.connected.milliseconds, "first": times.first.milliseconds,
            ])
        }
    }

    /// The first frame is two packets, and goes out once the caller is connected.
    private static func video() async throws -> Times {
        let clock = ContinuousClock()
        let begin = clock.now
        let pair = try Pair()
        let video = try await pair.caller.addTransceiver(.video, direction: .sendonly)
        let callerEvents = pair.caller.events
        let calleeEvents = pair.callee.events

        async let callerUp = { () async throws -> Duration in
            await Pair.connected(callerEvents)
            let up = clock.now - begin
            try await video.sender.send(.vp8(bytes: 2_000, timestamp: 0, isKeyFrame: true))
            return up
        }()
        async let calleeUp = { () async -> Duration in
            await Pair.connected(calleeEvents)
            return clock.now - begin
        }()

        let offer = try await pair.offer()
        let offered = clock.now - begin
        try await pair.answer(offer)
        async let first = { () async -> Duration? in
            guard let receiver = await pair.callee.transceivers.first?.receiver else { return nil }
            for await _ in receiver.frames { return clock.now - begin }
            return nil
        }()
        let up = try await max(callerUp, calleeUp)
        guard let frame = await first else { throw BenchmarkError.nothingArrived }
        await pair.close()
        return Times(offer: offered, connected: up, first: frame)
    }

    /// No media at all: one data channel, and one message on it as soon as it is open.
    private static func data() async throws -> Times {
        let clock = ContinuousClock()
        let begin = clock.now
        let pair = try Pair()
        let channel = try await pair.caller.createDataChannel("x")
        let callerEvents = pair.caller.events
        let calleeEvents = pair.callee.events
        let announcements = pair.callee.events

        async let callerUp = { () async -> Duration in
            await Pair.connected(callerEvents)
            return clock.now - begin
        }()
        async let calleeUp = { () async -> Duration in
            await Pair.connected(calleeEvents)
            return clock.now - begin
        }()
        async let sent: Void = {
            try await channel.waitUntilOpen()
            try await channel.send("hi")
        }()
        async let first = { () async -> Duration? in
            guard let theirs = await Pair.dataChannel(announcements) else { return nil }
            for await _ in theirs.messages { return clock.now - begin }
            return nil
        }()

        let offer = try await pair.offer()
        let offered = clock.now - begin
        try await pair.answer(offer)
        try await sent
        let up = await max(callerUp, calleeUp)
        guard let message = await first else { throw BenchmarkError.nothingArrived }
        await pair.close()
        return Times(offer: offered, connected: up, first: message)
    }
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
}
