import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

@Suite struct CodecChangeDetectorTests {
    private let start = Instant.zero + .seconds(Int64(1))

    @Test func `another codec alone for a while is a change, and is told of again`() {
        var detector = CodecChangeDetector()
        let told = (0..<20).map { detector.received(.h264, at: start + .milliseconds(Int64($0) * 33)) }
        // The eighth packet is the first that comes 200 ms after the first one.
        #expect(told.indices.filter { told[$0] } == [7, 12, 17])
    }

    @Test func `what was under way, a few packets, and layers in codecs of their own are none`() {
        var detector = CodecChangeDetector()
        for number in 0..<100 {
            let isChange = detector.received(.h264, at: start + .milliseconds(Int64(number)))
            #expect(!isChange)
        }
        detector.receivedUsual()
        for number in 0..<CodecChangeDetector.packets - 1 {
            let isChange = detector.received(.h264, at: start + .seconds(Int64(number + 1)))
            #expect(!isChange)
        }
        for number in 0..<200 {
            let isChange = detector.received(.vp9, at: start + .milliseconds(Int64(9_000 + number * 15)))
            #expect(!isChange)
            if number % 2 == 0 { detector.receivedUsual() }
        }
        for number in 0..<200 {
            let isChange = detector.received(number % 2 == 0 ? .vp9 : .av1, at: start + .seconds(Int64(20 + number)))
            #expect(!isChange)
        }
    }
}
