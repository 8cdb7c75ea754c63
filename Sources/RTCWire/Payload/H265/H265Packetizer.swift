/// RFC 7798 without DONL: units that fit travel alone, what precedes the picture's slices travels together (AP), and
/// what does not fit is fragmented (FU).
struct H265Packetizer: Sendable {
    let maximumPayloadSize: Int

    /// The units before the first slice, already written to the list as an AP that has not ended.
    private struct Aggregate {
        /// Of the aggregate's header in the list.
        var start: Int
        var count = 0
        /// RFC 7798 §4.4.2: F is the OR of the units' bits, LayerId and TID the lowest.
        var damaged: UInt8 = 0
        var layer: UInt8 = 63
        var temporal: UInt8 = 7
    }

    func packetize(_ frame: RawSpan, into list: inout PayloadList) {
        var aggregate: Aggregate?
        var units = AnnexBReader(frame)
        while let range = units.next() {
            // The header has two bytes.
            guard let header = frame.uint16(at: range.lowerBound), range.count >= 2 else { continue }
            let type = H265NALType(header: UInt8(header >> 8))
            guard type.isCodedUnit else { continue }
            let unit = frame.extracting(range)
            let used = aggregate.map { list.bytes.count - $0.start } ?? 2
            if !type.isPictureData, let size = UInt16(exactly: range.count),
                used + 2 + range.count <= maximumPayloadSize
            {
                add(unit, header: header, size: size, to: &aggregate, &list)
            } else {
                end(&aggregate, &list)
                appendUnit(unit, header: header, into: &list)
            }
        }
        end(&aggregate, &list)
    }

    /// RFC 7798 §4.4.2: the unit after a 16-bit size.
    private func add(
        _ unit: RawSpan, header: UInt16, size: UInt16, to aggregate: inout Aggregate?, _ list: inout PayloadList
    ) {
        var current = aggregate ?? Aggregate(start: list.bytes.count)
        if current.count == 0 { list.bytes.append(uint16: 0) }
        current.count += 1
        current.damaged |= UInt8(header >> 8) & 0x80
        current.layer = min(current.layer, UInt8(header >> 3 & 0x3f))
        current.temporal = min(current.temporal, UInt8(header & 0x07))
        list.bytes.append(uint16: size)
        list.bytes.append(contentsOf: unit)
        aggregate = current
    }

    private func end(_ aggregate: inout Aggregate?, _ list: inout PayloadList) {
        guard let current = aggregate else { return }
        if current.count == 1 {
            // Alone it needs neither the aggregate's header nor its size.
            list.bytes.removeSubrange(current.start..<current.start + 4)
        } else {
            let type = UInt16(H265NALType.aggregation.rawValue) << 9
            let header = UInt16(current.damaged) << 8 | type | UInt16(current.layer) << 3 | UInt16(current.temporal)
            list.bytes.set(uint16: header, at: current.start)
        }
        list.endPayload()
        aggregate = nil
    }

    private func appendUnit(_ unit: RawSpan, header: UInt16, into list: inout PayloadList) {
        guard unit.byteCount > maximumPayloadSize else {
            // RFC 7798 §4.4.1: a single NAL unit packet.
            list.bytes.append(contentsOf: unit)
            list.endPayload()
            return
        }
        // RFC 7798 §4.4.3: the unit's header is not sent; the payload's header has its bits but for the type, which
        // stands in the FU header.
        let indicator = header & 0x81ff | UInt16(H265NALType.fragmentation.rawValue) << 9
        let type = UInt8(header >> 9 & 0x3f)
        let contentSize = unit.byteCount - 2
        let limit = maximumPayloadSize - 3
        let count = (contentSize + limit - 1) / limit
        let size = (contentSize + count - 1) / count
        var offset = 2
        while offset < unit.byteCount {
            let end = min(offset + size, unit.byteCount)
            list.bytes.append(uint16: indicator)
            list.bytes.append(type | (offset == 2 ? 0x80 : 0) | (end == unit.byteCount ? 0x40 : 0))
            list.bytes.append(contentsOf: unit.extracting(offset..<end))
            list.endPayload()
            offset = end
        }
    }
}
