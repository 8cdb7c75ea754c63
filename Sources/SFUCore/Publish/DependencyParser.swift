import RTCWire

/// Reads the dependency descriptors of one stream (AV1 RTP specification §A.8.2). Only a descriptor with a structure,
/// one for each key frame, allocates memory.
///
/// Packets may come in any order. The structure and the active targets hold for later packets too, so they are taken
/// only from a packet that is not older than the one that they were taken from last: the first packet of a key frame
/// may be sent again and come when the next key frame is there.
struct DependencyParser: Sendable {
    /// One packet's descriptor.
    struct Reading: Equatable {
        var startsFrame: Bool
        var endsFrame: Bool
        var spatialLayer: UInt8
        var temporalLayer: UInt8
        /// Whether the packet has a structure, which is used from here on.
        var bringsStructure: Bool
        var frame: FrameDependency
    }

    /// The structure in force; nil before the first.
    private(set) var table: DependencyTable?
    private var tableSequence = Int64.min
    private var activeTargets: UInt32 = 0
    private var targetsSequence = Int64.min

    /// §A.8.2: template_dependency_structure_present_flag is the first bit after the three mandatory bytes.
    static func bringsStructure(_ data: RawSpan) -> Bool { data.byte(at: 3).map { $0 & 0x80 != 0 } ?? false }

    /// - Parameter sequence: of the packet, unwrapped.
    /// - Returns: nil for a descriptor that is cut off, or refers to a structure or template that is not known.
    mutating func read(_ data: RawSpan, at sequence: Int64) -> Reading? {
        if Self.bringsStructure(data) { return readStructure(data, at: sequence) }
        guard let table, let first = data.byte(at: 0), let number = data.uint16(at: 1) else { return nil }
        let place = (Int(first & 0x3f) + 64 - table.firstTemplateID) % 64
        guard place < table.templates.count else { return nil }
        var frame = table.templates[place].frame
        frame.frameNumber = number
        frame.activeTargets = activeTargets
        guard data.byteCount == 3 || readExtended(data, table, at: sequence, into: &frame) else { return nil }
        return Reading(
            startsFrame: first & 0x80 != 0, endsFrame: first & 0x40 != 0,
            spatialLayer: table.templates[place].spatialLayer, temporalLayer: table.templates[place].temporalLayer,
            bringsStructure: false, frame: frame)
    }

    /// extended_descriptor_fields() and frame_dependency_definition() without a structure.
    private mutating func readExtended(
        _ data: RawSpan, _ table: DependencyTable, at sequence: Int64, into frame: inout FrameDependency
    ) -> Bool {
        var bits = SpanBits(data, at: 24)
        guard let flags = bits.read(5) else { return false }
        var mask: UInt32?
        if flags & 0x08 != 0 {
            guard let active = bits.read(table.targetCount) else { return false }
            mask = active
        }
        if flags & 0x04 != 0 {
            for target in 0..<table.targetCount {
                guard let value = bits.read(2), let indication = DecodeTargetIndication(rawValue: UInt8(value)) else {
                    return false
                }
                frame.set(indication, of: target)
            }
        }
        if flags & 0x02 != 0 {
            frame.differences = SIMD8(repeating: 0)
            frame.hasMoreReferences = false
            var count = 0
            while true {
                guard let size = bits.read(2) else { return false }
                guard size > 0 else { break }
                guard let difference = bits.read(4 * Int(size)) else { return false }
                if count < 8 {
                    frame.differences[count] = UInt16(difference) + 1
                } else {
                    frame.hasMoreReferences = true
                }
                count += 1
            }
        }
        if flags & 0x01 != 0 {
            for chain in 0..<table.chainCount {
                guard let difference = bits.read(8) else { return false }
                if chain < DependencyTable.maximumChains { frame.chainDifferences[chain] = UInt8(difference) }
            }
        }
        // Only now, so that nothing is taken over from a descriptor that is cut off.
        guard let mask else { return true }
        frame.activeTargets = mask
        if sequence >= targetsSequence { (activeTargets, targetsSequence) = (mask, sequence) }
        return true
    }

    private mutating func readStructure(_ data: RawSpan, at sequence: Int64) -> Reading? {
        var reader = DependencyDescriptorReader()
        guard let descriptor = reader.read(data), let structure = descriptor.structure else { return nil }
        var frame = FrameDependency()
        frame.frameNumber = descriptor.frameNumber
        frame.activeTargets = descriptor.activeTargets ?? reader.activeTargets
        let isNewest = sequence >= tableSequence
        if isNewest {
            (table, tableSequence) = (DependencyTable(structure), sequence)
            // Even where later packets have come: those are read again.
            (activeTargets, targetsSequence) = (frame.activeTargets, sequence)
        }
        frame.take(descriptor.indications, descriptor.frameDifferences, descriptor.chainDifferences)
        return Reading(
            startsFrame: descriptor.startsFrame, endsFrame: descriptor.endsFrame,
            spatialLayer: descriptor.spatialLayer, temporalLayer: descriptor.temporalLayer, bringsStructure: isNewest,
            frame: frame)
    }
}

/// Reads fields of bits, most significant first, out of a packet, where it lies.
struct SpanBits: ~Escapable {
    private let bytes: RawSpan
    private var position: Int

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, at position: Int) {
        self.bytes = bytes
        self.position = position
    }

    /// Up to 32 bits; nil past the end.
    mutating func read(_ count: Int) -> UInt32? {
        guard position + count <= 8 * bytes.byteCount else { return nil }
        var value: UInt32 = 0
        var left = count
        while left > 0 {
            guard let byte = bytes.byte(at: position >> 3) else { return nil }
            let available = 8 - position & 7
            let taken = min(available, left)
            let field = UInt32(byte) >> UInt32(available - taken) & (1 << UInt32(taken) - 1)
            value = value << UInt32(taken) | field
            position += taken
            left -= taken
        }
        return value
    }
}
