/// Chooses spatial and temporal layers of a VP9 stream by its payload descriptors (RFC 9628 §4.2), of streams whose
/// layers always need each other as of those where only key pictures do (k-SVC).
///
/// A layer is **intact** while each of its frames since the last one that was predicted from no earlier picture has
/// been forwarded: only an intact layer's next frame can be decoded.
struct VP9Selector: Sendable {
    private(set) var spatialLimit: UInt8 = 0
    private(set) var temporalLimit: UInt8 = 0
    /// A bit for each spatial layer.
    private var intact: UInt8 = 0
    /// The layers of which anything was forwarded since the last key picture: others are only believed in.
    private var seen: UInt8 = 0

    private var picture: UInt32?
    /// Of this picture: the layers that have been judged, those that are forwarded, and what may be missing.
    private var judged: UInt8 = 0
    private var kept: UInt8 = 0
    private var hasGap = false
    private var isKeyPicture = false
    /// U of the last pictures: higher temporal layers can be joined at the next picture.
    private var canGoUp = false

    /// - Parameter followsGap: packets before this one are missing.
    mutating func keeps(
        _ video: VideoDescriptor, timestamp: UInt32, followsGap: Bool, wanted: LayerTarget
    ) -> Bool {
        if followsGap {
            hasGap = true
            // A picture may be missing that those above the limit refer to.
            canGoUp = false
        }
        if timestamp != picture { beginPicture(video, timestamp, followsGap, wanted) }
        let bit: UInt8 = 1 << (video.spatialLayer & 7)
        if judged & bit == 0 { judge(video, bit, wanted) }
        return kept & bit != 0
    }

    private mutating func beginPicture(
        _ video: VideoDescriptor, _ timestamp: UInt32, _ followsGap: Bool, _ wanted: LayerTarget
    ) {
        // Layers that a key picture turned out not to have are not there.
        if isKeyPicture, !hasGap, let highest = kept.highestSetBit {
            intact = kept
            spatialLimit = UInt8(highest)
        }
        picture = timestamp
        (judged, kept) = (0, 0)
        hasGap = followsGap
        isKeyPicture = video.startsKeyFrame
        if video.startsKeyFrame {
            spatialLimit = min(wanted.spatial, 7)
            temporalLimit = wanted.temporal
            // Believed for now: the picture's other layers follow.
            intact = Self.mask(through: spatialLimit)
            seen = 0
        } else if video.startsFrame, video.spatialLayer == 0 {
            if wanted.temporal < temporalLimit || canGoUp { temporalLimit = wanted.temporal }
            if wanted.spatial < spatialLimit { goDown(wanted) }
        }
    }

    /// To the highest layer that is wanted and whose frames were all forwarded; without one, a key picture is needed.
    private mutating func goDown(_ wanted: LayerTarget) {
        let candidates = intact & Self.mask(through: wanted.spatial)
        guard let highest = candidates.highestSetBit else { return }
        spatialLimit = UInt8(highest)
        intact &= Self.mask(through: spatialLimit)
    }

    /// Decides about a layer's frame, by its first packet that comes.
    private mutating func judge(_ video: VideoDescriptor, _ bit: UInt8, _ wanted: LayerTarget) {
        judged |= bit
        guard video.temporalLayer <= temporalLimit else {
            // Nothing that is forwarded refers to it: the layer stays intact.
            canGoUp = false
            return
        }
        let isPredicted = video.traits.contains(.interPredicted)
        let layer = video.spatialLayer
        // D: the layer below in the same picture, which may be among what is missing.
        let lower = bit >> 1
        let hasLower =
            !video.traits.contains(.usesLowerLayer) || layer == 0 || kept & lower != 0
            || judged & lower == 0 && hasGap && (intact & lower != 0 || !isPredicted)
        if layer > spatialLimit {
            // P is 0: the layer can be joined, also between key pictures.
            guard layer <= wanted.spatial, !isPredicted, video.startsFrame, hasLower, kept & lower != 0 else {
                return
            }
            spatialLimit = layer
            intact |= bit
        }
        // A frame that is predicted from no earlier picture makes its layer intact; where its first packet is late,
        // only if that will be admitted.
        guard intact & bit != 0 || !isPredicted && (video.startsFrame || intact >> layer != 0), hasLower else {
            intact &= ~bit
            return
        }
        if isUnneeded(video, wanted) {
            intact &= ~bit
            return
        }
        intact |= bit
        kept |= bit
        seen |= bit
        // RFC 9628 §4.2, U: what follows in higher temporal layers refers to nothing before this picture but to layers
        // up to its own.
        if video.traits.contains(.switchingPoint) { canGoUp = true }
    }

    /// Z: no higher layer will refer to this one, in this picture or later. Whoever shows a higher layer needs it no
    /// more; one that was expected of a key picture and never came shows nothing.
    private func isUnneeded(_ video: VideoDescriptor, _ wanted: LayerTarget) -> Bool {
        video.spatialLayer < spatialLimit && video.traits.contains([.unusedByHigherLayers, .interPredicted])
            && video.startsFrame && intact & seen & (1 << spatialLimit) != 0 && wanted.spatial >= spatialLimit
    }

    private static func mask(through layer: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: (2 << UInt16(min(layer, 7))) - 1)
    }

    /// The picture ends here for this subscriber: the layers above are not for it.
    func endsPicture(_ video: VideoDescriptor) -> Bool { video.endsFrame && video.spatialLayer == spatialLimit }

    /// Another spatial layer is wanted than can be had without a key picture.
    ///
    /// - Parameter highest: the highest layer that is being sent.
    func needsKeyPicture(wanted: LayerTarget, highest: UInt8) -> Bool {
        let goal = min(wanted.spatial, highest)
        return goal > spatialLimit || intact & Self.mask(through: goal) == 0
            || goal == spatialLimit && intact & (1 << (goal & 7)) == 0
    }

    /// Nothing that comes before the next key picture can be decoded.
    var isBroken: Bool { intact & Self.mask(through: spatialLimit) == 0 }

    /// The intact layers, and the temporal limit.
    var admission: StreamRewriter.Admission {
        UInt16(intact & Self.mask(through: spatialLimit)) << 3 | UInt16(min(temporalLimit, 7))
    }

    static func highestLayer(under admission: StreamRewriter.Admission) -> UInt8 {
        UInt8(UInt8(truncatingIfNeeded: admission >> 3).highestSetBit ?? 0)
    }

    static func admits(_ video: VideoDescriptor, under admission: StreamRewriter.Admission) -> Bool {
        guard admission >> 3 != 0, UInt16(video.temporalLayer) <= admission & 7 else { return false }
        // Of a key picture all layers are needed up to the one that is shown, also by those who do without them
        // otherwise.
        guard video.traits.contains(.interPredicted) else {
            return video.spatialLayer <= highestLayer(under: admission)
        }
        return admission & 8 << UInt16(video.spatialLayer & 7) != 0
    }
}
