/// RFC 7798: reads single units, AP and FU without DONL (`sprop-max-don-diff` is never agreed on) into Annex B. PACI is
/// refused.
struct H265Depacketizer: Sendable {
    private enum Phase: Sendable, Equatable {
        /// The last unit is complete.
        case betweenUnits
        /// Fragments of a unit with this header have been appended, its last one not yet.
        case insideUnit(header: UInt16)
    }

    private var phase = Phase.betweenUnits

    var isAtUnitBoundary: Bool { phase == .betweenUnits }

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        if frame.isEmpty { phase = .betweenUnits }
        let before = frame.count
        // Units of two bytes in an aggregate become six each.
        guard let header = payload.uint16(at: 0), before + 3 * payload.byteCount + 4 <= Depacketizer.maximumFrameSize,
            appendChecked(payload, header: header, to: &frame)
        else {
            frame.removeSubrange(before...)
            phase = .betweenUnits
            return false
        }
        return true
    }

    private mutating func appendChecked(_ payload: RawSpan, header: UInt16, to frame: inout [UInt8]) -> Bool {
        switch H265NALType(header: UInt8(header >> 8)) {
        case .fragmentation: return appendFragment(payload, indicator: header, to: &frame)
        case .aggregation: return phase == .betweenUnits && appendAggregate(payload, to: &frame)
        case let type:
            // RFC 7798 §4.4.3: no other unit comes between the fragments of one.
            guard phase == .betweenUnits, type.isCodedUnit else { return false }
            AnnexB.append(payload, to: &frame)
            return true
        }
    }

    /// RFC 7798 §4.4.2: units, each after a 16-bit size that counts its header.
    private func appendAggregate(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        var reader = ByteReader(payload)
        reader.skip(2)
        guard reader.remaining > 0 else { return false }
        while reader.remaining > 0 {
            guard let size = reader.readUInt16(), size >= 2, let unit = reader.readSpan(Int(size)),
                let header = unit.byte(at: 0), H265NALType(header: header).isCodedUnit
            else { return false }
            AnnexB.append(unit, to: &frame)
        }
        return true
    }

    private mutating func appendFragment(_ payload: RawSpan, indicator: UInt16, to frame: inout [UInt8]) -> Bool {
        guard let fragment = payload.byte(at: 2) else { return false }
        let header = indicator & 0x81ff | UInt16(fragment & 0x3f) << 9
        let isFirst = fragment & 0x80 != 0
        let isLast = fragment & 0x40 != 0
        // RFC 7798 §4.4.3: S and E are never both set, and a fragment holds no aggregate or fragment.
        guard !(isFirst && isLast), H265NALType(rawValue: fragment).isCodedUnit else { return false }
        switch phase {
        case .betweenUnits:
            guard isFirst else { return false }
            frame.append(uint32: 1)
            frame.append(uint16: header)
        case .insideUnit(let expected):
            guard !isFirst, header == expected else { return false }
        }
        frame.append(contentsOf: payload.extracting(3..<payload.byteCount))
        phase = isLast ? .betweenUnits : .insideUnit(header: header)
        return true
    }
}

extension H265Depacketizer {
    /// H.265 §7.4.2.4.4 tells where an access unit begins; seen from one payload, that is a delimiter, a parameter set,
    /// SEI, or a slice segment that is its picture's first.
    static func startsFrame(_ payload: RawSpan) -> Bool {
        guard let unit = firstUnit(of: payload) else { return false }
        if unit.type.opensAccessUnit { return true }
        // `first_slice_segment_in_pic_flag` is the first bit behind the header.
        return unit.type.isPictureData && (unit.content ?? 0) & 0x80 != 0
    }

    static func isCertainFrameStart(_ payload: RawSpan) -> Bool {
        firstUnit(of: payload)?.type.isCertainStart ?? false
    }

    static func startsKeyFrame(_ payload: RawSpan) -> Bool {
        guard let header = payload.byte(at: 0) else { return false }
        guard H265NALType(header: header) == .aggregation else {
            guard let unit = firstUnit(of: payload) else { return false }
            return marksKeyFrame(unit.type)
        }
        var reader = ByteReader(payload)
        reader.skip(2)
        while let size = reader.readUInt16(), let unit = reader.readSpan(Int(size)), let header = unit.byte(at: 0) {
            if marksKeyFrame(H265NALType(header: header)) { return true }
        }
        return false
    }

    private static func marksKeyFrame(_ type: H265NALType) -> Bool {
        type == .videoParameterSet || type == .sequenceParameterSet || type.isRandomAccess
    }

    /// The type and the first content byte of the first unit that begins in this payload; nil when none does.
    private static func firstUnit(of payload: RawSpan) -> (type: H265NALType, content: UInt8?)? {
        guard let header = payload.byte(at: 0) else { return nil }
        switch H265NALType(header: header) {
        case .aggregation:
            guard let unit = payload.byte(at: 4), H265NALType(header: unit).isCodedUnit else { return nil }
            return (H265NALType(header: unit), payload.byte(at: 6))
        case .fragmentation:
            guard let fragment = payload.byte(at: 2), fragment & 0x80 != 0 else { return nil }
            return (H265NALType(rawValue: fragment), payload.byte(at: 3))
        case let type:
            return type.isCodedUnit ? (type, payload.byte(at: 2)) : nil
        }
    }

    /// Whether a decoder can begin at this access unit in Annex B.
    static func isKeyFrame(_ frame: RawSpan) -> Bool {
        var units = AnnexBReader(frame)
        while let range = units.next() {
            if let header = frame.byte(at: range.lowerBound), H265NALType(header: header).isRandomAccess { return true }
        }
        return false
    }
}
