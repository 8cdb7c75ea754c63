/// Which frame a packet belongs to and what that frame depends on, for those who cannot look into it (AV1 RTP
/// specification §A.8).
public struct DependencyDescriptor: Sendable, Hashable {
    /// The first packet of its frame.
    public var startsFrame: Bool
    /// The last packet of its frame.
    public var endsFrame: Bool
    /// Counts the frames of all layers, wrapping.
    public var frameNumber: UInt16
    public var spatialLayer: UInt8
    public var temporalLayer: UInt8
    /// One for each decode target.
    public var indications: [DecodeTargetIndication]
    /// How many frames back those are that it refers to.
    public var frameDifferences: [UInt16]
    /// How many frames back the last one of each chain is.
    public var chainDifferences: [UInt8]
    /// The structure that came with this packet; nil when there was none.
    public var structure: DependencyStructure?
    /// Which decode targets are sent at present, a bit each; nil when this packet does not say.
    public var activeTargets: UInt32?

    public init(
        startsFrame: Bool, endsFrame: Bool, frameNumber: UInt16, spatialLayer: UInt8 = 0, temporalLayer: UInt8 = 0,
        indications: [DecodeTargetIndication], frameDifferences: [UInt16] = [], chainDifferences: [UInt8] = [],
        structure: DependencyStructure? = nil, activeTargets: UInt32? = nil
    ) {
        self.startsFrame = startsFrame
        self.endsFrame = endsFrame
        self.frameNumber = frameNumber
        self.spatialLayer = spatialLayer
        self.temporalLayer = temporalLayer
        self.indications = indications
        self.frameDifferences = frameDifferences
        self.chainDifferences = chainDifferences
        self.structure = structure
        self.activeTargets = activeTargets
    }

    /// Nothing of earlier frames is needed.
    public var isIndependent: Bool { frameDifferences.isEmpty }
}

/// Reads the descriptors of one stream: it keeps the structure that key frames bring.
public struct DependencyDescriptorReader: Sendable {
    /// The structure in force; nil before the first.
    public private(set) var structure: DependencyStructure?
    /// Which decode targets are sent at present, a bit each.
    public private(set) var activeTargets: UInt32 = 0

    public init() {}

    /// - Returns: nil for a descriptor that is cut off, or refers to a structure or template that is not known.
    public mutating func read(_ data: RawSpan) -> DependencyDescriptor? {
        var bits = BitReader(data)
        guard let starts = bits.readBit(), let ends = bits.readBit(), let id = bits.readBits(6),
            let number = bits.readBits(16)
        else { return nil }
        var flags = ExtendedFields()
        if data.byteCount > 3 {
            guard let read = ExtendedFields(&bits) else { return nil }
            flags = read
        }
        guard let structure = flags.structure ?? structure else { return nil }
        var active = flags.structure.map { UInt32.max >> UInt32(32 - $0.decodeTargetCount) }
        if flags.hasActiveTargets {
            guard let mask = bits.readBits(structure.decodeTargetCount) else { return nil }
            active = mask
        }
        let place = (Int(id) + 64 - Int(structure.firstTemplateID)) % 64
        guard structure.templates.indices.contains(place) else { return nil }
        let template = structure.templates[place]
        var descriptor = DependencyDescriptor(
            startsFrame: starts == 1, endsFrame: ends == 1, frameNumber: UInt16(number),
            spatialLayer: template.spatialLayer, temporalLayer: template.temporalLayer,
            indications: template.indications, frameDifferences: template.frameDifferences.map { UInt16($0) },
            chainDifferences: template.chainDifferences, structure: flags.structure, activeTargets: active)
        guard descriptor.readCustom(flags, structure, &bits) else { return nil }
        if let new = flags.structure { self.structure = new }
        if let active { activeTargets = active }
        return descriptor
    }
}

/// extended_descriptor_fields()
private struct ExtendedFields {
    var structure: DependencyStructure?
    var hasActiveTargets = false
    var hasIndications = false
    var hasFrameDifferences = false
    var hasChainDifferences = false

    init() {}

    init?(_ bits: inout BitReader) {
        guard let flags = bits.readBits(5) else { return nil }
        hasActiveTargets = flags & 0x08 != 0
        hasIndications = flags & 0x04 != 0
        hasFrameDifferences = flags & 0x02 != 0
        hasChainDifferences = flags & 0x01 != 0
        guard flags & 0x10 != 0 else { return }
        guard let structure = DependencyStructure(&bits) else { return nil }
        self.structure = structure
    }
}

extension DependencyDescriptor {
    /// frame_dependency_definition(): what differs from the template.
    fileprivate mutating func readCustom(
        _ flags: ExtendedFields, _ structure: DependencyStructure, _ bits: inout BitReader
    ) -> Bool {
        if flags.hasIndications {
            for index in 0..<structure.decodeTargetCount {
                guard let value = bits.readBits(2), let indication = DecodeTargetIndication(rawValue: UInt8(value))
                else { return false }
                indications[index] = indication
            }
        }
        if flags.hasFrameDifferences {
            frameDifferences = []
            while true {
                guard let size = bits.readBits(2) else { return false }
                guard size > 0 else { break }
                guard let difference = bits.readBits(4 * Int(size)) else { return false }
                frameDifferences.append(UInt16(difference) + 1)
            }
        }
        if flags.hasChainDifferences {
            for index in 0..<structure.chainCount {
                guard let difference = bits.readBits(8) else { return false }
                chainDifferences[index] = UInt8(difference)
            }
        }
        return true
    }

    /// Appends the extension's data.
    ///
    /// - Parameter structure: what the receiver knows, or has from this descriptor.
    /// - Returns: false, with nothing appended, when no template is of this frame's layers or the lists do not fit the
    ///   structure.
    public func write(_ known: DependencyStructure, into data: inout [UInt8]) -> Bool {
        guard indications.count == known.decodeTargetCount, chainDifferences.count == known.chainCount,
            let place = known.closestTemplate(to: self)
        else { return false }
        let template = known.templates[place]
        let differences = template.frameDifferences.map { UInt16($0) }
        let isCustom = (
            indications: indications != template.indications, frames: frameDifferences != differences,
            chains: chainDifferences != template.chainDifferences
        )
        var bits = BitWriter()
        bits.write(startsFrame)
        bits.write(endsFrame)
        bits.write(UInt32((Int(known.firstTemplateID) + place) % 64), bits: 6)
        bits.write(UInt32(frameNumber), bits: 16)
        let isPlain =
            structure == nil && activeTargets == nil && !isCustom.indications && !isCustom.frames && !isCustom.chains
        guard !isPlain else {
            data += bits.bytes
            return true
        }
        // The mask goes along only when it says less than "all", which a structure means by itself.
        let all = UInt32.max >> UInt32(32 - known.decodeTargetCount)
        let hasMask = activeTargets != nil && !(structure != nil && activeTargets == all)
        bits.write(structure != nil)
        bits.write(hasMask)
        bits.write(isCustom.indications)
        bits.write(isCustom.frames)
        bits.write(isCustom.chains)
        structure?.write(into: &bits)
        if hasMask, let activeTargets { bits.write(activeTargets & all, bits: known.decodeTargetCount) }
        if isCustom.indications { for value in indications { bits.write(UInt32(value.rawValue), bits: 2) } }
        if isCustom.frames {
            for difference in frameDifferences where (1...4_096).contains(difference) {
                let size = DependencyStructure.size(of: difference)
                bits.write(UInt32(size), bits: 2)
                bits.write(UInt32(difference) - 1, bits: 4 * size)
            }
            bits.write(0, bits: 2)
        }
        if isCustom.chains { for difference in chainDifferences { bits.write(UInt32(difference), bits: 8) } }
        data += bits.bytes
        return true
    }
}

extension DependencyStructure {
    /// The template of the same layers that leaves least to say of a frame.
    fileprivate func closestTemplate(to frame: DependencyDescriptor) -> Int? {
        let candidates = templates.indices.filter {
            templates[$0].spatialLayer == frame.spatialLayer && templates[$0].temporalLayer == frame.temporalLayer
        }
        /// Bits of what differs from the template.
        func rest(_ place: Int) -> Int {
            let template = templates[place]
            let areFramesEqual = template.frameDifferences.map { UInt16($0) } == frame.frameDifferences
            return (template.indications == frame.indications ? 0 : 2 * decodeTargetCount)
                + (areFramesEqual ? 0 : frame.frameDifferences.reduce(2) { $0 + 2 + 4 * Self.size(of: $1) })
                + (template.chainDifferences == frame.chainDifferences ? 0 : 8 * chainCount)
        }
        return candidates.min { (rest($0), $0) < (rest($1), $1) }
    }

    /// Of a frame's difference, in units of four bits.
    fileprivate static func size(of difference: UInt16) -> Int {
        difference <= 16 ? 1 : difference <= 256 ? 2 : 3
    }
}
