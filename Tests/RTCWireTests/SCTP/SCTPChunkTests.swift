import RTCWire
import Testing

/// Packets as aiortc 1.16 writes them (its chunk classes, ports 5000, tag 01020304), and what cannot be read.
@Suite struct SCTPChunkTests {
    /// A packet with these chunks, sealed.
    private func packet(tag: UInt32 = 0x0102_0304, _ write: (inout [UInt8]) -> Void) -> [UInt8] {
        var packet: [UInt8] = []
        SCTPCommonHeader(sourcePort: 5_000, destinationPort: 5_000, verificationTag: tag).write(into: &packet)
        write(&packet)
        SCTPChecksum.seal(&packet)
        return packet
    }

    private struct Unreadable: Error {}

    /// Reads the only chunk of a packet.
    private func only<Value>(_ packet: [UInt8], _ read: (borrowing SCTPChunk) -> Value?) throws -> Value {
        #expect(SCTPChecksum.verdict(on: packet.span.bytes) == .correct)
        guard var reader = SCTPPacketReader(packet.span.bytes), let chunk = reader.next() else {
            throw Unreadable()
        }
        let value = read(chunk)
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
        return try #require(value)
    }

    @Test func `INIT`() throws {
        let bytes = hexBytes(
            "1388138800000000e3cd4b550100001edeadbeef00020000ffff080089abcdefc000000480080006c0820000")
        let initiation = try only(bytes) { SCTPInitiation($0) }
        #expect(initiation.initiateTag == 0xdead_beef)
        #expect(initiation.receiverWindow == 131_072)
        #expect(initiation.outboundStreams == 65_535 && initiation.inboundStreams == 2_048)
        #expect(initiation.initialTSN == 0x89ab_cdef)
        #expect(initiation.parameter(SCTPParameterType.forwardTSNSupported) == [])
        #expect(initiation.parameter(SCTPParameterType.supportedExtensions) == [0xc0, 0x82])
        #expect(packet(tag: 0) { initiation.write(.initiation, into: &$0) } == bytes)
    }

    @Test func `DATA`() throws {
        let bytes = hexBytes("1388138801020304b1582a240003001511223344000700090000003370696e6721000000")
        let header = try only(bytes) { SCTPDataHeader($0) }
        #expect(
            header
                == SCTPDataHeader(
                    isInterleaved: false, tsn: 0x1122_3344, stream: 7, isUnordered: false, isFirst: true,
                    isLast: true, message: 9, fragment: 0, payloadProtocol: 51))
        let payload = try only(bytes) { chunk in chunk.value.extracting(12..<17).withUnsafeBytes { [UInt8]($0) } }
        #expect(payload == Array("ping!".utf8))
        let written = packet { packet in
            header.write(payloadCount: 5, into: &packet)
            packet += payload + [0, 0, 0]
        }
        #expect(written == bytes)
    }

    /// RFC 8260 §2.1, laid out by hand.
    @Test func `I-DATA has its protocol first and its fragment's number later`() throws {
        for isFirst in [true, false] {
            let header = SCTPDataHeader(
                isInterleaved: true, tsn: 5, stream: 2, isUnordered: true, isFirst: isFirst, isLast: false,
                wantsAcknowledgment: true, message: 0x0102_0304, fragment: isFirst ? 0 : 8,
                payloadProtocol: isFirst ? 51 : 0)
            let bytes = packet { packet in
                header.write(payloadCount: 1, into: &packet)
                packet += [0xaa, 0, 0, 0]
            }
            let expected: [UInt8] =
                [0x40, isFirst ? 0x0e : 0x0c, 0, 21, 0, 0, 0, 5, 0, 2, 0, 0, 1, 2, 3, 4, 0, 0, 0]
                + [isFirst ? 51 : 8, 0xaa, 0, 0, 0]
            #expect(Array(bytes.dropFirst(12)) == expected)
            #expect(try only(bytes) { SCTPDataHeader($0) } == header)
        }
    }

    @Test func `SACK`() throws {
        let bytes = hexBytes(
            "13881388010203045338a7220300002000000064000013880002000200020003000500050000006300000062")
        let sack = try only(bytes) { SCTPSelectiveAcknowledgment($0) }
        #expect(
            sack
                == SCTPSelectiveAcknowledgment(
                    cumulativeTSN: 100, receiverWindow: 5_000,
                    blocks: [.init(start: 2, end: 3), .init(start: 5, end: 5)], duplicates: [99, 98]))
        #expect(packet { sack.write(into: &$0) } == bytes)
    }

    @Test func `FORWARD TSN, and that of interleaving`() throws {
        let bytes = hexBytes("1388138801020304f2585660c0000010000000c80001000200030004")
        let forward = try only(bytes) { SCTPForwardTSN($0) }
        #expect(
            forward
                == SCTPForwardTSN(
                    isInterleaved: false, cumulativeTSN: 200,
                    skipped: [
                        .init(stream: 1, isUnordered: false, message: 2),
                        .init(stream: 3, isUnordered: false, message: 4),
                    ]))
        #expect(packet { forward.write(into: &$0) } == bytes)
        let interleaved = SCTPForwardTSN(
            isInterleaved: true, cumulativeTSN: 1, skipped: [.init(stream: 2, isUnordered: true, message: 3)])
        let written = packet { interleaved.write(into: &$0) }
        #expect(Array(written.dropFirst(12)) == [0xc2, 0, 0, 16, 0, 0, 0, 1, 0, 2, 0, 1, 0, 0, 0, 3])
        #expect(try only(written) { SCTPForwardTSN($0) } == interleaved)
    }

    @Test func `RE-CONFIG`() throws {
        let request = hexBytes("1388138801020304a17f95ec82000018000d001400000001000000020000000300040005")
        let outgoing = SCTPReconfiguration.outgoingReset(request: 1, response: 2, lastTSN: 3, streams: [4, 5])
        #expect(try only(request) { SCTPReconfiguration.read($0) } == [outgoing])
        let answer = hexBytes("13881388010203046c9c20d2820000100010000c0000000100000001")
        let response = SCTPReconfiguration.response(request: 1, result: SCTPReconfigurationResult.performed)
        #expect(try only(answer) { SCTPReconfiguration.read($0) } == [response])
        for (bytes, value) in [(request, outgoing), (answer, response)] {
            let written = packet { packet in
                let start = packet.beginSCTPChunk(.reconfiguration)
                value.write(into: &packet)
                packet.endSCTPChunk(start)
            }
            #expect(written == bytes)
        }
        for value in [SCTPReconfiguration.incomingReset(request: 9, streams: [1]), .otherRequest(type: 17, request: 3)]
        {
            let written = packet { packet in
                let start = packet.beginSCTPChunk(.reconfiguration)
                value.write(into: &packet)
                packet.endSCTPChunk(start)
            }
            #expect(try only(written) { SCTPReconfiguration.read($0) } == [value])
        }
    }

    @Test func `ABORT, SHUTDOWN and HEARTBEAT`() throws {
        let abort = hexBytes("1388138801020304feae3b0a0600000b000d000762616400")
        #expect(
            try only(abort) { SCTPParameter.read($0.value) }
                == [SCTPParameter(type: SCTPCauseCode.protocolViolation, value: Array("bad".utf8))])
        let shutdown = hexBytes("13881388010203042a452168070000080000004d")
        #expect(try only(shutdown) { $0.value.uint32(at: 0) } == 77)
        #expect(packet { $0.appendSCTPChunk(.shutdown, value: [0, 0, 0, 77]) } == shutdown)
        let heartbeat = hexBytes("138813880102030444539a310400000d000100093132333435000000")
        #expect(
            try only(heartbeat) { SCTPParameter.read($0.value) }
                == [SCTPParameter(type: SCTPParameterType.heartbeatInfo, value: Array("12345".utf8))])
    }

    @Test func `the two highest bits of a type say what to do with it`() {
        for (type, goesOn, reports) in [(UInt8(0x3f), false, false), (0x7f, false, true), (0xbf, true, false)] {
            #expect(SCTPUnknownAction(chunkType: type).goesOn == goesOn)
            #expect(SCTPUnknownAction(chunkType: type).reports == reports)
            #expect(SCTPUnknownAction(parameterType: UInt16(type) << 8).reports == reports)
        }
    }

    @Test func `every beginning of a packet is read without harm`() {
        let whole = packet { packet in
            SCTPSelectiveAcknowledgment(cumulativeTSN: 1, receiverWindow: 2, duplicates: [3]).write(into: &packet)
            SCTPForwardTSN(isInterleaved: true, cumulativeTSN: 4).write(into: &packet)
        }
        for count in 0..<whole.count {
            let part = Array(whole.prefix(count))
            guard var reader = SCTPPacketReader(part.span.bytes) else {
                #expect(count < 12)
                continue
            }
            var chunks = 0
            while let chunk = reader.next() {
                chunks += 1
                let sizes = (chunk.whole.byteCount, chunk.value.byteCount)
                #expect(sizes.0 == sizes.1 + 4)
            }
            let isMalformed = reader.isMalformed
            #expect(isMalformed == (count != 12 && count != 32))
            #expect(chunks == (count < 32 ? 0 : 1))
        }
    }

    @Test func `counts that promise more than there is are not believed`() throws {
        // One gap block and 65,535 duplicates in 16 bytes.
        var bytes = packet { packet in
            packet.appendSCTPChunk(
                .selectiveAcknowledgment, value: [0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0xff, 0xff, 0, 2, 0, 3])
        }
        #expect(try only(bytes) { $0.type } == 3)
        #expect(try only(bytes) { [SCTPSelectiveAcknowledgment($0)] } == [nil])
        // A chunk of length 3 would never end.
        bytes[15] = 3
        guard var reader = SCTPPacketReader(bytes.span.bytes) else { throw Unreadable() }
        var chunks = 0
        while let _ = reader.next() { chunks += 1 }
        let isMalformed = reader.isMalformed
        #expect(chunks == 0 && isMalformed)
    }
}
