import RTCEngine
import RTCWire

/// A pair with its handshake done, made once: both are values, so that each input begins with the same two.
private let pair: (left: SCTPAssociation, right: SCTPAssociation, tag: UInt32) = {
    var configuration = SCTPConfiguration()
    configuration.receiveBuffer = 32_768
    configuration.localMaximumMessageSize = 8_192
    var left = SCTPAssociation(configuration: configuration, random: .seeded(1))
    var right = SCTPAssociation(configuration: configuration, random: .seeded(2))
    var tag: UInt32 = 0
    left.start(at: .zero)
    for _ in 0..<4 {
        while let output = left.pollOutput() {
            guard case .send(let packet) = output else { continue }
            if let reader = SCTPPacketReader(packet.span.bytes), reader.header.verificationTag != 0 {
                tag = reader.header.verificationTag
            }
            right.receive(packet.span.bytes, at: .zero)
        }
        while let output = right.pollOutput() {
            if case .send(let packet) = output { left.receive(packet.span.bytes, at: .zero) }
        }
    }
    precondition(left.state == .established && right.state == .established)
    return (left, right, tag)
}()

/// A peer's whole conduct: chunks of two bytes of length, one of time, then a packet behind its common header, which
/// is made right. Nothing crashes, spins or grows; what is understood survives being written and read.
func fuzzSCTP(_ bytes: RawSpan) {
    readChunks(bytes)
    var association = pair.right
    var now = Instant.zero
    for stream in UInt16(0)..<3 {
        try? association.send(
            SCTPMessage(
                stream: stream, payloadProtocol: 53, bytes: [UInt8](repeating: 1, count: 3_000),
                isOrdered: stream != 1, reliability: stream == 2 ? .maxRetransmits(1) : .reliable), at: now)
    }
    association.resetStreams([1], at: now)
    var reader = ByteReader(bytes)
    while let length = reader.readUInt16(), let pause = reader.readUInt8() {
        guard let chunks = reader.readSpan(min(Int(length) % 2_000, reader.remaining)) else { return }
        var packet: [UInt8] = []
        SCTPCommonHeader(
            sourcePort: 5_000, destinationPort: 5_000, verificationTag: chunks.byte(at: 0) == 1 ? 0 : pair.tag
        ).write(into: &packet)
        packet.append(contentsOf: chunks)
        SCTPChecksum.seal(&packet)
        association.receive(packet.span.bytes, at: now)
        now += .milliseconds(Int64(pause) * 20)
        if let wake = association.nextWake, wake <= now { association.tick(at: now) }
        var outputs = 0
        while let output = association.pollOutput() {
            outputs += 1
            if case .send(let packet) = output { precondition(packet.count <= 2_100) }
            if case .message(let message) = output { precondition((1...8_192).contains(message.bytes.count)) }
        }
        // A packet of 2,000 bytes holds at most 100 chunks that are answered or delivered by themselves; a reset or
        // FORWARD TSN delivers what was held.
        precondition(outputs <= 2_000)
        precondition(association.statistics.bytesInFlight <= 9_000)
    }
}

/// Each kind of chunk by itself.
private func readChunks(_ bytes: RawSpan) {
    guard var reader = SCTPPacketReader(bytes) else { return }
    while let chunk = reader.next() {
        if let value = SCTPInitiation(chunk) {
            check(value, { $0.write(.initiation, into: &$1) }, { SCTPInitiation($0) })
        }
        if let value = SCTPSelectiveAcknowledgment(chunk) {
            check(value, { $0.write(into: &$1) }, { SCTPSelectiveAcknowledgment($0) })
        }
        if chunk.type == SCTPChunkType.forwardTSN.rawValue
            || chunk.type == SCTPChunkType.interleavedForwardTSN.rawValue,
            let value = SCTPForwardTSN(chunk)
        {
            check(value, { $0.write(into: &$1) }, { SCTPForwardTSN($0) })
        }
        for value in SCTPReconfiguration.read(chunk) {
            check(
                [value],
                { values, packet in
                    let start = packet.beginSCTPChunk(.reconfiguration)
                    for value in values { value.write(into: &packet) }
                    packet.endSCTPChunk(start)
                }, { SCTPReconfiguration.read($0) })
        }
        _ = SCTPDataHeader(chunk)
    }
}

private func check<Value: Equatable>(
    _ value: Value, _ write: (Value, inout [UInt8]) -> Void, _ read: (borrowing SCTPChunk) -> Value?
) {
    var packet: [UInt8] = []
    SCTPCommonHeader(sourcePort: 1, destinationPort: 2, verificationTag: 3).write(into: &packet)
    write(value, &packet)
    // Chunk lengths have 16 bits; padding that the original left out may outgrow them.
    guard packet.count < 65_535 else { return }
    guard var reader = SCTPPacketReader(packet.span.bytes), let chunk = reader.next(), let again = read(chunk) else {
        preconditionFailure("what was written is not read")
    }
    precondition(again == value)
}
