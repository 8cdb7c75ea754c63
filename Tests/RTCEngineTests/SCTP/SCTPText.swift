import RTCWire

@testable import RTCEngine

/// Packets as people write them, and packets made by hand.
enum SCTPText {
    /// `SACK, DATA 0/3`: the chunks of a packet; DATA with its stream and number.
    static func describe(_ packet: [UInt8]) -> String {
        guard var reader = SCTPPacketReader(packet.span.bytes) else { return "malformed" }
        var names: [String] = []
        while let chunk = reader.next() { names.append(name(chunk)) }
        return names.joined(separator: ", ")
    }

    private static func name(_ chunk: borrowing SCTPChunk) -> String {
        switch SCTPChunkType(rawValue: chunk.type) {
        case .data, .interleavedData:
            SCTPDataHeader(chunk).map { "DATA \($0.stream)/\($0.message)" } ?? "DATA"
        case .initiation: "INIT"
        case .initiationAcknowledgment: "INIT ACK"
        case .selectiveAcknowledgment: "SACK"
        case .heartbeat: "HEARTBEAT"
        case .heartbeatAcknowledgment: "HEARTBEAT ACK"
        case .abort: "ABORT"
        case .shutdown: "SHUTDOWN"
        case .shutdownAcknowledgment: "SHUTDOWN ACK"
        case .error: "ERROR"
        case .cookieEcho: "COOKIE ECHO"
        case .cookieAcknowledgment: "COOKIE ACK"
        case .shutdownComplete: "SHUTDOWN COMPLETE"
        case .reconfiguration: "RE-CONFIG"
        case .forwardTSN, .interleavedForwardTSN: "FORWARD TSN"
        case nil: "type \(chunk.type)"
        }
    }

    /// A packet with these chunks and a correct checksum.
    static func packet(tag: UInt32, _ write: (inout [UInt8]) -> Void) -> [UInt8] {
        var packet: [UInt8] = []
        SCTPCommonHeader(sourcePort: 5_000, destinationPort: 5_000, verificationTag: tag).write(into: &packet)
        write(&packet)
        SCTPChecksum.seal(&packet)
        return packet
    }

    static func data(
        _ tsn: UInt32, stream: UInt16 = 0, message: UInt32 = 0, fragment: UInt32 = 0, unordered: Bool = false,
        first: Bool = true, last: Bool = true, interleaved: Bool = false
    ) -> SCTPDataHeader {
        SCTPDataHeader(
            isInterleaved: interleaved, tsn: tsn, stream: stream, isUnordered: unordered, isFirst: first, isLast: last,
            message: message, fragment: fragment, payloadProtocol: 53)
    }

    static func append(_ header: SCTPDataHeader, _ payload: [UInt8], to packet: inout [UInt8]) {
        header.write(payloadCount: payload.count, into: &packet)
        packet.append(contentsOf: payload)
        while packet.count % 4 != 0 { packet.append(0) }
    }

    static func append(_ parameter: SCTPReconfiguration, to packet: inout [UInt8]) {
        let start = packet.beginSCTPChunk(.reconfiguration)
        parameter.write(into: &packet)
        packet.endSCTPChunk(start)
    }
}

/// Whether a packet holds a chunk of this type.
func holds(_ type: SCTPChunkType, _ packet: [UInt8]) -> Bool {
    guard var reader = SCTPPacketReader(packet.span.bytes) else { return false }
    while let chunk = reader.next() {
        if chunk.type == type.rawValue { return true }
    }
    return false
}

/// Bytes that tell where they belong.
func numbered(_ number: Int, count: Int) -> [UInt8] {
    (0..<max(count, 4)).map { index in
        index < 4 ? UInt8(truncatingIfNeeded: number >> (8 * index)) : UInt8(truncatingIfNeeded: index &* 31 &+ number)
    }
}
