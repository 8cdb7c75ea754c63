/// RFC 9628: a picture of one layer in pieces of equal size, each after a descriptor with a 15-bit picture id. Key
/// pictures tell their size. Several frames that were joined to a superframe stay so, with its index in the last piece.
struct VP9Packetizer: Sendable {
    /// Whether a picture tells what it is.
    enum Content {
        case readable
        /// It was encrypted; it goes without its size.
        case sealed(isKeyFrame: Bool)
    }

    /// I, M and the picture id; flexible mode adds the reference, and the first payload of a key picture its structure.
    private static let descriptorSize = 3
    private static let structureSize = 5

    let maximumPayloadSize: Int
    let isFlexible: Bool
    /// Of the next frame.
    private(set) var pictureID: UInt16

    init(maximumPayloadSize: Int, pictureID: UInt16, isFlexible: Bool = false) {
        self.maximumPayloadSize = maximumPayloadSize
        self.pictureID = pictureID & 0x7fff
        self.isFlexible = isFlexible
    }

    mutating func packetize(_ frame: RawSpan, _ content: Content = .readable, into list: inout PayloadList) {
        guard frame.byteCount > 0 else { return }
        var descriptor = VP9PayloadDescriptor()
        descriptor.pictureID = pictureID
        descriptor.isFlexible = isFlexible
        var structure: VP9ScalabilityStructure?
        switch content {
        case .sealed(let isKeyFrame): descriptor.isInterPredicted = !isKeyFrame
        case .readable:
            descriptor.isInterPredicted = VP9FrameHeader(frame)?.isKeyFrame != true
            if !descriptor.isInterPredicted { structure = Self.structure(of: frame) }
        }
        // Every payload keeps room for the structure of the first, so that all can be of one size.
        let reserved =
            Self.descriptorSize + (isFlexible && descriptor.isInterPredicted ? 1 : 0)
            + (structure == nil ? 0 : Self.structureSize)
        let limit = maximumPayloadSize - reserved
        let count = (frame.byteCount + limit - 1) / limit
        let size = (frame.byteCount + count - 1) / count
        var offset = 0
        while offset < frame.byteCount {
            let end = min(offset + size, frame.byteCount)
            descriptor.startsLayerFrame = offset == 0
            descriptor.endsLayerFrame = end == frame.byteCount
            descriptor.structure = offset == 0 ? structure : nil
            descriptor.write(into: &list.bytes)
            list.bytes.append(contentsOf: frame.extracting(offset..<end))
            list.endPayload()
            offset = end
        }
        // RFC 9628 §4.2: one more for each picture, wrapping.
        pictureID = (pictureID &+ 1) & 0x7fff
    }

    private static func structure(of picture: RawSpan) -> VP9ScalabilityStructure? {
        guard let size = VP9Superframe.pictureSize(of: picture), let width = UInt16(exactly: size.width),
            let height = UInt16(exactly: size.height)
        else { return nil }
        return VP9ScalabilityStructure(
            spatialLayerCount: 1, resolutions: [VP9ScalabilityStructure.Resolution(width: width, height: height)])
    }
}
