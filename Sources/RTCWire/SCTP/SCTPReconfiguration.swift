/// The parameters of a RE-CONFIG chunk (RFC 6525 §4). A chunk holds one or two.
public enum SCTPReconfiguration: Hashable, Sendable {
    /// §4.1: the sender resets its outgoing side. No streams means all of them.
    case outgoingReset(request: UInt32, response: UInt32, lastTSN: UInt32, streams: [UInt16])
    /// §4.2: the sender asks the receiver to reset the receiver's outgoing side.
    case incomingReset(request: UInt32, streams: [UInt16])
    /// §4.4.
    case response(request: UInt32, result: UInt32)
    /// Another request (§4.3, §4.5, §4.6), which is answered with its number.
    case otherRequest(type: UInt16, request: UInt32)

    private static let outgoingResetType: UInt16 = 13
    private static let incomingResetType: UInt16 = 14
    private static let responseType: UInt16 = 16
    private static let otherTypes: Set<UInt16> = [15, 17, 18]

    /// All that the chunk holds and that makes sense.
    public static func read(_ chunk: borrowing SCTPChunk) -> [SCTPReconfiguration] {
        SCTPParameter.read(chunk.value).compactMap { parameter in
            var reader = ByteReader(parameter.value.span.bytes)
            switch parameter.type {
            case outgoingResetType:
                guard let request = reader.readUInt32(), let response = reader.readUInt32(),
                    let tsn = reader.readUInt32()
                else { return nil }
                return .outgoingReset(
                    request: request, response: response, lastTSN: tsn, streams: readStreams(&reader))
            case incomingResetType:
                guard let request = reader.readUInt32() else { return nil }
                return .incomingReset(request: request, streams: readStreams(&reader))
            case responseType:
                guard let request = reader.readUInt32(), let result = reader.readUInt32() else { return nil }
                return .response(request: request, result: result)
            case let type where otherTypes.contains(type):
                return reader.readUInt32().map { .otherRequest(type: type, request: $0) }
            default: return nil
            }
        }
    }

    private static func readStreams(_ reader: inout ByteReader) -> [UInt16] {
        var streams: [UInt16] = []
        while let stream = reader.readUInt16() { streams.append(stream) }
        return streams
    }

    public func write(into packet: inout [UInt8]) {
        switch self {
        case .outgoingReset(let request, let response, let lastTSN, let streams):
            let start = packet.beginSCTPParameter(Self.outgoingResetType)
            packet.append(uint32: request)
            packet.append(uint32: response)
            packet.append(uint32: lastTSN)
            for stream in streams { packet.append(uint16: stream) }
            packet.endSCTPParameter(start)
        case .incomingReset(let request, let streams):
            let start = packet.beginSCTPParameter(Self.incomingResetType)
            packet.append(uint32: request)
            for stream in streams { packet.append(uint16: stream) }
            packet.endSCTPParameter(start)
        case .response(let request, let result):
            let start = packet.beginSCTPParameter(Self.responseType)
            packet.append(uint32: request)
            packet.append(uint32: result)
            packet.endSCTPParameter(start)
        case .otherRequest(let type, let request):
            let start = packet.beginSCTPParameter(type)
            packet.append(uint32: request)
            packet.endSCTPParameter(start)
        }
    }
}

/// Results of a RE-CONFIG request (RFC 6525 §4.4).
public enum SCTPReconfigurationResult {
    public static let nothingToDo: UInt32 = 0
    public static let performed: UInt32 = 1
    public static let denied: UInt32 = 2
    public static let wrongStream: UInt32 = 3
    public static let alreadyInProgress: UInt32 = 4
    public static let badSequenceNumber: UInt32 = 5
    public static let inProgress: UInt32 = 6
}
