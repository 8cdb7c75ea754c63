/// RFC 9628: strips the descriptors and joins what follows them: a picture with the frames of all its spatial layers,
/// lowest first.
struct VP9Depacketizer: Sendable {
    private enum Phase: Sendable, Equatable {
        case betweenLayerFrames
        case insideLayerFrame(spatial: UInt8)
    }

    private var phase = Phase.betweenLayerFrames
    /// Of the picture that is being joined.
    private var pictureID: UInt16?
    private var highestSpatial: UInt8 = 0

    var isAtUnitBoundary: Bool { phase == .betweenLayerFrames }

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        guard let descriptor = VP9PayloadDescriptor(payload) else { return false }
        let contentSize = payload.byteCount - descriptor.byteCount
        guard contentSize > 0, frame.count + contentSize <= Depacketizer.maximumFrameSize else { return false }
        let spatial = descriptor.layers?.spatial ?? 0
        if frame.isEmpty {
            guard descriptor.startsLayerFrame else { return false }
            pictureID = descriptor.pictureID
        } else {
            // §4.2: the payloads of a picture share its id; its layers come in order.
            guard descriptor.pictureID == pictureID else { return false }
            switch phase {
            case .betweenLayerFrames:
                guard descriptor.startsLayerFrame, spatial > highestSpatial else { return false }
            case .insideLayerFrame(let current):
                guard !descriptor.startsLayerFrame, spatial == current else { return false }
            }
        }
        highestSpatial = spatial
        phase = descriptor.endsLayerFrame ? .betweenLayerFrames : .insideLayerFrame(spatial: spatial)
        frame.append(contentsOf: payload.extracting(descriptor.byteCount..<payload.byteCount))
        return true
    }

    /// A higher layer begins the picture only where a server has taken the lower ones away, which it may when they are
    /// not referred to.
    static func startsFrame(_ payload: RawSpan) -> Bool {
        guard let descriptor = VP9PayloadDescriptor(payload), payload.byteCount > descriptor.byteCount else {
            return false
        }
        return descriptor.startsLayerFrame && (isLowest(descriptor) || descriptor.layers?.usesLowerLayer == false)
    }

    /// No layer below this one can have come before.
    static func isCertainFrameStart(_ payload: RawSpan) -> Bool {
        guard let descriptor = VP9PayloadDescriptor(payload) else { return false }
        return descriptor.startsLayerFrame && isLowest(descriptor)
    }

    static func startsKeyFrame(_ payload: RawSpan) -> Bool {
        guard let descriptor = VP9PayloadDescriptor(payload), payload.byteCount > descriptor.byteCount else {
            return false
        }
        // §4.2: P is 0 in a key picture's lowest layer, and the layers above are predicted from that one alone.
        return descriptor.startsLayerFrame && isLowest(descriptor) && !descriptor.isInterPredicted
    }

    private static func isLowest(_ descriptor: VP9PayloadDescriptor) -> Bool {
        (descriptor.layers?.spatial ?? 0) == 0
    }
}
