import RTCWire

/// Chooses layers by dependency descriptors (AV1 RTP specification, appendix A), which any codec may have. A frame is
/// forwarded when it is present in the chosen decode target. Another target is chosen at a frame that the publisher
/// marks as a switch to it, if the frames that this one refers to, and those of the target's chain, were forwarded.
struct DependencySelector: Sendable {
    /// The decode target that is forwarded; nil before the first key frame.
    private(set) var target: Int?
    private var frame: UInt16?
    private var keepsFrame = false
    /// Which of the last 512 frames were forwarded, a bit each.
    private var sent = SIMD8<UInt64>(repeating: 0)
    private static let memory: UInt16 = 512
    /// For each chain, how many frames before `frame` its last frame is.
    private var chains = SIMD8<UInt8>(repeating: 0)
    /// How many frames have come, up to 255, since lower layers are wanted or higher ones have ended, none of which was
    /// a switch to those.
    private var framesAbove: UInt8 = 0
    /// For how many frames a switch to lower layers is waited for: a little more than a second of three layers at 30
    /// pictures a second.
    private static let patience: UInt8 = 100

    mutating func keeps(_ video: VideoDescriptor, _ table: DependencyTable, wanted: LayerTarget) -> Bool {
        let dependency = video.dependency
        if dependency.frameNumber == frame { return keepsFrame }
        advance(to: dependency.frameNumber)
        chains = dependency.chainDifferences
        if video.startsKeyFrame {
            sent = SIMD8(repeating: 0)
            target = Self.best(table, wanted: wanted, active: dependency.activeTargets)
        } else if video.startsFrame {
            reconsider(dependency, table, wanted)
        }
        keepsFrame = target.map { dependency.indication($0) != .notPresent } ?? false
        if keepsFrame { mark(dependency.frameNumber) }
        return keepsFrame
    }

    /// A late frame is sent.
    mutating func filled(_ video: VideoDescriptor) {
        guard let frame, frame &- video.dependency.frameNumber < Self.memory else { return }
        mark(video.dependency.frameNumber)
    }

    private mutating func reconsider(_ dependency: FrameDependency, _ table: DependencyTable, _ wanted: LayerTarget) {
        guard let desired = Self.best(table, wanted: wanted, active: dependency.activeTargets), desired != target else {
            framesAbove = 0
            return
        }
        let isAbove = target.map { !isActive($0, dependency) || !Self.layers($0, table).isWithin(wanted) } ?? false
        framesAbove = isAbove ? min(framesAbove, .max - 1) + 1 : 0
        let lowest = isAbove && framesAbove < Self.patience ? lowestLayer(dependency, table, wanted) : 0
        // The present target, if it is still sent and no higher than wanted, is left only for a better one.
        var chosen: Int?
        if let target, isActive(target, dependency), Self.layers(target, table).isWithin(wanted) { chosen = target }
        for candidate in 0..<table.targetCount where candidate != target && isActive(candidate, dependency) {
            let layers = Self.layers(candidate, table)
            guard layers.isWithin(wanted) || candidate == desired, layers.spatial >= lowest else { continue }
            if let chosen, layers <= Self.layers(chosen, table) { continue }
            guard canSwitch(to: candidate, dependency, table) else { continue }
            chosen = candidate
        }
        if let chosen { target = chosen }
    }

    /// The way down leads to the highest target that is wanted and no higher than the present one. It can be gone to at
    /// a frame of its own spatial layer, mostly of this very picture. At a frame below that no lower one is chosen
    /// meanwhile: the picture would have two ends, each with the marker, and where that frame's first packet is missing
    /// the layer would be lost.
    private func lowestLayer(_ dependency: FrameDependency, _ table: DependencyTable, _ wanted: LayerTarget) -> UInt8 {
        guard let target else { return 0 }
        let present = Self.layers(target, table)
        let reach = LayerTarget(
            spatial: Int(min(wanted.spatial, present.spatial)), temporal: Int(wanted.temporal))
        guard let near = Self.best(table, wanted: reach, active: dependency.activeTargets), isWhole(near, table) else {
            return 0
        }
        return table.spatialLayer(of: near)
    }

    private func isActive(_ target: Int, _ dependency: FrameDependency) -> Bool {
        dependency.activeTargets >> UInt32(target) & 1 != 0
    }

    /// Whether another target can be forwarded from this frame on. §A.4: the switch indication promises that the
    /// target's later frames can be decoded if this one can. §A.5: if the last frame of the target's chain was
    /// forwarded, no frame that the target needs is missing.
    private func canSwitch(to target: Int, _ dependency: FrameDependency, _ table: DependencyTable) -> Bool {
        guard dependency.indication(target) == .switching, !dependency.hasMoreReferences else { return false }
        if let chain = table.chain(of: target) {
            let difference = UInt16(dependency.chainDifferences[chain])
            guard difference == 0 || wasSent(dependency.frameNumber, back: difference) else { return false }
        }
        for index in 0..<8 {
            let difference = dependency.differences[index]
            if difference == 0 { break }
            guard wasSent(dependency.frameNumber, back: difference) else { return false }
        }
        return true
    }

    // MARK: Targets

    private static func layers(_ target: Int, _ table: DependencyTable) -> LayerTarget {
        LayerTarget(spatial: Int(table.spatialLayer(of: target)), temporal: Int(table.temporalLayer(of: target)))
    }

    /// The highest target that is sent and no higher than wanted; if there is none, the lowest that is sent.
    private static func best(_ table: DependencyTable, wanted: LayerTarget, active: UInt32) -> Int? {
        var best: Int?
        var least: Int?
        for target in 0..<table.targetCount where active >> UInt32(target) & 1 != 0 {
            let layers = layers(target, table)
            if layers.isWithin(wanted), best.map({ Self.layers($0, table) < layers }) ?? true { best = target }
            if least.map({ layers < Self.layers($0, table) }) ?? true { least = target }
        }
        return best ?? least
    }

    // MARK: Frames that were forwarded

    private mutating func advance(to number: UInt16) {
        if let frame {
            let passed = number &- frame
            if passed >= Self.memory {
                sent = SIMD8(repeating: 0)
            } else {
                var cleared = frame
                while cleared != number {
                    cleared &+= 1
                    sent[word(cleared)] &= ~bit(cleared)
                }
            }
        }
        frame = number
    }

    private func word(_ number: UInt16) -> Int { Int(number % Self.memory) / 64 }
    private func bit(_ number: UInt16) -> UInt64 { 1 << UInt64(number % 64) }
    private mutating func mark(_ number: UInt16) { sent[word(number)] |= bit(number) }
    private func wasSent(_ number: UInt16, back difference: UInt16) -> Bool {
        guard difference < Self.memory else { return false }
        let earlier = number &- difference
        return sent[word(earlier)] & bit(earlier) != 0
    }

    /// Whether this is the last packet of the picture for this subscriber, who does not get the layers above.
    func endsPicture(_ video: VideoDescriptor, _ table: DependencyTable) -> Bool {
        guard let target else { return false }
        return video.endsFrame && video.spatialLayer == table.spatialLayer(of: target)
    }

    /// Whether a key frame is needed for another spatial layer. A higher one can mostly be joined only at a key frame.
    /// A lower one from which the present one is predicted was forwarded completely, so it can be joined at its next
    /// switch; that is waited for (`patience`).
    func needsKeyFrame(_ table: DependencyTable, active: UInt32, wanted: LayerTarget) -> Bool {
        guard let desired = Self.best(table, wanted: wanted, active: active) else { return false }
        guard let target else { return true }
        let (goal, present) = (table.spatialLayer(of: desired), table.spatialLayer(of: target))
        if goal < present, framesAbove < Self.patience { return !isWhole(desired, table) }
        return goal != present
    }

    /// Whether the last frame of the target's chain was sent, and so everything that the target needs.
    private func isWhole(_ target: Int, _ table: DependencyTable) -> Bool {
        guard let frame, let chain = table.chain(of: target) else { return false }
        return wasSent(frame, back: UInt16(chains[chain]))
    }

    static let nothing: StreamRewriter.Admission = .max
    var admission: StreamRewriter.Admission { target.map { UInt16($0) } ?? Self.nothing }

    static func admits(_ video: VideoDescriptor, under admission: StreamRewriter.Admission) -> Bool {
        admission < 32 && video.dependency.indication(Int(admission)) != .notPresent
    }
}
