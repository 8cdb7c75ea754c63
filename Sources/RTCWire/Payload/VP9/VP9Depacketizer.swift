/// RFC 9628: strips the descriptors and joins what follows them: a picture with the frames of all its spatial layers,
/// lowest first. Of several frames it makes a superframe, which is what decoders take.
struct VP9Depacketizer: Sendable {
    private enum Phase: Sendable, Equatable {
        case betweenLayerFrames
        case insideLayerFrame(spatial: UInt8)
    }

    private var phase = Phase.betweenLayerFrames
    /// Of the picture that is being joined.
    private var pictureID: UInt16?
    private var highestSpatial: UInt8 = 0
    /// Of the layers that are whole.
    private var frames = VP9Superframe(sizes: [])
    /// Where the frame of the layer begins.
    private var layerStart = 0
    /// Bytes at the end that are not the frames' own.
    private var indexSize = 0

    var isAtUnitBoundary: Bool { phase == .betweenLayerFrames }

    mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        guard let descriptor = VP9PayloadDescriptor(payload) else { return false }
        let contentSize = payload.byteCount - descriptor.byteCount
        guard contentSize > 0, frame.count + contentSize <= Depacketizer.maximumFrameSize else { return false }
        let spatial = descriptor.layers?.spatial ?? 0
        if frame.isEmpty {
            guard descriptor.startsLayerFrame else { return false }
            pictureID = descriptor.pictureID
            begin()
        } else {
            // §4.2: the payloads of a picture share its id; its layers come in order.
            guard descriptor.pictureID == pictureID else { return false }
            switch phase {
            case .betweenLayerFrames:
                guard descriptor.startsLayerFrame, spatial > highestSpatial else { return false }
                // The index belongs at the end of the picture.
                frame.removeLast(indexSize)
                layerStart = frame.count
            case .insideLayerFrame(let current):
                guard !descriptor.startsLayerFrame, spatial == current else { return false }
            }
        }
        highestSpatial = spatial
        phase = descriptor.endsLayerFrame ? .betweenLayerFrames : .insideLayerFrame(spatial: spatial)
        frame.append(contentsOf: payload.extracting(descriptor.byteCount..<payload.byteCount))
        if descriptor.endsLayerFrame { endLayerFrame(in: &frame) }
        return true
    }

    private mutating func begin() {
        frames.sizes.removeAll(keepingCapacity: true)
        layerStart = 0
        indexSize = 0
    }

    /// An only layer stays as its encoder made it. Of several, one index tells all frames: also those that an encoder
    /// has joined itself, whose own index goes.
    private mutating func endLayerFrame(in frame: inout [UInt8]) {
        let isFirst = frames.sizes.isEmpty
        let joined = VP9Superframe(frame.span.bytes.extracting(layerStart..<frame.count))
        frames.sizes += joined?.sizes ?? [frame.count - layerStart]
        indexSize = joined?.indexSize ?? 0
        guard !isFirst else { return }
        frame.removeLast(indexSize)
        let end = frame.count
        frames.appendIndex(to: &frame)
        indexSize = frame.count - end
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
