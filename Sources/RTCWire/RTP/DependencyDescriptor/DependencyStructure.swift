/// Whether a decode target needs a frame (AV1 RTP specification §A.2, "decode target indication").
public enum DecodeTargetIndication: UInt8, Sendable, Hashable {
    case notPresent = 0
    /// Needed by no other frame of the target.
    case discardable = 1
    /// A receiver may switch to the target here.
    case switching = 2
    case required = 3
}

/// What kinds of frames a stream has, and which targets can be decoded of it (AV1 RTP specification §A.8.3.2): sent
/// with key frames, and referred to by all that follow.
public struct DependencyStructure: Sendable, Hashable {
    /// One kind of frame.
    public struct Template: Sendable, Hashable {
        public var spatialLayer: UInt8
        public var temporalLayer: UInt8
        /// One for each decode target.
        public var indications: [DecodeTargetIndication]
        /// How many frames back those are that it refers to; 1 to 16.
        public var frameDifferences: [UInt8]
        /// How many frames back the last one of each chain is; 0 to 15.
        public var chainDifferences: [UInt8]

        public init(
            spatialLayer: UInt8, temporalLayer: UInt8, indications: [DecodeTargetIndication],
            frameDifferences: [UInt8] = [], chainDifferences: [UInt8] = []
        ) {
            self.spatialLayer = spatialLayer
            self.temporalLayer = temporalLayer
            self.indications = indications
            self.frameDifferences = frameDifferences
            self.chainDifferences = chainDifferences
        }
    }

    /// The largest pictures of a spatial layer, in pixels.
    public struct Resolution: Sendable, Hashable {
        public var width: Int
        public var height: Int

        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    /// The first template's number, 0 to 63; they count on from it, around.
    public var firstTemplateID: UInt8
    /// 1 to 32.
    public var decodeTargetCount: Int
    /// In the order of layers: spatial, within it temporal.
    public var templates: [Template]
    /// How many chains protect decode targets.
    public var chainCount: Int
    /// The chain of each decode target; empty without chains.
    public var targetChains: [UInt8]
    /// One for each spatial layer; nil when the structure does not tell.
    public var resolutions: [Resolution]?

    public init(
        firstTemplateID: UInt8 = 0, decodeTargetCount: Int, templates: [Template], chainCount: Int = 0,
        targetChains: [UInt8] = [], resolutions: [Resolution]? = nil
    ) {
        self.firstTemplateID = firstTemplateID & 0x3f
        self.decodeTargetCount = decodeTargetCount
        self.templates = templates
        self.chainCount = chainCount
        self.targetChains = targetChains
        self.resolutions = resolutions
    }

    /// How many spatial layers there are.
    public var spatialLayerCount: Int { Int(templates.map(\.spatialLayer).max() ?? 0) + 1 }

    /// One layer, as most senders have it: key frames, and frames that refer to the one before.
    public static func singleLayer(width: Int? = nil, height: Int? = nil) -> DependencyStructure {
        var structure = DependencyStructure(
            decodeTargetCount: 1,
            templates: [
                Template(spatialLayer: 0, temporalLayer: 0, indications: [.switching], chainDifferences: [0]),
                Template(
                    spatialLayer: 0, temporalLayer: 0, indications: [.switching], frameDifferences: [1],
                    chainDifferences: [1]),
            ], chainCount: 1, targetChains: [0])
        if let width, let height { structure.resolutions = [Resolution(width: width, height: height)] }
        return structure
    }

    // MARK: Reading

    /// Nil for a structure that is cut off or has more templates than numbers.
    init?(_ bits: inout BitReader) {
        guard let first = bits.readBits(6), let targets = bits.readBits(5) else { return nil }
        firstTemplateID = UInt8(first)
        decodeTargetCount = Int(targets) + 1
        templates = []
        chainCount = 0
        targetChains = []
        guard readLayers(&bits), readTemplates(&bits), readChains(&bits), let hasSizes = bits.readBit() else {
            return nil
        }
        guard hasSizes == 1 else { return }
        var sizes: [Resolution] = []
        for _ in 0..<spatialLayerCount {
            guard let width = bits.readBits(16), let height = bits.readBits(16) else { return nil }
            sizes.append(Resolution(width: Int(width) + 1, height: Int(height) + 1))
        }
        resolutions = sizes
    }

    /// template_layers()
    private mutating func readLayers(_ bits: inout BitReader) -> Bool {
        var (spatial, temporal) = (UInt8(0), UInt8(0))
        while templates.count < 64 {
            templates.append(Template(spatialLayer: spatial, temporalLayer: temporal, indications: []))
            switch bits.readBits(2) {
            case 0: break
            case 1: temporal += 1
            case 2:
                spatial += 1
                temporal = 0
            case 3: return true
            default: return false
            }
            // Spatial layers have two bits, temporal ones three.
            guard spatial < 4, temporal < 8 else { return false }
        }
        return false
    }

    /// template_dtis() and template_fdiffs()
    private mutating func readTemplates(_ bits: inout BitReader) -> Bool {
        for index in templates.indices {
            for _ in 0..<decodeTargetCount {
                guard let value = bits.readBits(2), let indication = DecodeTargetIndication(rawValue: UInt8(value))
                else { return false }
                templates[index].indications.append(indication)
            }
        }
        for index in templates.indices {
            while true {
                guard let follows = bits.readBit() else { return false }
                guard follows == 1 else { break }
                guard let difference = bits.readBits(4) else { return false }
                templates[index].frameDifferences.append(UInt8(difference) + 1)
            }
        }
        return true
    }

    /// template_chains()
    private mutating func readChains(_ bits: inout BitReader) -> Bool {
        guard let count = bits.readNonSymmetric(below: UInt32(decodeTargetCount) + 1) else { return false }
        chainCount = Int(count)
        guard count > 0 else { return true }
        for _ in 0..<decodeTargetCount {
            guard let chain = bits.readNonSymmetric(below: count) else { return false }
            targetChains.append(UInt8(chain))
        }
        for index in templates.indices {
            for _ in 0..<count {
                guard let difference = bits.readBits(4) else { return false }
                templates[index].chainDifferences.append(UInt8(difference))
            }
        }
        return true
    }

    // MARK: Writing

    func write(into bits: inout BitWriter) {
        bits.write(UInt32(firstTemplateID), bits: 6)
        bits.write(UInt32(decodeTargetCount - 1), bits: 5)
        for index in templates.indices {
            let next = templates.index(after: index)
            guard next < templates.endIndex else { break }
            let step: UInt32 =
                templates[next].spatialLayer > templates[index].spatialLayer
                ? 2 : templates[next].temporalLayer > templates[index].temporalLayer ? 1 : 0
            bits.write(step, bits: 2)
        }
        bits.write(3, bits: 2)
        for template in templates {
            for indication in template.indications { bits.write(UInt32(indication.rawValue), bits: 2) }
        }
        for template in templates {
            for difference in template.frameDifferences {
                bits.write(true)
                bits.write(UInt32(difference) - 1, bits: 4)
            }
            bits.write(false)
        }
        bits.writeNonSymmetric(UInt32(chainCount), below: UInt32(decodeTargetCount) + 1)
        if chainCount > 0 {
            for chain in targetChains { bits.writeNonSymmetric(UInt32(chain), below: UInt32(chainCount)) }
            for template in templates {
                for difference in template.chainDifferences { bits.write(UInt32(difference), bits: 4) }
            }
        }
        bits.write(resolutions != nil)
        for resolution in resolutions ?? [] {
            bits.write(UInt32(resolution.width - 1), bits: 16)
            bits.write(UInt32(resolution.height - 1), bits: 16)
        }
    }
}
