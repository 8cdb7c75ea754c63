import RTCEngine
import Testing

@testable import SFUCore

/// What arrives of each layer.
@Suite struct LayerBitratesTests {
    private let start = Instant.zero + .seconds(Int64(100))

    /// Packets of 1,250 bytes, `perSecond` of them, for some time.
    private func fill(
        _ bitrates: inout LayerBitrates, spatial: Int, temporal: Int = 0, perSecond: Int, from: Interval, to: Interval
    ) {
        var time = from
        while time < to {
            bitrates.receive(bytes: 1_250, spatial: spatial, temporal: temporal, at: start + time)
            time = time + .seconds(Int64(1)) / Int64(perSecond)
        }
    }

    @Test func `the rate of the last second, layer by layer`() {
        var bitrates = LayerBitrates()
        fill(&bitrates, spatial: 0, perSecond: 10, from: .zero, to: .seconds(Int64(3)))
        fill(&bitrates, spatial: 1, temporal: 0, perSecond: 50, from: .seconds(Int64(3)), to: .milliseconds(3_950))
        fill(&bitrates, spatial: 1, temporal: 1, perSecond: 50, from: .seconds(Int64(3)), to: .milliseconds(3_950))
        let now = start + .milliseconds(3_950)
        #expect(bitrates.bitrate(spatial: 1, temporal: 0, at: now) == .kilobits(480))
        #expect(bitrates.bitrate(spatial: 1, at: now) == .kilobits(960))
        // What the lower one cost in the two seconds before counts.
        #expect(bitrates.cumulativeCost(spatial: 1, at: now) == .kilobits(1_060))
        #expect(bitrates.temporalLayerCount(spatial: 1) == 2)
        #expect(bitrates.temporalLayerCount(spatial: 0) == 0)
    }

    @Test func `what is older than a second is forgotten, after any silence`() {
        var bitrates = LayerBitrates()
        fill(&bitrates, spatial: 2, perSecond: 100, from: .zero, to: .seconds(Int64(1)))
        #expect(bitrates.bitrate(spatial: 2, at: start + .seconds(Int64(1))) == .megabits(1))
        bitrates.advance(to: start + .milliseconds(1_450))
        #expect(bitrates.bitrate(spatial: 2, at: start + .milliseconds(1_450)) == .kilobits(500))
        bitrates.advance(to: start + .seconds(Int64(500)))
        #expect(bitrates.bitrate(spatial: 2, at: start + .seconds(Int64(500))) == .zero)
        bitrates.advance(to: start + .seconds(Int64(501)))
        #expect(bitrates.bitrate(spatial: 2, at: start + .seconds(Int64(501))) == .zero)
    }

    @Test func `a key frame is not what a layer costs`() {
        var bitrates = LayerBitrates()
        for time in stride(from: Int64(0), through: 6_000, by: 10) {
            let isKeyFrame = (3_000..<3_100).contains(time)
            bitrates.receive(
                bytes: isKeyFrame ? 26_250 : 1_250, spatial: 0, temporal: 0, at: start + .milliseconds(time))
            let cost = bitrates.cost(spatial: 0, at: start + .milliseconds(time))
            #expect(time < 2_000 || cost < .kilobits(1_100), "after \(time) ms")
        }
        // More that lasts is told before three seconds are over.
        fill(&bitrates, spatial: 0, perSecond: 300, from: .milliseconds(6_010), to: .milliseconds(8_300))
        #expect(bitrates.cost(spatial: 0, at: start + .milliseconds(8_300)) > .megabits(2))
    }

    @Test func `a layer that is switched on is no step before it is known what it costs`() {
        func steps(_ milliseconds: Int64) -> [Int] {
            var bitrates = LayerBitrates()
            for time in stride(from: Int64(0), through: milliseconds, by: 10) {
                bitrates.receive(bytes: 250, spatial: 0, temporal: 0, at: start + .milliseconds(time))
                guard time >= 7_000 else { continue }
                bitrates.receive(bytes: 2_125, spatial: 2, temporal: 0, at: start + .milliseconds(time))
            }
            return bitrates.steps(
                .simulcast, limit: .highest, at: start + .milliseconds(milliseconds)
            ).map { Int($0.target.spatial) }
        }
        #expect(steps(6_990) == [0])
        for time: Int64 in [7_000, 7_050, 7_500, 7_990] { #expect(steps(time) == [0], "\(time)") }
        #expect(steps(8_000) == [0, 2])
    }

    @Test func `a key frame alone is no rate`() {
        var bitrates = LayerBitrates()
        for _ in 0..<10 { bitrates.receive(bytes: 1_250, spatial: 0, temporal: 0, at: start) }
        #expect(bitrates.bitrate(spatial: 0, at: start) == .kilobits(200))
    }

    @Test func `a layer lives until it has been silent for the patience while others went on`() {
        var bitrates = LayerBitrates()
        #expect(bitrates.live == 0)
        bitrates.receive(bytes: 1, spatial: 0, temporal: 0, at: start)
        bitrates.receive(bytes: 1, spatial: 2, temporal: 0, at: start)
        #expect(bitrates.live == 0b101)
        bitrates.receive(bytes: 1, spatial: 0, temporal: 0, at: start + .milliseconds(1_499))
        #expect(bitrates.live == 0b101)
        bitrates.receive(bytes: 1, spatial: 0, temporal: 0, at: start + .milliseconds(1_500))
        #expect(bitrates.live == 0b001)
        bitrates.advance(to: start + .seconds(Int64(60)))
        #expect(bitrates.live == 0b001)
        bitrates.stopped(spatial: 0)
        #expect(bitrates.live == 0)
    }

    @Test func `layers beyond the table count as the last ones`() {
        var bitrates = LayerBitrates()
        bitrates.receive(bytes: 1_250, spatial: 7, temporal: 7, at: start)
        #expect(bitrates.live == 0b1000)
        #expect(bitrates.bitrate(spatial: 3, at: start) > .zero)
        #expect(bitrates.bitrate(spatial: 9, at: start) == .zero)
    }
}
