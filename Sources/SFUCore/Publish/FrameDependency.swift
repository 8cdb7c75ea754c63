public import RTCWire

/// A dependency descriptor (AV1 RTP specification §A.8) that allocates nothing: one is read and kept for every packet.
public struct FrameDependency: Sendable, Equatable {
    /// Counts the frames of all layers, wrapping.
    public var frameNumber: UInt16 = 0
    /// The decode targets that are sent at present, a bit each.
    public var activeTargets: UInt32 = 0
    /// Two bits for each decode target.
    var indications: UInt64 = 0
    /// The frames that it refers to: how many frames before it each is; 0 for none.
    var differences = SIMD8<UInt16>(repeating: 0)
    /// For each chain, how many frames before it the chain's last frame is.
    var chainDifferences = SIMD8<UInt8>(repeating: 0)
    /// Whether it refers to more frames than `differences` holds. No codec's frames do: AV1 has seven references.
    var hasMoreReferences = false

    public init() {}

    public func indication(_ target: Int) -> DecodeTargetIndication {
        DecodeTargetIndication(rawValue: UInt8(truncatingIfNeeded: indications >> UInt64(2 * target)) & 3)
            ?? .notPresent
    }

    mutating func set(_ indication: DecodeTargetIndication, of target: Int) {
        let shift = UInt64(2 * target)
        indications = indications & ~(3 << shift) | UInt64(indication.rawValue) << shift
    }

    /// Whether it refers to no other frame.
    var isIndependent: Bool { differences[0] == 0 && !hasMoreReferences }
}

/// A stream's dependency structure, arranged so that a packet's template is found at once.
public struct DependencyTable: Sendable {
    struct Template: Sendable {
        var spatialLayer: UInt8
        var temporalLayer: UInt8
        var frame: FrameDependency
    }

    /// Further chains are ignored. Usually there is one for each spatial layer, of which there are four at most.
    static let maximumChains = 8
    private static let noChain: UInt8 = 0xff

    let firstTemplateID: Int
    let templates: [Template]
    /// 1 to 32.
    public let targetCount: Int
    let chainCount: Int
    /// For each decode target its highest spatial layer in the upper four bits, and its highest temporal one in the
    /// lower.
    private var layers = SIMD32<UInt8>(repeating: 0)
    private var chains = SIMD32<UInt8>(repeating: Self.noChain)

    init(_ structure: DependencyStructure) {
        firstTemplateID = Int(structure.firstTemplateID)
        targetCount = structure.decodeTargetCount
        chainCount = structure.chainCount
        templates = structure.templates.map { template in
            var frame = FrameDependency()
            frame.take(
                template.indications, template.frameDifferences.map { UInt16($0) }, template.chainDifferences)
            return Template(
                spatialLayer: template.spatialLayer, temporalLayer: template.temporalLayer, frame: frame)
        }
        for target in 0..<targetCount {
            // §A.4: a target's layers are the highest among the frames that are present in it.
            let present = structure.templates.filter {
                target < $0.indications.count && $0.indications[target] != .notPresent
            }
            let spatial = present.map(\.spatialLayer).max() ?? 0
            let temporal = present.map(\.temporalLayer).max() ?? 0
            layers[target] = spatial << 4 | temporal
            if target < structure.targetChains.count, structure.targetChains[target] < Self.maximumChains {
                chains[target] = structure.targetChains[target]
            }
        }
    }

    public func spatialLayer(of target: Int) -> UInt8 { layers[target] >> 4 }
    public func temporalLayer(of target: Int) -> UInt8 { layers[target] & 0x0f }

    /// The chain that protects a target; nil when none does.
    func chain(of target: Int) -> Int? { chains[target] == Self.noChain ? nil : Int(chains[target]) }
}

extension FrameDependency {
    mutating func take(_ list: [DecodeTargetIndication], _ frames: [UInt16], _ chains: [UInt8]) {
        for (target, indication) in list.prefix(32).enumerated() { set(indication, of: target) }
        takeReferences(frames)
        for (chain, difference) in chains.prefix(DependencyTable.maximumChains).enumerated() {
            chainDifferences[chain] = difference
        }
    }

    private mutating func takeReferences(_ frames: [UInt16]) {
        differences = SIMD8(repeating: 0)
        for (index, difference) in frames.prefix(8).enumerated() { differences[index] = difference }
        hasMoreReferences = frames.count > 8
    }
}
