/// RFC 6184 packetization-mode 1: units that fit travel alone, what precedes the picture's slices travels together
/// (STAP-A), and what does not fit is fragmented (FU-A).
struct H264Packetizer: Sendable {
    let maximumPayloadSize: Int

    /// The units before the first slice (delimiter, parameter sets, SEI), already written to the list as a STAP-A that
    /// has not ended.
    private struct Aggregate {
        /// Of the aggregate's header in the list.
        var start: Int
        var count = 0
        /// RFC 6184 §5.7: F is the OR of the units' bits, NRI the greatest.
        var damaged: UInt8 = 0
        var importance: UInt8 = 0
    }

    /// - Parameter isSealed: the last unit ends where the frame does.
    func packetize(_ frame: RawSpan, isSealed: Bool = false, into list: inout PayloadList) {
        var aggregate: Aggregate?
        var units = AnnexBReader(frame, keepsEnd: isSealed)
        while let range = units.next() {
            guard let header = frame.byte(at: range.lowerBound) else { continue }
            let type = H264NALType(header: header)
            // RFC 6184 table 1: these numbers would be read as an aggregate or a fragment.
            guard type.isCodedUnit else { continue }
            let unit = frame.extracting(range)
            let used = aggregate.map { list.bytes.count - $0.start } ?? 1
            if !type.isPictureData, let size = UInt16(exactly: range.count),
                used + 2 + range.count <= maximumPayloadSize
            {
                add(unit, header: header, size: size, to: &aggregate, &list)
            } else {
                end(&aggregate, &list)
                appendUnit(unit, into: &list)
            }
        }
        end(&aggregate, &list)
    }

    /// RFC 6184 §5.7.1: the unit after a 16-bit size.
    private func add(
        _ unit: RawSpan, header: UInt8, size: UInt16, to aggregate: inout Aggregate?, _ list: inout PayloadList
    ) {
        var current = aggregate ?? Aggregate(start: list.bytes.count)
        if current.count == 0 { list.bytes.append(H264NALType.stapA.rawValue) }
        current.count += 1
        current.damaged |= header & 0x80
        current.importance = max(current.importance, header & 0x60)
        list.bytes.append(uint16: size)
        list.bytes.append(contentsOf: unit)
        aggregate = current
    }

    private func end(_ aggregate: inout Aggregate?, _ list: inout PayloadList) {
        guard let current = aggregate else { return }
        if current.count == 1 {
            // Alone it needs neither the aggregate's header nor its size.
            list.bytes.removeSubrange(current.start..<current.start + 3)
        } else {
            list.bytes[current.start] = current.damaged | current.importance | H264NALType.stapA.rawValue
        }
        list.endPayload()
        aggregate = nil
    }

    private func appendUnit(_ unit: RawSpan, into list: inout PayloadList) {
        guard unit.byteCount > maximumPayloadSize, let header = unit.byte(at: 0) else {
            // RFC 6184 §5.6: a single NAL unit packet.
            list.bytes.append(contentsOf: unit)
            list.endPayload()
            return
        }
        // RFC 6184 §5.8: the unit's header is not sent, its bits are spread over the FU indicator and FU header.
        let indicator = header & 0xe0 | H264NALType.fuA.rawValue
        let type = header & 0x1f
        let contentSize = unit.byteCount - 1
        let limit = maximumPayloadSize - 2
        // Fragments of equal size: a short last packet costs a header for nothing.
        let count = (contentSize + limit - 1) / limit
        let size = (contentSize + count - 1) / count
        var offset = 1
        while offset < unit.byteCount {
            let end = min(offset + size, unit.byteCount)
            list.bytes.append(indicator)
            list.bytes.append(type | (offset == 1 ? 0x80 : 0) | (end == unit.byteCount ? 0x40 : 0))
            list.bytes.append(contentsOf: unit.extracting(offset..<end))
            list.endPayload()
            offset = end
        }
    }
}
