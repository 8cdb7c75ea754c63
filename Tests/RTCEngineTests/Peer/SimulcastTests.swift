import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Layers of a picture on their way from who makes them to a server.
@Suite struct SimulcastTests {
    @Test func `three layers arrive as three streams that tell their names`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        for number in 1..<20 { try duet.send(number, layers: SimulcastDuet.names) }
        for (place, rid) in SimulcastDuet.names.enumerated() {
            #expect(duet.count(rid) == 20)
            #expect(duet.received.first { $0.metadata.rid == rid }?.payload.last == UInt8(place + 1))
        }
        for _ in 0..<1_500 { duet.step() }
        let inbound = duet.right.stats(at: duet.now).inboundRTP
        #expect(Set(inbound.compactMap(\.rid)) == Set(SimulcastDuet.names))
        #expect(inbound.allSatisfy { $0.framesReceived == 20 })
        let outbound = duet.left.stats(at: duet.now).outboundRTP
        #expect(Set(outbound.compactMap(\.rid)) == Set(SimulcastDuet.names))
        #expect(duet.left.stats(at: duet.now).remoteInboundRTP.count == 3, "a report about each layer")
    }

    @Test func `late retransmissions of a layer's source before are not taken for those of the one in its place`()
        throws
    {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        for number in 0..<5 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 0) }
        let pictures = try #require(duet.right.transceivers.first?.id)
        func layer() -> SimulcastReceiver.Layer? { duet.right.simulcasts[pictures]?.layers.first }
        let key = VP8.payload(isKeyFrame: true)
        let delta = VP8.payload(isKeyFrame: false)
        // Learnt from what the path was probed with.
        let former = try #require(layer()?.stream?.retransmissionSSRC)
        try duet.inject(1_000, ssrc: 77, timestamp: 90_000, rid: "q", key)
        try duet.inject(1_002, ssrc: 77, timestamp: 96_000, delta)
        // Far behind the numbers that the probes had.
        try duet.inject(5_000, ssrc: former, timestamp: 0, repairs: "q", isRetransmission: true, VP8.repeated(2))
        #expect(layer()?.stream?.ssrc == 77)
        #expect(layer()?.stream?.retransmissionSSRC == nil)
        try duet.inject(1, ssrc: 78, timestamp: 93_000, repairs: "q", isRetransmission: true, VP8.repeated(1_001))
        #expect(layer()?.stream?.retransmissionSSRC == 78)
        #expect(layer()?.rtxSSRC == 78)
        // Which names its layer no more once it is known.
        try duet.inject(5_001, ssrc: former, timestamp: 0, repairs: "q", isRetransmission: true, VP8.repeated(3))
        #expect(layer()?.rtxSSRC == 78)
        #expect(layer()?.stream?.counters.framesReceived == 3)
    }

    @Test func `layers go on after an offer of the server's`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        try duet.offerFromRight()
        try duet.send(1, layers: SimulcastDuet.names, isKeyFrame: true)
        for number in 2..<10 { try duet.send(number, layers: SimulcastDuet.names) }
        for rid in SimulcastDuet.names { #expect(duet.count(rid) == 10) }
    }

    @Test func `a peer that wants no layers any more gets the first one alone, until it wants them again`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.noteNumbersOfFirstLayer()
        for number in 0..<5 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 0) }
        let asked = duet.keyFrameRequests
        try duet.offerFromRight(SimulcastDuet.withoutLayers)
        duet.step()
        #expect(duet.keyFrameRequests > asked)
        for number in 5..<10 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 5) }
        #expect(duet.received.count == 20)
        #expect(duet.count(nil) == 5)
        #expect(duet.received.last?.payload.last == 1, "the first layer's")
        // Switching on what the peer does not take sends nothing.
        for isActive in [false, true] { try duet.left.setLayer("f", isActive: isActive, on: duet.video) }
        try duet.send(10, layers: ["f"], isKeyFrame: true)
        #expect(duet.received.count == 20)

        try duet.offerFromLeft()
        for number in 11..<16 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 11) }
        for rid in SimulcastDuet.names { #expect(duet.count(rid) == 10) }
        // SRTP has seen none of the source's numbers twice (RFC 3711 §9.1).
        #expect(Set(duet.numbers).count == duet.numbers.count && !duet.numbers.isEmpty)
        #expect(duet.left.counters.protectFailures == 0 && duet.right.counters.unprotectFailures == 0)
    }

    @Test func `layers that the peer does not want make no sender reports`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        for number in 0..<60 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 0) }
        try duet.offerFromRight(SimulcastDuet.withoutLayers)
        func reports() -> [UInt64] { (duet.left.layerSenders[duet.video] ?? []).map(\.stream.counters.reportsSent) }
        let before = reports()
        #expect(before.count == 3 && before.allSatisfy { $0 > 0 })
        for _ in 0..<4_000 { duet.step() }
        let after = reports()
        #expect(after.first ?? 0 > before.first ?? 0)
        #expect(after.dropFirst() == before.dropFirst())
    }

    @Test func `layers that are agreed later begin with the source of the one stream where that has stopped`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers, offered: SimulcastDuet.withoutLayers)
        try duet.noteNumbersOfFirstLayer()
        for number in 0..<5 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 0) }
        #expect(duet.count(nil) == 5 && duet.received.count == 5)
        try duet.offerFromLeft()
        for number in 5..<10 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 5) }
        for rid in SimulcastDuet.names { #expect(duet.count(rid) == 5) }
        #expect(Set(duet.numbers).count == duet.numbers.count && !duet.numbers.isEmpty)
        #expect(duet.left.counters.protectFailures == 0 && duet.right.counters.unprotectFailures == 0)
    }

    @Test func `layers go on with a codec that is agreed later`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers, codecs: [.vp8, .h264])
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        #expect(duet.received.map(\.format) == [.vp8, .vp8, .vp8])
        try duet.left.setCodecPreferences([.h264, .vp8], of: duet.video)
        try duet.offerFromLeft()
        #expect(duet.left.transceivers.first?.sendParameters?.codec.payloadFormat == .h264)
        for number in 1..<5 {
            try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 1, format: .h264)
        }
        #expect(duet.received.dropFirst(3).map(\.format) == Array(repeating: .h264, count: 12))
        for name in SimulcastDuet.names { #expect(duet.count(name) == 5) }
    }

    @Test func `a layer that is switched off sends nothing, and begins again at a key frame`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        try duet.left.setLayer("f", isActive: false, on: duet.video)
        for number in 1..<5 { try duet.send(number, layers: SimulcastDuet.names) }
        #expect(duet.count("f") == 1)
        #expect(duet.count("h") == 5)
        let asked = duet.keyFrameRequests
        try duet.left.setLayer("f", isActive: true, on: duet.video)
        try duet.send(5, layers: SimulcastDuet.names)
        #expect(duet.count("f") == 1)
        #expect(duet.keyFrameRequests == asked + 1)
        try duet.send(6, layers: SimulcastDuet.names, isKeyFrame: true)
        #expect(duet.count("f") == 2)
        #expect(throws: PeerError.unknownLayer) { try duet.left.setLayer("x", isActive: true, on: duet.video) }
        #expect(throws: PeerError.unknownLayer) { try duet.send(7, layers: ["x"]) }
    }

    @Test func `the first layer is switched off and on also where the peer takes one stream`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers, offered: SimulcastDuet.withoutLayers)
        func send(_ number: Int, isKeyFrame: Bool = false) throws {
            let frame = EncodedFrame(
                payload: CodedBytes.frame(.vp8, isKeyFrame: isKeyFrame, body: [1, 2, 3]),
                timestamp: UInt32(number * 3_000), isKeyFrame: isKeyFrame, format: .vp8)
            try duet.left.send(frame, on: duet.video, at: duet.now)
            for _ in 0..<33 { duet.step() }
        }
        try send(0, isKeyFrame: true)
        try duet.left.setLayer("q", isActive: false, on: duet.video)
        for number in 1..<4 { try send(number, isKeyFrame: number == 3) }
        #expect(duet.received.count == 1)
        let outbound = duet.left.stats(at: duet.now).outboundRTP
        #expect(outbound.map(\.isActive) == [false])
        let asked = duet.keyFrameRequests
        try duet.left.setLayer("q", isActive: true, on: duet.video)
        try send(4)
        #expect(duet.received.count == 1)
        #expect(duet.keyFrameRequests == asked + 1)
        try send(5, isKeyFrame: true)
        #expect(duet.received.count == 2)
    }

    @Test func `a lost packet comes again under the repaired layer's name (RFC 8852 3_2)`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        let ssrc = try #require(duet.left.transceivers.first?.layers[1].ssrc)
        var lost = 0
        duet.isLost = { bytes in
            guard bytes.count > 100, bytes.span.bytes.uint32(at: 8) == ssrc, lost == 0 else { return false }
            lost += 1
            return true
        }
        for number in 1..<20 { try duet.send(number, layers: SimulcastDuet.names) }
        #expect(lost == 1)
        #expect(duet.count("h") == 20)
        let repaired = duet.right.stats(at: duet.now).inboundRTP.filter { $0.retransmittedPacketsReceived > 0 }
        // Probes are filled with packets of all layers, under their names.
        #expect(repaired.contains { $0.rid == "h" })
        #expect(repaired.allSatisfy { SimulcastDuet.names.contains($0.rid ?? "") })
    }

    @Test(arguments: [false, true])
    func `while this side is the one that loses packets, none of a layer is asked for twice`(once: Bool) throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        if once { duet.right.askOnce(until: duet.now + .seconds(Int64(10))) }
        let layer = try #require(duet.left.transceivers.first?.layers[1])
        var lost = 0
        duet.isLost = { bytes in
            let ssrc = bytes.count > 100 ? bytes.span.bytes.uint32(at: 8) : nil
            if ssrc == layer.ssrc { lost += 1 }
            return ssrc == layer.ssrc && lost == 3 || ssrc == layer.rtxSSRC
        }
        for number in 1..<20 { try duet.send(number, layers: SimulcastDuet.names) }
        let inbound = duet.right.stats(at: duet.now).inboundRTP.first { $0.rid == "h" }
        #expect(once ? inbound?.nackCount == 1 : (inbound?.nackCount ?? 0) > 3)
    }

    @Test func `a layer that said goodbye comes back under its source, without its name`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        let ssrc = try #require(duet.left.transceivers.first?.layers[2].ssrc)
        var last: UInt16 = 0
        duet.isLost = { bytes in
            if bytes.count > 12, bytes.span.bytes.uint32(at: 8) == ssrc {
                last = bytes.span.bytes.uint16(at: 2) ?? 0
            }
            return false
        }
        try duet.send(0, layers: SimulcastDuet.names, isKeyFrame: true)
        let before = try #require(duet.right.stats(at: duet.now).inboundRTP.first { $0.ssrc == ssrc })
        var goodbye: [UInt8] = []
        RTCPPacket.goodbye(Goodbye(ssrcs: [ssrc])).write(into: &goodbye)
        try duet.inject(rtcp: goodbye)
        let frame = CodedBytes.frame(.vp8, isKeyFrame: true, body: [7])
        try duet.inject(last &+ 1, ssrc: ssrc, timestamp: 90_000, [0x10] + frame)
        for _ in 0..<50 { duet.step() }
        #expect(duet.received.last?.metadata.rid == "f" && duet.received.last?.payload.last == 7)
        #expect(duet.count("f") == 2)
        let after = try #require(duet.right.stats(at: duet.now).inboundRTP.first { $0.ssrc == ssrc })
        #expect(after.id == before.id)
        #expect(after.framesReceived == before.framesReceived + 1)
    }

    @Test func `probes are filled with what layers sent last`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers)
        // Far less than a probe needs.
        for number in 0..<60 { try duet.send(number, layers: SimulcastDuet.names, isKeyFrame: number == 0) }
        let stats = duet.left.stats(at: duet.now)
        let pair = try #require(stats.candidatePairs.first { $0.id == stats.transport?.selectedCandidatePairID })
        #expect((pair.availableOutgoingBitrate ?? 0) > 1_000_000)
        #expect(duet.count("f") == 60)
    }

    @Test func `with a plain receiver the transceiver's own frames arrive without a name`() throws {
        let duet = try SimulcastDuet(SimulcastDuet.layers, receivesSimulcast: false)
        let frame = EncodedFrame(
            payload: CodedBytes.frame(.vp8, isKeyFrame: true, body: [1, 2, 3]), timestamp: 0, isKeyFrame: true,
            format: .vp8)
        try duet.left.send(frame, on: duet.video, at: duet.now)
        for _ in 0..<50 { duet.step() }
        #expect(duet.count(nil) == 1)
    }
}
