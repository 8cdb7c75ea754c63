import RTCWire

/// What forwarding has to know of one packet of video. Read once when it comes, and used for every subscriber.
public struct VideoDescriptor: Sendable, Equatable {
    /// How packets say which layer inside the stream they are of.
    public enum Scheme: UInt8, Sendable, Hashable {
        /// They do not: there are no layers.
        case none
        /// RFC 7741: temporal layers; Y says where one can be joined.
        case vp8
        /// RFC 9628: spatial and temporal layers with P, D, U and Z.
        case vp9
        /// A dependency descriptor (AV1 RTP specification, appendix A), whatever the codec.
        case dependency
    }

    public struct Traits: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The first packet of a frame, of a layer's frame where pictures have several.
        public static let startsFrame = Traits(rawValue: 1 << 0)
        /// The last one.
        public static let endsFrame = Traits(rawValue: 1 << 1)
        /// The first packet of a key frame: a decoder can begin here, with nothing before it.
        public static let startsKeyFrame = Traits(rawValue: 1 << 2)
        /// VP8's Y (RFC 7741 §4.2), VP9's U (RFC 9628 §4.2): see `TemporalSelector` and `VP9Selector`.
        public static let switchingPoint = Traits(rawValue: 1 << 3)
        /// VP9's P: predicted from earlier pictures.
        public static let interPredicted = Traits(rawValue: 1 << 4)
        /// VP9's D: predicted from the spatial layer below in the same picture.
        public static let usesLowerLayer = Traits(rawValue: 1 << 5)
        /// VP9's Z: no higher spatial layer refers to this one, in this picture and those after it.
        public static let unusedByHigherLayers = Traits(rawValue: 1 << 6)
        /// A dependency structure comes with it.
        public static let bringsStructure = Traits(rawValue: 1 << 7)
    }

    public var scheme = Scheme.none
    public var traits: Traits = []
    public var spatialLayer: UInt8 = 0
    public var temporalLayer: UInt8 = 0
    /// The counters that must not jump in a subscriber's stream.
    public var numbers = PictureNumbers()
    /// Has a meaning with `Scheme.dependency` only.
    public var dependency = FrameDependency()

    public init() {}

    public var startsFrame: Bool { traits.contains(.startsFrame) }
    public var endsFrame: Bool { traits.contains(.endsFrame) }
    public var startsKeyFrame: Bool { traits.contains(.startsKeyFrame) }
}

/// The counters in a payload descriptor, and their places in the payload. Place 0 stands for a counter that is not
/// there, since a descriptor's first byte is never one.
public struct PictureNumbers: Sendable, Equatable {
    /// 7 or 15 bits.
    public var pictureID: UInt16 = 0
    public var pictureIDPlace: UInt8 = 0
    public var hasLongPictureID = false
    /// TL0PICIDX.
    public var temporalBase: UInt8 = 0
    public var temporalBasePlace: UInt8 = 0
    /// VP8's KEYIDX, five bits.
    public var keyIndex: UInt8 = 0
    public var keyIndexPlace: UInt8 = 0

    public init() {}
}

/// What is subtracted from each counter for one subscriber, modulo the counter's width.
public struct PictureOffsets: Sendable, Equatable {
    public var pictureID: UInt16 = 0
    /// Of dependency descriptors.
    public var frameNumber: UInt16 = 0
    public var temporalBase: UInt8 = 0
    public var keyIndex: UInt8 = 0

    public init() {}

    public static let none = PictureOffsets()
}

extension PictureNumbers {
    /// Appends a payload whose descriptor has these counters, with the offsets subtracted. Their widths do not change,
    /// so neither does the payload's length.
    public func append(_ payload: RawSpan, minus offsets: PictureOffsets, to bytes: inout OutputSpan<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: payload)
        guard offsets != .none else { return }
        if pictureIDPlace > 0, offsets.pictureID != 0 {
            let place = start + Int(pictureIDPlace)
            let value = pictureID &- offsets.pictureID
            // RFC 7741 §4.2, RFC 9628 §4.2: M, then 15 bits; or without M 7.
            if hasLongPictureID {
                bytes.set(uint16: 0x8000 | value & 0x7fff, at: place)
            } else {
                bytes[place] = UInt8(truncatingIfNeeded: value) & 0x7f
            }
        }
        if temporalBasePlace > 0 { bytes[start + Int(temporalBasePlace)] = temporalBase &- offsets.temporalBase }
        if keyIndexPlace > 0 {
            // RFC 7741 §4.2: TID, Y and KEYIDX share the byte.
            let place = start + Int(keyIndexPlace)
            bytes[place] = bytes[place] & 0xe0 | (keyIndex &- offsets.keyIndex) & 0x1f
        }
    }
}
