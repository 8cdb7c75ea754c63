import RTCEngine
import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// One subscriber of VP8, packet by packet: what the publisher sends, and what goes out.
@Suite struct VideoForwarderTests {
    private func key(_ picture: UInt16, base: UInt8 = 0, index: UInt8 = 0, starts: Bool = true) -> VP8Payload {
        VP8Payload(isKey: true, starts: starts, pictureID: picture, base: base, keyIndex: index)
    }

    private func delta(
        _ picture: UInt16, base: UInt8 = 0, _ temporal: UInt8 = 0, sync: Bool = false, index: UInt8 = 0,
        starts: Bool = true
    ) -> VP8Payload {
        VP8Payload(
            starts: starts, pictureID: picture, base: base, temporal: temporal, sync: sync, keyIndex: index)
    }

    @Test func `nothing goes out before a key frame, which is asked for`() {
        let peer = Subscriber()
        #expect(peer.vp8(7, 3_000, delta(1)) == [])
        #expect(peer.wishes() == 0)
        peer.wait(.milliseconds(499))
        #expect(peer.wishes() == nil)
        peer.wait(.milliseconds(1))
        #expect(peer.wishes() == 0)
        #expect(peer.vp8(8, 6_000, key(2)) == ["100 @6000 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(9, 9_000, delta(3)) == ["101 @9000 pid 3 tl0 0 k 0 t0."])
        #expect(peer.wishes() == nil)
    }

    @Test func `a lost packet keeps its place, and takes it when it comes`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(10, 6_000, delta(4)) == ["102 @6000 pid 4 tl0 0 k 0 t0."])
        #expect(peer.vp8(9, 3_000, delta(3)) == ["101 @3000 pid 3 tl0 0 k 0 t0."])
        #expect(peer.vp8(9, 3_000, delta(3)) == [])
    }

    @Test func `pictures of temporal layers that are left out leave no gap, and the layer is joined where Y allows it`()
    {
        let peer = Subscriber(target: LayerTarget(spatial: 0, temporal: 0))
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(9, 3_000, delta(3, 2)) == [])
        #expect(peer.vp8(10, 6_000, delta(4, 1)) == [])
        #expect(peer.vp8(11, 9_000, delta(5, base: 1)) == ["101 @9000 pid 3 tl0 1 k 0 t0."])
        peer.forwarder.target = .highest
        // Its own layer's pictures were left out, and it may refer to them.
        #expect(peer.vp8(12, 12_000, delta(6, base: 1, 1)) == [])
        // Y promises nothing of the layers between.
        #expect(peer.vp8(13, 15_000, delta(7, base: 1, 2, sync: true)) == [])
        #expect(peer.vp8(14, 18_000, delta(8, base: 1, 1, sync: true)) == ["102 @18000 pid 4 tl0 1 k 0 t1."])
        #expect(peer.vp8(15, 21_000, delta(9, base: 1, 2)) == [])
        #expect(peer.vp8(16, 24_000, delta(10, base: 1, 2, sync: true)) == ["103 @24000 pid 5 tl0 1 k 0 t2."])
        #expect(peer.vp8(17, 27_000, delta(11, base: 1, 2)) == ["104 @27000 pid 6 tl0 1 k 0 t2."])
    }

    @Test func `a late packet of a layer that is left out becomes padding`() {
        let peer = Subscriber(target: LayerTarget(spatial: 0, temporal: 0))
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(10, 6_000, delta(4, base: 1)) == ["102 @6000 pid 4 tl0 1 k 0 t0."])
        #expect(peer.vp8(9, 3_000, delta(3, 2)) == ["101 @3000 padding"])
        #expect(peer.ask(101) == Packet.padding(101, timestamp: 3_000).map { $0 == 77 ? 1 : $0 })
    }

    @Test func `a frame that is going out is finished when its layer is no longer wanted`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(9, 3_000, marker: false, delta(3, 1)) == ["101 @3000 pid 3 tl0 0 k 0 t1"])
        peer.forwarder.target = .lowest
        #expect(peer.vp8(10, 3_000, delta(3, 1, starts: false)) == ["102 @3000 pid 3 tl0 0 k 0 t1."])
        #expect(peer.vp8(11, 6_000, delta(4, 1)) == [])
        #expect(peer.vp8(12, 9_000, delta(5)) == ["103 @9000 pid 4 tl0 0 k 0 t0."])
    }

    @Test func `padding of the publisher is left out`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.publish(Packet.padding(9, timestamp: 0)) == [])
        #expect(peer.vp8(10, 3_000, delta(3)) == ["101 @3000 pid 3 tl0 0 k 0 t0."])
        // Whose place was kept, for nobody could know.
        #expect(peer.vp8(12, 6_000, delta(4)) == ["103 @6000 pid 4 tl0 0 k 0 t0."])
        #expect(peer.publish(Packet.padding(11, timestamp: 3_000)) == ["102 @3000 padding"])
    }

    @Test func `another layer goes on where the one before ended, from its key frame on`() {
        let peer = Subscriber(streams: 2)
        peer.forwarder.target = .lowest
        #expect(peer.vp8(8, 0, key(2, base: 9, index: 4)) == ["100 @0 key pid 2 tl0 9 k 4 t0."])
        #expect(peer.vp8(65_000, 700_000, layer: 1, key(800)) == [])
        peer.forwarder.target = .highest
        #expect(peer.wishes() == 1)
        peer.wait(.milliseconds(33))
        #expect(peer.vp8(9, 3_000, delta(3, base: 10, index: 4)) == ["101 @3000 pid 3 tl0 10 k 4 t0."])
        #expect(peer.vp8(65_001, 703_000, layer: 1, delta(801, base: 1)) == [])
        peer.wait(.milliseconds(20))
        // Without reports, by the time of arrival: 1,800 ticks after the last picture.
        #expect(
            peer.vp8(65_002, 706_000, layer: 1, key(802, base: 2, index: 1)) == ["102 @4800 key pid 4 tl0 11 k 5 t0."])
        #expect(peer.vp8(10, 6_000, delta(4, base: 11, index: 4)) == [])
        #expect(
            peer.vp8(65_003, 709_000, layer: 1, delta(803, base: 3, index: 1)) == ["103 @7800 pid 5 tl0 12 k 5 t0."])
        #expect(peer.wishes() == nil)
    }

    @Test(arguments: [true, false])
    func `after hours without a packet a picture's packets have one timestamp, which is ahead of the last one`(
        isPaused: Bool
    ) {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        if isPaused { peer.forwarder.target = nil }
        // 7 h: more than half of what a timestamp counts.
        peer.wait(.seconds(Int64(7 * 3_600)))
        peer.forwarder.target = .highest
        let timestamp: UInt32 = 7 * 3_600 * 90_000
        let first = peer.vp8(9, timestamp, marker: false, key(3, index: 1))
        #expect(first.first?.hasPrefix("101 @1073741824 key ") == true)
        peer.wait(.milliseconds(1))
        let second = peer.vp8(10, timestamp, key(3, index: 1, starts: false))
        #expect(second.first?.hasPrefix("102 @1073741824 ") == true)
        peer.wait(.milliseconds(33))
        #expect(peer.vp8(11, timestamp &+ 3_000, delta(4)).first?.hasPrefix("103 @1073744824 ") == true)
    }

    @Test func `another publication goes on with the stream of one that is over, from its key frame on`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2, base: 9, index: 4)) == ["100 @0 key pid 2 tl0 9 k 4 t0."])
        peer.track = PublishedTrack(format: .vp8, streams: 1)
        peer.forwarder = VideoForwarder(
            selector: LayerSelector(target: .highest),
            rewriter: StreamRewriter(continuing: peer.forwarder.rewriter.end))
        peer.wait(.milliseconds(500))
        #expect(peer.vp8(700, 900_000, delta(90, base: 30, index: 2)) == [])
        #expect(peer.vp8(701, 903_000, key(91, base: 31, index: 3)) == ["101 @45000 key pid 3 tl0 10 k 5 t0."])
        #expect(peer.vp8(702, 906_000, delta(92, base: 32, index: 3)) == ["102 @48000 pid 4 tl0 11 k 5 t0."])
        // What the other one sent is not among what can be sent again.
        #expect(peer.forwarder.repair(100, of: peer.track, roundTrip: .milliseconds(20), at: peer.now) == nil)
        #expect(peer.forwarder.repair(101, of: peer.track, roundTrip: .milliseconds(20), at: peer.now) != nil)
    }

    @Test func `sender reports place a layer exactly, and a picture of the same moment one tick later`() {
        let peer = Subscriber(streams: 2, target: .lowest)
        let time = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)
        peer.track.reported(SenderClock(ntp: time, timestamp: 0, receivedAt: peer.now), layer: 0)
        peer.track.reported(SenderClock(ntp: time, timestamp: 700_000, receivedAt: peer.now), layer: 1)
        #expect(peer.vp8(8, 9_000, key(2)) == ["100 @9000 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(20, 709_000, layer: 1, key(5)) == [])
        peer.forwarder.target = .highest
        peer.wait(.milliseconds(40))
        #expect(peer.vp8(21, 712_000, layer: 1, key(6)) == ["101 @12000 key pid 3 tl0 1 k 1 t0."])
        peer.forwarder.target = .lowest
        #expect(peer.vp8(9, 12_000, key(3)) == ["102 @12001 key pid 4 tl0 2 k 2 t0."])
    }

    @Test func `a key frame waits for the end of the picture before it, but not for long`() {
        let peer = Subscriber(streams: 2, target: .lowest)
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        #expect(peer.vp8(50, 0, layer: 1, delta(9)) == [])
        peer.forwarder.target = .highest
        #expect(peer.vp8(9, 3_000, marker: false, delta(3)) == ["101 @3000 pid 3 tl0 0 k 0 t0"])
        #expect(peer.vp8(51, 3_000, layer: 1, marker: false, key(10)) == [])
        #expect(peer.vp8(52, 3_000, layer: 1, key(10, starts: false)) == [])
        #expect(
            peer.vp8(10, 3_000, delta(3, starts: false)) == [
                "102 @3000 pid 3 tl0 0 k 0 t0.", "103 @3001 key pid 4 tl0 1 k 1 t0", "104 @3001 pid 4 tl0 1 k 1 t0.",
            ])
        peer.forwarder.target = .lowest
        #expect(peer.vp8(53, 6_000, layer: 1, marker: false, delta(11)) == ["105 @6001 pid 5 tl0 1 k 1 t0"])
        #expect(peer.vp8(11, 6_000, key(4)) == [])
        peer.wait(.milliseconds(31))
        #expect(
            peer.vp8(12, 9_000, delta(5)) == ["106 @8791 key pid 6 tl0 2 k 2 t0.", "107 @11791 pid 7 tl0 2 k 2 t0."])
    }

    @Test func `a key frame that waits and is not wanted any more is let go, and nothing is missing for it`() {
        let peer = Subscriber(streams: 2, target: .lowest)
        _ = peer.vp8(8, 0, key(2))
        _ = peer.vp8(50, 0, layer: 1, delta(9))
        peer.forwarder.target = .highest
        #expect(peer.vp8(9, 3_000, marker: false, delta(3)) == ["101 @3000 pid 3 tl0 0 k 0 t0"])
        #expect(peer.vp8(51, 3_000, layer: 1, key(10)) == [])
        peer.forwarder.target = .lowest
        // The picture's end is lost.
        #expect(peer.vp8(11, 6_000, delta(4)) == ["103 @6000 pid 4 tl0 0 k 0 t0."])
        #expect(peer.vp8(12, 9_000, delta(5)) == ["104 @9000 pid 5 tl0 0 k 0 t0."])
    }

    @Test func `what was lost before padding is not sent any more when another layer has begun after it`() {
        let peer = Subscriber(streams: 2, target: .lowest)
        _ = peer.vp8(8, 0, key(2))
        _ = peer.vp8(50, 0, layer: 1, delta(9))
        #expect(peer.publish(Packet.padding(10, timestamp: 3_000)) == [])
        peer.forwarder.target = .highest
        peer.wait(.milliseconds(33))
        #expect(peer.vp8(51, 3_000, layer: 1, key(10)) == ["102 @2970 key pid 3 tl0 1 k 1 t0."])
        // Its picture id would be 3, and its time later than that of the layer that has begun.
        #expect(peer.vp8(9, 3_000, delta(3)) == ["101 @3000 padding"])
    }

    @Test func `a key frame's first packet that comes after the others brings them along`() {
        let peer = Subscriber()
        #expect(peer.vp8(9, 0, marker: false, key(2, starts: false)) == [])
        #expect(peer.vp8(10, 0, key(2, starts: false)) == [])
        #expect(
            peer.vp8(8, 0, marker: false, key(2)) == [
                "100 @0 key pid 2 tl0 0 k 0 t0", "101 @0 pid 2 tl0 0 k 0 t0", "102 @0 pid 2 tl0 0 k 0 t0.",
            ])
    }

    @Test func `after a pause the stream goes on at a key frame, without a gap and with the time that has passed`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.forwarder.target = nil
        #expect(peer.wishes() == nil)
        #expect(peer.vp8(9, 3_000, delta(3, base: 1)) == [])
        peer.wait(.seconds(Int64(2)))
        peer.forwarder.target = .highest
        #expect(peer.wishes() == 0)
        #expect(peer.vp8(70, 180_000, delta(62, base: 60)) == [])
        #expect(peer.vp8(71, 183_000, key(63, base: 61, index: 1)) == ["101 @183000 key pid 3 tl0 1 k 1 t0."])
    }

    @Test func `a publisher that begins anew is followed from its next key frame`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.wait(.milliseconds(500))
        // RFC 3550 §A.1: one packet far away is not believed.
        #expect(peer.vp8(30_000, 900, delta(900)) == [])
        #expect(peer.vp8(30_001, 900, delta(900)) == [])
        #expect(peer.wishes() == 0)
        #expect(peer.vp8(30_002, 4_000_000_000, key(901)) == ["101 @45000 key pid 3 tl0 1 k 1 t0."])
    }

    @Test func `a publisher that is known to begin anew is followed from its first packet`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.wait(.milliseconds(500))
        let first = Packet.rtp(30_000, timestamp: 4_000_000_000, marker: true, key(901).bytes)
        #expect(peer.publish(first, startsAnew: true) == ["101 @45000 key pid 3 tl0 1 k 1 t0."])
    }

    @Test func `a publisher that is known to begin anew with a packet of no use is followed from the next one`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.wait(.milliseconds(500))
        peer.track.passOver(30_000, startsAnew: true, layer: 0)
        // One of before, which comes late, is still of before.
        #expect(peer.vp8(7, 0, delta(1)) == [])
        let highest = peer.track.highestSequence(of: 0)
        #expect(highest == 0x1_0008)
        #expect(peer.vp8(30_001, 4_000_000_000, key(901)) == ["101 @45000 key pid 3 tl0 1 k 1 t0."])
        #expect(peer.vp8(30_000, 4_000_000_000, delta(900)) == [])
        #expect(peer.vp8(30_002, 4_000_003_000, delta(902)) == ["102 @48000 pid 4 tl0 1 k 1 t0."])
    }

    @Test func `however many of a new numbering are of no use, the first that is of use is followed`() {
        let peer = Subscriber()
        peer.track.passOver(7, startsAnew: true, layer: 0)
        #expect(peer.vp8(8, 0, marker: false, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0"])
        #expect(peer.vp8(9, 0, delta(2)) == ["101 @0 pid 2 tl0 0 k 0 t0."])
        peer.wait(.milliseconds(500))
        // They come round to numbers near those of before.
        for number in 20_000...65_000 as ClosedRange<UInt16> {
            peer.track.passOver(number, startsAnew: number == 20_000, layer: 0)
        }
        let before = peer.track.highestSequence(of: 0) ?? 0
        _ = peer.vp8(65_001, 4_000_000_000, key(901))
        let after = peer.track.highestSequence(of: 0) ?? 0
        #expect(after > before + 0x1_0000)
    }

    @Test func `a publisher that goes on as before is not taken for one that begins anew later`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.track.passOver(1_000, startsAnew: true, layer: 0)
        #expect(peer.vp8(9, 3_000, delta(3)) == ["101 @3000 pid 3 tl0 0 k 0 t0."])
        for number in 10...1_001 as ClosedRange<UInt16> { _ = peer.vp8(number, UInt32(number) * 3_000, delta(4)) }
        let highest = peer.track.highestSequence(of: 0)
        #expect(highest == 66_537)
    }

    @Test func `what was held back while a track was muted is not seen after it`() {
        let peer = Subscriber()
        #expect(peer.vp8(8, 0, key(2)) == ["100 @0 key pid 2 tl0 0 k 0 t0."])
        peer.track.mute()
        peer.track.unmute(at: peer.now)
        let held = Packet.rtp(30_000, timestamp: 4_000_000_000, marker: true, key(901).bytes)
        _ = peer.publish(held, startsAnew: true)
        #expect(
            peer.track.packet(layer: 0, sequence: peer.track.highestSequence(of: 0) ?? 0, at: peer.now)?.isPadding
                == true)
        _ = peer.vp8(30_001, 4_000_003_000, key(902))
        #expect(
            peer.track.packet(layer: 0, sequence: peer.track.highestSequence(of: 0) ?? 0, at: peer.now)?.isPadding
                == false)
    }

    @Test func `another source in a publication's place is followed from its first key frame, whatever its numbers`() {
        let peer = Subscriber()
        #expect(peer.vp8(1_000, 0, key(2)).count == 1)
        peer.wait(.milliseconds(500))
        // Near enough to be taken for a late packet of the source before.
        let lines = peer.publish(Packet.rtp(500, timestamp: 4_000_000_000, ssrc: 78, key(900).bytes))
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("101 @45000 key") == true, "\(lines)")
    }

    @Test func `a layer that falls silent while others go on is left`() {
        let peer = Subscriber(streams: 2)
        #expect(peer.vp8(50, 0, layer: 1, key(9)) == ["100 @0 key pid 9 tl0 0 k 0 t0."])
        #expect(peer.vp8(8, 0, key(2)) == [])
        peer.wait(.milliseconds(1_499))
        #expect(peer.vp8(9, 135_000, delta(3)) == [])
        #expect(peer.wishes() == nil)
        peer.wait(.milliseconds(1))
        #expect(peer.vp8(10, 135_090, delta(4)) == [])
        #expect(peer.wishes() == 0)
        #expect(peer.vp8(11, 135_180, key(5)) == ["101 @135000 key pid 10 tl0 1 k 1 t0."])
    }

    @Test func `silence of all layers is no reason to leave one`() {
        let peer = Subscriber(streams: 2)
        #expect(peer.vp8(50, 0, layer: 1, key(9)) == ["100 @0 key pid 9 tl0 0 k 0 t0."])
        peer.wait(.seconds(Int64(60)))
        #expect(peer.wishes() == nil)
        #expect(peer.vp8(51, 5_400_000, layer: 1, delta(10)) == ["101 @5400000 pid 10 tl0 0 k 0 t0."])
    }

    @Test func `what is asked for again is the same, byte for byte, also of before a switch`() {
        let peer = Subscriber(streams: 2, target: LayerTarget(spatial: 0, temporal: 0))
        _ = peer.vp8(8, 0, key(2, base: 9, index: 4))
        _ = peer.vp8(9, 3_000, delta(3, base: 9, 1, index: 4))
        _ = peer.vp8(10, 6_000, delta(4, base: 10, index: 4))
        _ = peer.vp8(50, 900, layer: 1, delta(70))
        peer.forwarder.target = .highest
        _ = peer.vp8(51, 3_900, layer: 1, key(71, base: 3, index: 7))
        _ = peer.vp8(52, 6_900, layer: 1, delta(72, base: 4, index: 7))
        #expect(peer.wire.keys.sorted() == [100, 101, 102, 103])
        for number in peer.wire.keys.sorted() { #expect(peer.ask(number) == peer.wire[number]) }
        // Not twice within a round trip, and nothing that was never sent.
        #expect(peer.ask(102) == nil)
        peer.wait(.milliseconds(50))
        #expect(peer.ask(102) == peer.wire[102])
        #expect(peer.ask(99) == nil)
        #expect(peer.ask(104) == nil)
    }

    @Test func `one packet is sent again ten times at most`() {
        let peer = Subscriber()
        _ = peer.vp8(8, 0, key(2))
        var answers = 0
        for _ in 0..<30 {
            peer.wait(.milliseconds(1))
            if peer.ask(100, roundTrip: .zero) != nil { answers += 1 }
        }
        #expect(answers == 10)
    }

    @Test func `numbers wrap: sequence, timestamp, picture id of both widths, TL0PICIDX and KEYIDX`() {
        for isLong in [true, false] {
            let peer = Subscriber(streams: 2, target: .lowest, firstSequenceNumber: 65_535)
            let last: UInt16 = isLong ? 0x7fff : 0x7f
            func payload(_ picture: UInt16, base: UInt8, index: UInt8, isKey: Bool) -> VP8Payload {
                VP8Payload(isKey: isKey, pictureID: picture, isLong: isLong, base: base, keyIndex: index)
            }
            #expect(
                peer.vp8(65_535, 4_294_967_000, payload(last, base: 255, index: 31, isKey: true)) == [
                    "65535 @4294967000 key pid \(last) tl0 255 k 31 t0."
                ])
            #expect(
                peer.vp8(0, 2_704, payload(0, base: 0, index: 31, isKey: false)) == ["0 @2704 pid 0 tl0 0 k 31 t0."])
            _ = peer.vp8(5, 0, layer: 1, payload(last - 1, base: 7, index: 3, isKey: false))
            peer.forwarder.target = .highest
            peer.wait(.milliseconds(100))
            #expect(
                peer.vp8(6, 9_000, layer: 1, payload(last, base: 8, index: 4, isKey: true)) == [
                    "1 @11704 key pid 1 tl0 1 k 0 t0."
                ])
            #expect(
                peer.vp8(7, 12_000, layer: 1, payload(0, base: 9, index: 4, isKey: false)) == [
                    "2 @14704 pid 2 tl0 2 k 0 t0."
                ])
        }
    }

    @Test func `a sender report's timestamp is translated while its layer is forwarded`() {
        let peer = Subscriber(streams: 2, target: .lowest)
        _ = peer.vp8(8, 1_000, key(2))
        _ = peer.vp8(50, 900_000, layer: 1, delta(70))
        func translated(_ timestamp: UInt32, layer: Int) -> UInt32? {
            let report = SenderClock(ntp: NTPTimestamp(value: 1), timestamp: timestamp, receivedAt: peer.now)
            return peer.forwarder.rewriter.translated(report, layer: layer)
        }
        #expect(translated(500, layer: 0) == 500)
        #expect(translated(500, layer: 1) == nil)
        peer.forwarder.target = .highest
        peer.wait(.milliseconds(10))
        #expect(peer.vp8(51, 903_000, layer: 1, key(71)) == ["101 @1900 key pid 3 tl0 1 k 1 t0."])
        #expect(translated(904_000, layer: 1) == 2_900)
    }

    @Test func `a report of before the publisher's clock began anew says nothing of what comes after it`() {
        let peer = Subscriber()
        let before = SenderClock(ntp: NTPTimestamp(value: 1), timestamp: 900_000, receivedAt: peer.now)
        _ = peer.vp8(8, 900_000, key(2))
        #expect(peer.forwarder.rewriter.translated(before, layer: 0) == 900_000)
        peer.wait(.milliseconds(100))
        #expect(peer.vp8(9, 5_000, key(3)) == ["101 @909000 key pid 3 tl0 0 k 0 t0."])
        #expect(peer.forwarder.rewriter.translated(before, layer: 0) == nil)
        peer.wait(.milliseconds(1))
        let after = SenderClock(ntp: NTPTimestamp(value: 2), timestamp: 5_090, receivedAt: peer.now)
        #expect(peer.forwarder.rewriter.translated(after, layer: 0) == 909_090)
    }
}
