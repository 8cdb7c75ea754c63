import RTCWire
import Testing

/// Packets laid out by hand after the figures of the RFCs, read and written again.
@Suite struct RTCPVectorTests {
    private func read(_ bytes: [UInt8]) -> [RTCPElement] {
        var elements: [RTCPElement] = []
        var reader = RTCPReader(bytes.span.bytes)
        while let element = reader.next() { elements.append(element) }
        return elements
    }

    private func expect(_ bytes: [UInt8], is packet: RTCPPacket) {
        #expect(read(bytes) == [.packet(packet)])
        var written: [UInt8] = []
        packet.write(into: &written)
        #expect(written == bytes)
    }

    @Test func `a sender report (RFC 3550 figure in 6.4.1)`() {
        let bytes: [UInt8] = [
            0x81, 200, 0, 12, 0, 0, 0, 1, 0xe0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 5, 0, 0, 0x20, 0,
            0, 0, 0, 2, 0x40, 0xff, 0xff, 0xfe, 0, 1, 0x12, 0x34, 0, 0, 0, 9, 0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 0, 0,
        ]
        let block = ReportBlock(
            ssrc: 2, fractionLost: 64, cumulativeLost: -2, highestSequenceNumber: 0x1_1234, jitter: 9,
            lastSenderReport: 0xaabb_ccdd, delaySinceLastSenderReport: 65_536)
        expect(
            bytes,
            is: .senderReport(
                SenderReport(
                    ssrc: 1, ntpTime: NTPTimestamp(value: 0xe000_0000_8000_0000), rtpTimestamp: 4_096,
                    packetCount: 5, octetCount: 8_192, blocks: [block])))
    }

    @Test func `an empty receiver report (RFC 3550 figure in 6.4.2)`() {
        expect([0x80, 201, 0, 1, 0, 0, 0, 7], is: .receiverReport(ReceiverReport(ssrc: 7)))
    }

    @Test func `descriptions end at a whole word (RFC 3550 figure in 6.5)`() {
        // "ab" ends with one zero within the word, "abcd" takes a zero and three more.
        let bytes: [UInt8] = [
            0x82, 202, 0, 7, 0, 0, 0, 1, 1, 2, 0x61, 0x62, 0, 0, 0, 0, 0, 0, 0, 2, 15, 4, 0x61, 0x62, 0x63, 0x64, 0,
            0,
        ]
        var padded = bytes
        padded[3] = UInt8(padded.count / 4 - 1)
        expect(
            padded,
            is: .sourceDescription(
                SourceDescription(chunks: [
                    .init(ssrc: 1, cname: "ab"), .init(ssrc: 2, items: [.init(type: 15, text: "abcd")]),
                ])))
    }

    @Test func `goodbyes, with and without a reason (RFC 3550 figure in 6.6)`() {
        expect([0x81, 203, 0, 1, 0, 0, 0, 9], is: .goodbye(Goodbye(ssrcs: [9])))
        expect(
            [0x81, 203, 0, 2, 0, 0, 0, 9, 3, 0x65, 0x6e, 0x64], is: .goodbye(Goodbye(ssrcs: [9], reason: "end")))
    }

    @Test func `missing packets, singly and by mask (RFC 4585 figure 4)`() {
        let bytes: [UInt8] = [
            0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0x80, 0x01, 0, 100, 0, 0,
        ]
        let nack = GenericNACK(senderSSRC: 1, mediaSSRC: 2, missing: [65_535, 0, 15, 100])
        expect(bytes, is: .nack(nack))
        #expect(nack.missing == [65_535, 0, 15, 100])
    }

    @Test func `a picture loss and a full intra request (RFC 4585 6.3.1, RFC 5104 4.3.1)`() {
        expect(
            [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2],
            is: .pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: 2)))
        expect(
            [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 33, 0, 0, 0],
            is: .fullIntraRequest(
                FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 5, sequenceNumber: 33)])))
    }

    @Test func `an estimate of 1 Mbit a second (draft-alvestrand-rmcat-remb-03 2.2)`() {
        // 1,000,000 = 250,000 << 2: mantissa 0x3d090, exponent 2.
        expect(
            [0x8f, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0x52, 0x45, 0x4d, 0x42, 1, 0x0b, 0xd0, 0x90, 0, 0, 0, 5],
            is: .receiverEstimatedBitrate(ReceiverEstimatedBitrate(senderSSRC: 1, bitrate: 1_000_000, ssrcs: [5])))
    }

    @Test func `transport feedback with a vector of one bit and deltas of one byte (draft-holmer 3.1)`() {
        // Fourteen one-bit symbols "1011…", three arrivals; one byte of padding, counted by itself.
        let bytes: [UInt8] = [
            0xaf, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0, 5, 0, 0, 3, 7, 0xac, 0, 0, 4, 8, 0, 0, 3,
        ]
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequence: 10, statusCount: 5, referenceTime: 3, feedbackCount: 7,
            arrivals: [.init(offset: 0, delta: 0), .init(offset: 2, delta: 4), .init(offset: 3, delta: 8)])
        #expect(read(bytes) == [.packet(.transportFeedback(feedback))])
    }

    @Test func `transport feedback with runs, two-bit symbols and negative times (draft-holmer 3.1.3, 3.1.4)`() {
        // A run of 300 losses; a two-bit vector: small, large, none, none…
        let bytes: [UInt8] = [
            0xaf, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0x01, 0x2f, 0xff, 0xff, 0xff, 7, 0x01, 0x2c, 0xd8, 0,
            16, 0xff, 0xfe, 1,
        ]
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequence: 10, statusCount: 303, referenceTime: -1, feedbackCount: 7,
            arrivals: [.init(offset: 300, delta: 16), .init(offset: 301, delta: -2)])
        #expect(read(bytes) == [.packet(.transportFeedback(feedback))])
    }

    @Test func `feedback that claims more arrivals than it has deltas for costs nothing`() {
        // 65,535 packets in eight runs of "received", and no delta.
        var bytes: [UInt8] = [0x8f, 205, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0, 0, 0, 0]
        for _ in 0..<8 { bytes += [0x3f, 0xff] }
        #expect(read(bytes) == [.dropped(.malformedBody(type: 205))])
    }

    @Test func `feedback whose chunks say more than its count is none, and its chunks are not taken for deltas`() {
        // Written by Pion's interceptor 0.1.12 for the packets 65,531 to 65,534, 0, 65,535, 1 and 2, in this order: it
        // takes 65,535 for one of the next cycle, and tells of some 65,536 that have not come. Its count says 8.
        let pion: [UInt8] = [
            0x8f, 205, 0, 11, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfb, 0, 8,
            0, 0, 3, 0, 0xbd, 0, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xff,
            0x1f, 0xff, 0x1f, 0xff, 0x1f, 0xfd, 0xd1, 0x40, 0x20, 4, 4, 4, 4, 4, 4, 4,
        ]
        #expect(read(pion) == [.dropped(.malformedBody(type: 205))])
        // Three bytes that fill, without the padding bit, are nothing.
        let honest: [UInt8] = [0x8f, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfd, 0, 3, 0, 0, 3, 7, 0x20, 3]
        let feedback = TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequence: 0xfffd, statusCount: 3, referenceTime: 3, feedbackCount: 7,
            arrivals: [.init(offset: 0, delta: 4), .init(offset: 1, delta: 4), .init(offset: 2, delta: 4)])
        #expect(read(honest + [4, 4, 4, 0, 0, 0]) == [.packet(.transportFeedback(feedback))])
    }

    @Test func `the other packets of a compound survive a bad one`() {
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 7]
        let app: [UInt8] = [0x80, 204, 0, 2, 0, 0, 0, 7, 0x6e, 0x61, 0x6d, 0x65]
        let extended: [UInt8] = [0x80, 207, 0, 1, 0, 0, 0, 7]
        // Claims one report block that is not there.
        let short: [UInt8] = [0x81, 201, 0, 1, 0, 0, 0, 7]
        let good = RTCPElement.packet(.receiverReport(ReceiverReport(ssrc: 7)))
        #expect(
            read(report + app + short + extended + report) == [
                good, .skipped(type: 204), .dropped(.malformedBody(type: 201)), .skipped(type: 207), good,
            ])
    }

    @Test func `a compound whose frame is broken ends there`() {
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 7]
        let good = RTCPElement.packet(.receiverReport(ReceiverReport(ssrc: 7)))
        #expect(read(report + [0x80, 201, 0, 2, 0, 0, 0, 7]) == [good, .dropped(.lengthPastEnd)])
        #expect(read(report + [0x80, 201]) == [good, .dropped(.truncatedHeader)])
        #expect(read(report + [0x40, 201, 0, 0]) == [good, .dropped(.unsupportedVersion(1))])
        #expect(read([0xa0, 201, 0, 1, 0, 0, 0, 0]) == [.dropped(.invalidPadding)])
        #expect(read([0xa0, 201, 0, 0]) == [.dropped(.invalidPadding)])
        #expect(read([]) == [])
    }
}
