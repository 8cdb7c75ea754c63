/// RFC 6184 packetization-mode 1: units that fit travel alone, what precedes the picture's slices travels together
/// (STAP-A), and what does not fit is fragmented (FU-A).
struct H264Packetizer: Sendable {
    let maximumPayloadSize: Int

    func packetize(_ frame: RawSpan, into list: inout PayloadList) {
        var units = AnnexBReader(frame)
        // The units before the first slice (delimiter, parameter sets, SEI) that wait to be aggregated, as offsets
        // into `frame`. They follow each other, so the first and the last one are enough to walk them again.
        var waiting: Range<Int>?
        var waitingCount = 0
        var waitingSize = 1
        while let range = units.next() {
            guard let header = frame.byte(at: range.lowerBound) else { continue }
            let type = H264NALType(header: header)
            // RFC 6184 table 1: these numbers would be read as an aggregate or a fragment.
            guard type.isCodedUnit else { continue }

            let size = 2 + range.count
            if !type.isPictureData, range.count <= 0xffff, waitingSize + size <= maximumPayloadSize {
                waiting = (waiting?.lowerBound ?? range.lowerBound)..<range.upperBound
                waitingCount += 1
                waitingSize += size
                continue
            }
            flush(frame, waiting, count: waitingCount, into: &list)
            waiting = nil
            waitingCount = 0
            waitingSize = 1
            appendUnit(frame.extracting(range), into: &list)
        }
        flush(frame, waiting, count: waitingCount, into: &list)
    }

    /// Sends the units that waited: one alone, several as STAP-A.
    private func flush(_ frame: RawSpan, _ waiting: Range<Int>?, count: Int, into list: inout PayloadList) {
        guard let waiting else { return }
        guard count > 1 else { return appendUnit(frame.extracting(waiting), into: &list) }
        let headerOffset = list.bytes.count
        list.bytes.append(H264NALType.stapA.rawValue)
        var importance: UInt8 = 0
        var isDamaged: UInt8 = 0
        appendAggregated(frame.extracting(waiting))
        list.bytes[headerOffset] = isDamaged | importance | H264NALType.stapA.rawValue
        list.endPayload()

        /// The first waiting unit begins at the span's start; start codes stand before the others.
        func appendAggregated(_ span: RawSpan) {
            var units = AnnexBReader(span)
            let second = units.next()
            // The first unit has no start code within the span: it ends where the second one's begins.
            var end = second.map { $0.lowerBound - 3 } ?? span.byteCount
            while end > 0, span.byte(at: end - 1) == 0 { end -= 1 }
            append(span.extracting(0..<end))
            if let second { append(span.extracting(second)) }
            while let range = units.next() { append(span.extracting(range)) }
        }

        func append(_ unit: RawSpan) {
            guard let header = unit.byte(at: 0), H264NALType(header: header).isCodedUnit,
                let size = UInt16(exactly: unit.byteCount)
            else { return }
            // RFC 6184 §5.7: F is the OR of the units' bits, NRI the greatest.
            isDamaged |= header & 0x80
            importance = max(importance, header & 0x60)
            list.bytes.append(uint16: size)
            list.bytes.append(contentsOf: unit)
        }
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
