/// INIT and INIT ACK (RFC 9260 §3.3.2, §3.3.3).
public struct SCTPInitiation: Hashable, Sendable {
    public var initiateTag: UInt32
    public var receiverWindow: UInt32
    public var outboundStreams: UInt16
    public var inboundStreams: UInt16
    public var initialTSN: UInt32
    public var parameters: [SCTPParameter]

    public init(
        initiateTag: UInt32, receiverWindow: UInt32, outboundStreams: UInt16, inboundStreams: UInt16,
        initialTSN: UInt32, parameters: [SCTPParameter] = []
    ) {
        self.initiateTag = initiateTag
        self.receiverWindow = receiverWindow
        self.outboundStreams = outboundStreams
        self.inboundStreams = inboundStreams
        self.initialTSN = initialTSN
        self.parameters = parameters
    }

    /// Nil when it is too short.
    public init?(_ chunk: borrowing SCTPChunk) {
        var reader = ByteReader(chunk.value)
        guard let tag = reader.readUInt32(), let window = reader.readUInt32(), let outbound = reader.readUInt16(),
            let inbound = reader.readUInt16(), let tsn = reader.readUInt32(),
            let parameters = reader.readSpan(reader.remaining)
        else { return nil }
        self.init(
            initiateTag: tag, receiverWindow: window, outboundStreams: outbound, inboundStreams: inbound,
            initialTSN: tsn, parameters: SCTPParameter.read(parameters))
    }

    public func write(_ type: SCTPChunkType, into packet: inout [UInt8]) {
        let start = packet.beginSCTPChunk(type)
        packet.append(uint32: initiateTag)
        packet.append(uint32: receiverWindow)
        packet.append(uint16: outboundStreams)
        packet.append(uint16: inboundStreams)
        packet.append(uint32: initialTSN)
        for parameter in parameters { parameter.write(into: &packet) }
        packet.endSCTPChunk(start)
    }

    /// The first parameter of this type.
    public func parameter(_ type: UInt16) -> [UInt8]? { parameters.first { $0.type == type }?.value }
}
