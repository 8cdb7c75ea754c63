import RTCEngine
import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// One subscriber of sound.
@Suite struct AudioForwarderTests {
    private final class Listener {
        var now = Instant.zero + .seconds(Int64(10))
        var track: PublishedTrack
        var forwarder: AudioForwarder

        init(_ format: PayloadFormat = .opus) {
            track = PublishedTrack(format: format)
            forwarder = AudioForwarder(rewriter: .forAudio(clockRate: format.clockRate, firstSequenceNumber: 500))
        }

        /// The server passes nothing on.
        var isMuted = false

        func publish(_ number: UInt16, _ timestamp: UInt32, marker: Bool = false) -> String? {
            publish(Packet.rtp(number, timestamp: timestamp, marker: marker, payloadType: 111, [0xfc, 1, 2]))
        }

        func publish(_ bytes: [UInt8]) -> String? {
            guard let header = try? RTPHeader(parsing: bytes.span.bytes),
                let packet = track.receive(
                    header, bytes.span.bytes, layer: 0, extensions: HeaderExtensionIDs(), isMuted: isMuted, at: now),
                let out = forwarder.receive(packet, of: track, at: now)
            else { return nil }
            return "\(out.sequenceNumber) @\(out.timestamp)" + (out.isPadding ? " padding" : "")
                + (out.marker ? "." : "")
        }
    }

    @Test func `every packet goes out, the late ones in their place and each of them once`() {
        let listener = Listener()
        #expect(listener.publish(9, 960, marker: true) == "500 @960.")
        #expect(listener.publish(11, 2_880) == "502 @2880")
        #expect(listener.publish(10, 1_920) == "501 @1920")
        #expect(listener.publish(10, 1_920) == nil)
        #expect(listener.publish(8, 0) == nil)
        #expect(listener.publish(12, 3_840) == "503 @3840")
    }

    @Test func `a pause leaves no gap in the numbers, and the time that it took`() {
        let listener = Listener()
        #expect(listener.publish(9, 960) == "500 @960")
        listener.forwarder.isPaused = true
        for number in 10..<60 as Range<UInt16> {
            listener.now += .milliseconds(20)
            #expect(listener.publish(number, UInt32(number - 8) * 960) == nil)
        }
        listener.forwarder.isPaused = false
        listener.now += .milliseconds(20)
        #expect(listener.publish(60, 52 * 960) == "501 @49920")
        // What was sent in the pause is of no use any more.
        #expect(listener.publish(62, 54 * 960) == "503 @51840")
        #expect(listener.publish(61, 53 * 960) == "502 @50880")
    }

    @Test func `the time of a pause is counted in the codec's own ticks`() {
        let listener = Listener(.pcmu)
        #expect(listener.publish(9, 160) == "500 @160")
        listener.forwarder.isPaused = true
        listener.now += .seconds(Int64(60))
        listener.forwarder.isPaused = false
        #expect(listener.publish(10, 160 + 60 * 8_000) == "501 @480160")
    }

    @Test func `after a pause of half a day packets are as far apart as before`() {
        let listener = Listener()
        #expect(listener.publish(9, 960) == "500 @960")
        listener.forwarder.isPaused = true
        // 13 h: more than half of what a timestamp counts.
        listener.now += .seconds(Int64(13 * 3_600))
        listener.forwarder.isPaused = false
        let timestamp: UInt32 = 960 + 13 * 3_600 * 48_000
        #expect(listener.publish(10, timestamp) == "501 @1073742784")
        listener.now += .milliseconds(20)
        #expect(listener.publish(11, timestamp + 960) == "502 @1073743744")
        listener.now += .milliseconds(20)
        #expect(listener.publish(12, timestamp + 1_920) == "503 @1073744704")
    }

    @Test func `what comes late to a muted track leaves no gap, and is not heard: not when it is asked for either`() {
        let listener = Listener()
        #expect(listener.publish(9, 960) == "500 @960")
        #expect(listener.publish(11, 2_880) == "502 @2880")
        listener.isMuted = true
        listener.forwarder.isPaused = true
        #expect(listener.publish(12, 3_840) == nil)
        #expect(listener.publish(10, 1_920) == "501 @1920 padding")
        let again = listener.forwarder.repair(501, of: listener.track, roundTrip: .zero, at: listener.now)
        #expect(again?.out.isPadding == true && again?.packet.isPadding == true)
        #expect(listener.publish(14, 5_760) == nil)
        listener.isMuted = false
        listener.forwarder.isPaused = false
        // Sent while it was muted, and sent again.
        #expect(listener.publish(13, 4_800) == nil)
        #expect(listener.publish(15, 6_720) == "503 @6720")
    }

    @Test func `another publication goes on with the stream of one that is over`() {
        let listener = Listener()
        #expect(listener.publish(9, 960) == "500 @960")
        listener.track = PublishedTrack(format: .opus)
        listener.forwarder = AudioForwarder(rewriter: StreamRewriter(continuing: listener.forwarder.rewriter.end))
        listener.now += .milliseconds(100)
        #expect(listener.publish(40_000, 77) == "501 @5760")
        #expect(listener.publish(40_001, 1_037) == "502 @6720")
    }

    @Test func `a publisher that begins anew is gone on with at once, later than all before`() {
        let listener = Listener()
        #expect(listener.publish(9, 4_000_000_000) == "500 @4000000000")
        listener.now += .milliseconds(100)
        #expect(listener.publish(40_000, 5) == nil)
        #expect(listener.publish(40_001, 965) == "501 @4000004800")
        #expect(listener.publish(40_002, 1_925) == "502 @4000005760")
    }

    @Test func `padding is left out, and fills a place that was kept`() {
        let listener = Listener()
        #expect(listener.publish(9, 960) == "500 @960")
        #expect(listener.publish(Packet.padding(10, timestamp: 960)) == nil)
        #expect(listener.publish(12, 2_880) == "502 @2880")
        #expect(listener.publish(Packet.padding(11, timestamp: 1_920)) == "501 @1920 padding")
    }
}
