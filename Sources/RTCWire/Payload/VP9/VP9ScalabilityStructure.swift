/// The layers of a VP9 stream (RFC 9628 §4.2.1): how large each spatial layer is, and how the pictures of a group refer
/// to each other. It comes with key pictures.
public struct VP9ScalabilityStructure: Sendable, Hashable {
    /// The size of a spatial layer's pictures, in pixels.
    public struct Resolution: Sendable, Hashable {
        public var width: UInt16
        public var height: UInt16

        public init(width: UInt16, height: UInt16) {
            self.width = width
            self.height = height
        }
    }

    /// One picture of the group that repeats itself.
    public struct Picture: Sendable, Hashable {
        /// TID, three bits.
        public var temporalLayer: UInt8
        /// U: a receiver may go up to this temporal layer here.
        public var isSwitchingPoint: Bool
        /// How many pictures back those are that it refers to; three at most.
        public var referenceDifferences: [UInt8]

        public init(temporalLayer: UInt8, isSwitchingPoint: Bool, referenceDifferences: [UInt8]) {
            self.temporalLayer = temporalLayer
            self.isSwitchingPoint = isSwitchingPoint
            self.referenceDifferences = referenceDifferences
        }
    }

    /// N_S + 1: 1 to 8.
    public var spatialLayerCount: Int
    /// One for each spatial layer; empty when the structure does not tell (Y is 0).
    public var resolutions: [Resolution]
    /// The group of pictures; nil when the structure has none (G is 0).
    public var pictures: [Picture]?

    public init(spatialLayerCount: Int, resolutions: [Resolution] = [], pictures: [Picture]? = nil) {
        self.spatialLayerCount = min(max(spatialLayerCount, 1), 8)
        self.resolutions = resolutions
        self.pictures = pictures
    }

    /// Reads the structure; nil when it is cut off.
    init?(_ reader: inout ByteReader) {
        guard let head = reader.readUInt8() else { return nil }
        spatialLayerCount = Int(head >> 5) + 1
        resolutions = []
        if head & 0x10 != 0 {
            for _ in 0..<spatialLayerCount {
                guard let width = reader.readUInt16(), let height = reader.readUInt16() else { return nil }
                resolutions.append(Resolution(width: width, height: height))
            }
        }
        guard head & 0x08 != 0 else { return }
        guard let count = reader.readUInt8() else { return nil }
        var group: [Picture] = []
        for _ in 0..<count {
            guard let picture = reader.readUInt8(),
                let differences = reader.readBytes(Int(picture >> 2 & 0x03))
            else { return nil }
            group.append(
                Picture(
                    temporalLayer: picture >> 5, isSwitchingPoint: picture & 0x10 != 0,
                    referenceDifferences: differences))
        }
        pictures = group
    }

    /// Appends the structure. Resolutions are written when there is one for each spatial layer.
    func write(into bytes: inout [UInt8]) {
        let hasResolutions = resolutions.count == spatialLayerCount
        bytes.append(
            UInt8(spatialLayerCount - 1) << 5 | (hasResolutions ? 0x10 : 0) | (pictures == nil ? 0 : 0x08))
        if hasResolutions {
            for resolution in resolutions {
                bytes.append(uint16: resolution.width)
                bytes.append(uint16: resolution.height)
            }
        }
        guard let pictures else { return }
        // N_G and R have eight and two bits.
        bytes.append(UInt8(min(pictures.count, 255)))
        for picture in pictures.prefix(255) {
            let differences = picture.referenceDifferences.prefix(3)
            bytes.append(
                picture.temporalLayer << 5 | (picture.isSwitchingPoint ? 0x10 : 0) | UInt8(differences.count) << 2)
            bytes.append(contentsOf: differences)
        }
    }
}
