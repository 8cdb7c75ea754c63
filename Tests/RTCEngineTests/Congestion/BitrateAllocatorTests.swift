import Testing

@testable import RTCEngine

/// One bitrate for many senders.
@Suite struct BitrateAllocatorTests {
    private func divide(_ kilobits: Int64, _ senders: SenderBitrateLimits...) -> [Int64] {
        BitrateAllocator.divide(.kilobits(kilobits), among: senders).map { ($0.bitsPerSecond + 500) / 1_000 }
    }

    @Test func `sound has what it needs, pictures the rest`() {
        #expect(divide(1_000, .audio, .video) == [64, 936])
    }

    @Test func `priorities double`() {
        let video = { SenderBitrateLimits(priority: $0) }
        #expect(divide(1_500, video(.veryLow), video(.low), video(.medium), video(.high)) == [100, 200, 400, 800])
    }

    @Test func `what one cannot use goes to the others`() {
        let small = SenderBitrateLimits(maximum: .kilobits(100))
        #expect(divide(1_000, small, SenderBitrateLimits(), SenderBitrateLimits()) == [100, 450, 450])
        #expect(divide(1_000, small, small) == [100, 100])
    }

    @Test func `in need the most important ones have their minimum first`() {
        #expect(divide(40, .video, .audio) == [24, 16])
        #expect(divide(10, .video, .audio) == [0, 10])
    }

    @Test func `odd limits and no senders do no harm`() {
        #expect(BitrateAllocator.divide(.megabits(1), among: []) == [])
        #expect(divide(100, SenderBitrateLimits(minimum: .kilobits(50), maximum: .kilobits(20))) == [50])
        #expect(divide(0, .video) == [0])
    }

    @Test func `what all want is known only when all have said it`() {
        #expect(BitrateAllocator.wanted(by: [.audio, .video]) == nil)
        #expect(BitrateAllocator.wanted(by: [.audio, SenderBitrateLimits(maximum: .kilobits(500))]) == .kilobits(564))
        #expect(BitrateAllocator.wanted(by: []) == nil)
    }

    @Test func `rates from outside stay in range`() {
        #expect(Bitrate(bitsPerSecond: Int64(clamping: UInt64.max)) == .highest)
        #expect(Bitrate(bitsPerSecond: Int64.min) == .zero)
        #expect(Bitrate(bitsPerSecond: Double.nan) == .zero)
        #expect(Bitrate(bitsPerSecond: Double.infinity) == .highest)
        #expect(Bitrate.zero.time(forBytes: 1) == .seconds(Int64(3_600)))
        #expect(Bitrate(bytes: 100, in: .zero) == .zero)
        #expect((Bitrate.highest + .highest) == .highest)
        let odd = CongestionConfiguration(
            startBitrate: .megabits(50), minimumBitrate: .megabits(30), maximumBitrate: .zero, pacingFactor: -1)
        #expect(odd.inOrder.limits == .megabits(30)...(.megabits(30)))
        #expect(odd.inOrder.startBitrate == .megabits(30))
        #expect(odd.inOrder.pacingFactor == 1)
    }
}
