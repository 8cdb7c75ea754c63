import RTCEngine
import RTCWire
import Testing

/// Two streams over a path that loses, delays, reorders and repeats.
@Suite struct StreamPairTests {
    static let formats: [PayloadFormat] = [.h264, .vp8]

    /// Loss begins after the first frame: a stream whose very first packets are lost begins at a later key frame.
    private func pair(
        _ format: PayloadFormat, loss: Double, usesRTX: Bool, seed: UInt64, source: inout FrameSource
    ) -> StreamPair {
        var pair = StreamPair(format, usesRTX: usesRTX, seed: seed) { _, receiving in
            receiving.videoHoldLimit = .seconds(Int64(2))
            receiving.maximumNACKs = 30
        }
        pair.send(source.next(isKeyFrame: true))
        pair.run(for: .milliseconds(33))
        pair.there.conditions.loss = loss
        pair.back.conditions.loss = loss
        return pair
    }

    @Test(arguments: formats, [0.0, 0.01, 0.05, 0.1, 0.2])
    func `every frame arrives in order when losses are answered over RTX`(format: PayloadFormat, loss: Double) {
        for seed in 1...2 as ClosedRange<UInt64> {
            var source = FrameSource(format, seed: seed)
            var pair = pair(format, loss: loss, usesRTX: true, seed: seed, source: &source)
            pair.call(frames: 120, from: &source)
            // The last packets may be lost with nothing after them that would show it.
            expectInOrder(pair, missingAtEnd: loss > 0 ? 3 : 0)
            if loss > 0 { #expect(pair.receiver.stats(at: pair.now).retransmittedPacketsReceived > 0) }
        }
    }

    @Test(arguments: formats, [0.05, 0.2])
    func `every frame arrives in order when losses are answered by the same packets again`(
        format: PayloadFormat, loss: Double
    ) {
        for seed in 1...2 as ClosedRange<UInt64> {
            var source = FrameSource(format, seed: seed)
            var pair = pair(format, loss: loss, usesRTX: false, seed: seed, source: &source)
            pair.call(frames: 120, from: &source)
            expectInOrder(pair, missingAtEnd: 3)
            #expect(pair.receiver.stats(at: pair.now).retransmittedPacketsReceived > 0)
        }
    }

    private func expectInOrder(_ pair: StreamPair, missingAtEnd: Int) {
        #expect(pair.received.count >= pair.sent.count - missingAtEnd)
        #expect(pair.received.map(\.payload) == pair.sent.prefix(pair.received.count).map(\.payload))
        #expect(pair.received.map(\.isKeyFrame) == pair.sent.prefix(pair.received.count).map(\.isKeyFrame))
        // The receiver sees the sender's random offset, the same for all frames.
        let offsets = Set(zip(pair.received, pair.sent).map { $0.timestamp &- $1.timestamp })
        #expect(offsets.count == 1)
    }

    @Test(arguments: formats)
    func `reordered and repeated packets make the same frames, once`(format: PayloadFormat) {
        for seed in 1...2 as ClosedRange<UInt64> {
            var source = FrameSource(format, seed: seed)
            let conditions = LossyLink.Conditions(
                duplication: 0.2, delay: .milliseconds(15), jitter: .milliseconds(25))
            var pair = StreamPair(format, there: conditions, seed: seed)
            pair.call(frames: 150, from: &source)
            #expect(pair.received.map(\.payload) == pair.sent.map(\.payload))
            #expect(pair.receiver.stats(at: pair.now).packetsDuplicated > 0)
            #expect(pair.receiver.stats(at: pair.now).packetsSkipped == 0)
        }
    }

    @Test(arguments: formats)
    func `after a loss that the history cannot repair only a key frame follows`(format: PayloadFormat) {
        var source = FrameSource(format)
        var pair = StreamPair(format) { sending, _ in
            sending.historyDuration = .milliseconds(100)
        }
        pair.there.conditions.outages = [pair.now + .milliseconds(500)..<pair.now + .milliseconds(900)]
        pair.call(frames: 120, from: &source)
        expectDecodable(pair)
        #expect(!pair.keyFrameRequests.isEmpty)
        #expect(pair.received.last?.payload == pair.sent.last?.payload)
        #expect(pair.received.count < pair.sent.count)
        #expect(pair.received.count > 80)
        #expect(pair.outputs.contains { if case .skipped = $0 { true } else { false } })
    }

    @Test(arguments: formats)
    func `without NACK every loss leads to the next key frame, and nothing undecodable leaves`(format: PayloadFormat) {
        for seed in 1...4 as ClosedRange<UInt64> {
            var source = FrameSource(format, seed: seed)
            let conditions = LossyLink.Conditions(loss: 0.02)
            var pair = StreamPair(format, there: conditions, seed: seed) { _, receiving in
                receiving.usesNACK = false
                receiving.videoHoldLimit = .milliseconds(60)
            }
            pair.call(frames: 200, from: &source)
            expectDecodable(pair)
            #expect(pair.receiver.stats(at: pair.now).nackCount == 0)
            #expect(pair.received.filter(\.isKeyFrame).count > 1)
        }
    }

    /// Every frame that left is one that was sent, whole, and follows the one sent before it unless it is a key frame.
    private func expectDecodable(_ pair: StreamPair) {
        var previous: Int?
        for frame in pair.received {
            let index = pair.sent.firstIndex { $0.payload == frame.payload }
            #expect(index != nil)
            guard let index else { continue }
            if let previous { #expect(frame.isKeyFrame ? index > previous : index == previous + 1) }
            if previous == nil { #expect(frame.isKeyFrame) }
            previous = index
        }
    }

    @Test func `sound goes on without a lost packet after a short wait`() {
        var source = FrameSource(.opus)
        var pair = StreamPair(.opus, usesRTX: false) { sending, receiving in
            sending.historyCount = 0
            receiving.usesNACK = false
        }
        pair.there.conditions.outages = [pair.now + .milliseconds(200)..<pair.now + .milliseconds(240)]
        pair.call(frames: 50, from: &source)
        #expect(pair.received.count == 48)
        #expect(pair.outputs.contains(.skipped(packets: 1)))
        let pauses = zip(pair.receivedAt, pair.receivedAt.dropFirst()).map { $1 - $0 }
        #expect((pauses.max() ?? .zero) <= .milliseconds(200))
        #expect(pair.feedback.allSatisfy { if case .pictureLossIndication = $0.packet { false } else { true } })
    }

    @Test func `reports measure the round trip on both clocks`() {
        var source = FrameSource(.vp8)
        var pair = StreamPair(
            .vp8, there: .init(delay: .milliseconds(40)), back: .init(delay: .milliseconds(30)))
        pair.call(frames: 150, from: &source)
        let stats = pair.sender.remoteStats()
        // The links are looked at each millisecond, so the measure is late by up to two.
        #expect((0.069...0.073).contains(stats?.roundTripTime ?? 0))
        #expect(stats?.packetsLost == 0)
        #expect((stats?.roundTripTimeMeasurements ?? 0) > 2)
        #expect(pair.receiver.remoteStats()?.packetsSent ?? 0 > 0)
    }

    @Test func `a late frame's capture time is the sender's wall clock`() {
        var source = FrameSource(.vp8)
        var pair = StreamPair(.vp8)
        let start = pair.now
        pair.call(frames: 100, from: &source)
        guard let first = pair.received.first, let time = pair.receiver.captureTime(of: first.timestamp) else {
            Issue.record("no report came")
            return
        }
        let expected = WallClock(offset: .seconds(Int64(1_700_000_000))).ntp(at: start)
        let error = Int64(bitPattern: time.value &- expected.value)
        #expect(error.magnitude < 1 << 32 / 100)
    }

    @Test func `a playout delay evens out the path's jitter`() {
        var source = FrameSource(.opus)
        var pair = StreamPair(
            .opus, there: .init(delay: .milliseconds(20), jitter: .milliseconds(15))
        ) { _, receiving in
            receiving.playoutDelay = .adaptive(minimum: .milliseconds(40), maximum: .milliseconds(200))
        }
        pair.call(frames: 120, from: &source)
        #expect(pair.received.map(\.payload) == pair.sent.map(\.payload))
        let pauses = zip(pair.receivedAt, pair.receivedAt.dropFirst()).map { $1 - $0 }.dropFirst(20)
        #expect(pauses.allSatisfy { $0 >= .milliseconds(15) && $0 <= .milliseconds(25) })
    }
}
