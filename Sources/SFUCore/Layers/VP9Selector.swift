/// Chooses spatial and temporal layers of a VP9 stream by its payload descriptors (RFC 9628 §4.2). The spatial layers
/// may depend on each other in every picture, or in key pictures only (k-SVC).
///
/// A layer is **intact** while each of its frames since the last one that was predicted from no earlier picture has
/// been forwarded: only an intact layer's next frame can be decoded.
struct VP9Selector: Sendable {
    private(set) var spatialLimit: UInt8 = 0
    private(set) var temporalLimit: UInt8 = 0
    /// A bit for each spatial layer.
    private var intact: UInt8 = 0
    /// The layers of which a frame was forwarded since the last key picture. Others are in `intact` only because the
    /// key picture is assumed to have them.
    private var seen: UInt8 = 0

    private var picture: UInt32?
    /// Of the present picture: the layers that were judged, those that are forwarded, and whether packets may be
    /// missing.
    private var judged: UInt8 = 0
    private var kept: UInt8 = 0
    private var hasGap = false
    private var isKeyPicture = false
    /// Whether higher temporal layers can be joined at the next picture, by the U of the last ones.
    private var canGoUp = false

    /// - Parameter followsGap: packets before this one are missing.
    mutating func keeps(
        _ video: VideoDescriptor, timestamp: UInt32, followsGap: Bool, wanted: LayerTarget
    ) -> Bool {
        if followsGap {
            hasGap = true
            // A picture may be missing to which higher temporal layers refer.
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
        // The key picture is over, and complete: the layers that it did not have do not exist.
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
            // Assumed for now, since the picture's other layers are still to come.
            intact = Self.mask(through: spatialLimit)
            seen = 0
        } else if video.startsFrame, video.spatialLayer == 0 {
            if wanted.temporal < temporalLimit || canGoUp {
                temporalLimit = wanted.temporal
            } else if video.temporalLayer == temporalLimit &+ 1, video.temporalLayer <= wanted.temporal,
                video.traits.contains(.switchingPoint)
            {
                // RFC 9628 §4.2 has U speak of later pictures (see `judge`). libwebrtc sets it where a picture refers
                // to lower temporal layers only, which the lowest one's never do, and LiveKit's server joins a layer
                // there. The layers below may not all be sent, so one is joined at a time.
                temporalLimit = video.temporalLayer
            }
            if wanted.spatial < spatialLimit { goDown(wanted) }
        }
    }

    /// Goes down to the highest wanted layer that is intact. Without one the layers stay until a key picture.
    private mutating func goDown(_ wanted: LayerTarget) {
        let candidates = intact & Self.mask(through: wanted.spatial)
        guard let highest = candidates.highestSetBit else { return }
        spatialLimit = UInt8(highest)
        intact &= Self.mask(through: spatialLimit)
    }

    /// Decides about a layer's frame, when its first packet comes.
    private mutating func judge(_ video: VideoDescriptor, _ bit: UInt8, _ wanted: LayerTarget) {
        judged |= bit
        guard video.temporalLayer <= temporalLimit else {
            // No forwarded frame refers to it, so the layer stays intact.
            canGoUp = false
            return
        }
        let isPredicted = video.traits.contains(.interPredicted)
        let layer = video.spatialLayer
        // D: it needs the layer below in the same picture, whose packets may be among the missing ones.
        let lower = bit >> 1
        let hasLower =
            !video.traits.contains(.usesLowerLayer) || layer == 0 || kept & lower != 0
            || judged & lower == 0 && hasGap && (intact & lower != 0 || !isPredicted)
        if layer > spatialLimit {
            // P is 0: it refers to no earlier picture, so a higher layer can be joined here without a key picture.
            guard layer <= wanted.spatial, !isPredicted, video.startsFrame, hasLower, kept & lower != 0 else {
                return
            }
            spatialLimit = layer
            intact |= bit
        }
        // A frame that is predicted from no earlier picture makes its layer intact. Where its first packet has not
        // come, that holds only if it will be admitted when it comes late.
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
        // RFC 9628 §4.2, U: later frames of higher temporal layers refer to no picture before this one, but for those
        // of temporal layers up to its own.
        if video.traits.contains(.switchingPoint) { canGoUp = true }
    }

    /// Whether a frame is of no use to the subscriber. With Z no higher layer refers to this one, in this picture or
    /// later, so it is not needed when a higher layer is shown: which is the case only if that has really come.
    private func isUnneeded(_ video: VideoDescriptor, _ wanted: LayerTarget) -> Bool {
        video.spatialLayer < spatialLimit && video.traits.contains([.unusedByHigherLayers, .interPredicted])
            && video.startsFrame && intact & seen & (1 << spatialLimit) != 0 && wanted.spatial >= spatialLimit
    }

    private static func mask(through layer: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: (2 << UInt16(min(layer, 7))) - 1)
    }

    /// Whether this is the last packet of the picture for this subscriber, who does not get the layers above.
    func endsPicture(_ video: VideoDescriptor) -> Bool { video.endsFrame && video.spatialLayer == spatialLimit }

    /// Whether the wanted spatial layer can be had only from a key picture on.
    ///
    /// - Parameter highest: the highest layer that is being sent.
    func needsKeyPicture(wanted: LayerTarget, highest: UInt8) -> Bool {
        let goal = min(wanted.spatial, highest)
        return goal > spatialLimit || intact & Self.mask(through: goal) == 0
            || goal == spatialLimit && intact & (1 << (goal & 7)) == 0
    }

    /// Whether no layer is intact: then nothing can be decoded before the next key picture.
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
        // Of a key picture all layers are needed up to the one that is shown, also where it is otherwise shown without
        // the lower ones.
        guard video.traits.contains(.interPredicted) else {
            return video.spatialLayer <= highestLayer(under: admission)
        }
        return admission & 8 << UInt16(video.spatialLayer & 7) != 0
    }
}
