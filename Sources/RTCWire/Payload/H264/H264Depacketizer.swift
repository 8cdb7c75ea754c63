/// RFC 6184: reads packetization-modes 0 and 1 (single units, STAP-A, FU-A) into Annex B. The interleaved mode's
/// packets (STAP-B, MTAP, FU-B) are refused: we never negotiate it.
struct H264Depacketizer: Sendable {
    private enum Phase: Sendable, Equatable {
        /// The last unit is complete.
        case betweenUnits
        /// Fragments of a unit with this header have been appended, its last one not yet.
        case insideUnit(header: UInt8)
    }

    private var phase = Phase.betweenUnits

    var isAtUnitBoundary: Bool { phase == .betweenUnits }

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        if frame.isEmpty { phase = .betweenUnits }
        let before = frame.count
        guard let header = payload.byte(at: 0), before + 2 * payload.byteCount + 4 <= Depacketizer.maximumFrameSize,
            appendChecked(payload, header: header, to: &frame)
        else {
            frame.removeSubrange(before...)
            phase = .betweenUnits
            return false
        }
        return true
    }

    private mutating func appendChecked(_ payload: RawSpan, header: UInt8, to frame: inout [UInt8]) -> Bool {
        switch H264NALType(header: header) {
        case .fuA: return appendFragment(payload, indicator: header, to: &frame)
        case .stapA: return phase == .betweenUnits && appendAggregate(payload, to: &frame)
        case let type:
            // RFC 6184 §5.8: no other unit comes between the fragments of one.
            guard phase == .betweenUnits, type.isCodedUnit else { return false }
            AnnexB.append(payload, to: &frame)
            return true
        }
    }

    /// RFC 6184 §5.7.1: units, each after a 16-bit size that counts its header byte.
    private func appendAggregate(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        var reader = ByteReader(payload)
        reader.skip(1)
        guard reader.remaining > 0 else { return false }
        while reader.remaining > 0 {
            guard let size = reader.readUInt16(), let unit = reader.readSpan(Int(size)), let header = unit.byte(at: 0),
                H264NALType(header: header).isCodedUnit
            else { return false }
            AnnexB.append(unit, to: &frame)
        }
        return true
    }

    private mutating func appendFragment(_ payload: RawSpan, indicator: UInt8, to frame: inout [UInt8]) -> Bool {
        guard let fragment = payload.byte(at: 1) else { return false }
        let header = indicator & 0xe0 | fragment & 0x1f
        let isFirst = fragment & 0x80 != 0
        let isLast = fragment & 0x40 != 0
        // RFC 6184 §5.8: S and E are never both set, and a fragment holds no aggregate or fragment.
        guard !(isFirst && isLast), H264NALType(header: header).isCodedUnit else { return false }
        switch phase {
        case .betweenUnits:
            guard isFirst else { return false }
            frame.append(uint32: 1)
            frame.append(header)
        case .insideUnit(let expected):
            guard !isFirst, header == expected else { return false }
        }
        frame.append(contentsOf: payload.extracting(2..<payload.byteCount))
        phase = isLast ? .betweenUnits : .insideUnit(header: header)
        return true
    }
}

extension H264Depacketizer {
    /// H.264 §7.4.1.2.3 tells where an access unit begins; seen from one payload, that is a delimiter, a parameter
    /// set, SEI, or a slice whose first macroblock is the picture's first.
    static func startsFrame(_ payload: RawSpan) -> Bool {
        guard let unit = firstUnit(of: payload) else { return false }
        if unit.type.opensAccessUnit { return true }
        // `first_mb_in_slice` is ue(v): zero is the single bit 1.
        return unit.type.hasSliceHeader && (unit.content ?? 0) & 0x80 != 0
    }

    /// An access unit may have many slices, but parameter sets and the delimiter precede them all.
    static func isCertainFrameStart(_ payload: RawSpan) -> Bool {
        guard let unit = firstUnit(of: payload) else { return false }
        return unit.type == .sequenceParameterSet || unit.type == .accessUnitDelimiter
    }

    static func startsKeyFrame(_ payload: RawSpan) -> Bool {
        guard let header = payload.byte(at: 0) else { return false }
        guard H264NALType(header: header) == .stapA else {
            guard let unit = firstUnit(of: payload) else { return false }
            return unit.type == .sequenceParameterSet || unit.type == .idrSlice
        }
        var reader = ByteReader(payload)
        reader.skip(1)
        while let size = reader.readUInt16(), let unit = reader.readSpan(Int(size)), let header = unit.byte(at: 0) {
            let type = H264NALType(header: header)
            if type == .sequenceParameterSet || type == .idrSlice { return true }
        }
        return false
    }

    /// The type and the first content byte of the first unit that begins in this payload; nil when none does.
    private static func firstUnit(of payload: RawSpan) -> (type: H264NALType, content: UInt8?)? {
        guard let header = payload.byte(at: 0) else { return nil }
        switch H264NALType(header: header) {
        case .stapA:
            guard let unit = payload.byte(at: 3), H264NALType(header: unit).isCodedUnit else { return nil }
            return (H264NALType(header: unit), payload.byte(at: 4))
        case .fuA:
            guard let fragment = payload.byte(at: 1), fragment & 0x80 != 0 else { return nil }
            return (H264NALType(header: fragment), payload.byte(at: 2))
        case let type:
            return type.isCodedUnit ? (type, payload.byte(at: 1)) : nil
        }
    }
}
