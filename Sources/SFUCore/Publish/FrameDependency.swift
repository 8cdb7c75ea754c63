public import RTCWire

/// A dependency descriptor (AV1 RTP specification §A.8) without storage of its own: it is read for every packet and
/// kept with it.
public struct FrameDependency: Sendable, Equatable {
    /// Counts the frames of all layers, wrapping.
    public var frameNumber: UInt16 = 0
    /// Which decode targets are sent at present, a bit each.
    public var activeTargets: UInt32 = 0
    /// Two bits for each decode target.
    var indications: UInt64 = 0
    /// How many frames back those are that it refers to; 0 is none.
    var differences = SIMD8<UInt16>(repeating: 0)
    /// How many frames back the last one of each chain is.
    var chainDifferences = SIMD8<UInt8>(repeating: 0)
    /// It refers to more frames than there is room for, which no codec's frames do: AV1 has seven references.
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

    /// Nothing of earlier frames is needed.
    var isIndependent: Bool { differences[0] == 0 && !hasMoreReferences }
}

/// A stream's dependency structure in the form in which packets are looked up in it.
public struct DependencyTable: Sendable {
    struct Template: Sendable {
        var spatialLayer: UInt8
        var temporalLayer: UInt8
        var frame: FrameDependency
    }

    /// Chains beyond these are not followed: there is one for each spatial layer, and of those there are four at most.
    static let maximumChains = 8
    private static let noChain: UInt8 = 0xff

    let firstTemplateID: Int
    let templates: [Template]
    /// 1 to 32.
    public let targetCount: Int
    let chainCount: Int
    /// Of each decode target: four bits of spatial layer, four of temporal.
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
