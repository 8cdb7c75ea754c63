/// AV1 RTP payload format §4, §5: the units of a temporal unit without their sizes, several in a packet where they fit,
/// and in fragments where they do not.
struct AV1Packetizer: Sendable {
    let maximumPayloadSize: Int

    /// The packet that is being filled; its aggregation header is the byte at `start`.
    private struct Packet {
        var start: Int
        /// The first unit continues one of the packet before (Z).
        var continues: Bool
        var elements = 0
        /// Where the last element begins, which has no length yet.
        var lastStart: Int
        /// The extension byte that all units of the packet share; nil while none has one.
        var layers: UInt8?
    }

    func packetize(_ frame: RawSpan, into list: inout PayloadList) {
        let isKeyFrame = AV1TemporalUnit.isKeyFrame(frame)
        let first = list.bytes.count
        var packet: Packet?
        var units = OBUReader(frame)
        while let unit = units.next() {
            guard !unit.header.kind.isLeftOut else { continue }
            append(unit.header, frame.extracting(unit.content), to: &packet, &list)
        }
        if let last = packet { finish(last, continuesInNext: false, &list) }
        // §4.4: N marks the first packet of a coded video sequence.
        if isKeyFrame, first < list.bytes.count { list.bytes[first] |= 0x08 }
    }

    /// Room that is left when one more element, and the length of the one before it, are added.
    private func room(_ packet: Packet, _ list: PayloadList) -> Int {
        let used = list.bytes.count - packet.start
        guard packet.elements > 0 else { return maximumPayloadSize - used }
        let lastSize = list.bytes.count - packet.lastStart
        // With more than three elements the last one has its length too (W is 0).
        let own = packet.elements >= 3 ? LEB128.size(maximumPayloadSize) : 0
        return maximumPayloadSize - used - LEB128.size(lastSize) - own
    }

    private func append(_ header: OBUHeader, _ content: RawSpan, to packet: inout Packet?, _ list: inout PayloadList) {
        // §5: a packet's units are of one layer, and a sequence header is the first unit of its packet.
        if let open = packet {
            let isOtherLayer = header.layers != nil && open.layers != nil && open.layers != header.layers
            // A fragment of a byte or two is not worth its lengths.
            if isOtherLayer || header.kind == .sequenceHeader || room(open, list) < header.byteCount + 8 {
                finish(open, continuesInNext: false, &list)
                packet = nil
            }
        }
        var current = packet ?? begin(continues: false, &list)
        beginElement(&current, &list)
        current.layers = current.layers ?? header.layers
        header.write(hasSize: false, into: &list.bytes)
        var offset = 0
        while true {
            let left = content.byteCount - offset
            let own = current.elements > 3 ? LEB128.size(maximumPayloadSize) : 0
            let space = maximumPayloadSize - (list.bytes.count - current.start) - own
            let size = min(left, space)
            list.bytes.append(contentsOf: content.extracting(offset..<offset + size))
            offset += size
            guard offset < content.byteCount else { break }
            finish(current, continuesInNext: true, &list)
            current = begin(continues: true, &list)
            current.layers = header.layers
            beginElement(&current, &list)
        }
        packet = current
    }

    private func begin(continues: Bool, _ list: inout PayloadList) -> Packet {
        list.bytes.append(0)
        return Packet(start: list.bytes.count - 1, continues: continues, lastStart: list.bytes.count)
    }

    private func beginElement(_ packet: inout Packet, _ list: inout PayloadList) {
        if packet.elements > 0 { list.bytes.insert(leb128: list.bytes.count - packet.lastStart, at: packet.lastStart) }
        packet.elements += 1
        packet.lastStart = list.bytes.count
    }

    private func finish(_ packet: Packet, continuesInNext: Bool, _ list: inout PayloadList) {
        // §4.4: W counts the elements up to three, and the last one then has no length.
        if packet.elements > 3 {
            list.bytes.insert(leb128: list.bytes.count - packet.lastStart, at: packet.lastStart)
        }
        let count = packet.elements > 3 ? 0 : UInt8(packet.elements)
        list.bytes[packet.start] |= (packet.continues ? 0x80 : 0) | (continuesInNext ? 0x40 : 0) | count << 4
        list.endPayload()
    }
}
