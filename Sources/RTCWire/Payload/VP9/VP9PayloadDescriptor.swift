/// What stands before the VP9 data in each RTP payload (RFC 9628 §4.2).
public struct VP9PayloadDescriptor: Sendable, Hashable {
    /// Which layers a payload belongs to.
    public struct Layers: Sendable, Hashable {
        /// TID, three bits.
        public var temporal: UInt8
        /// U: a receiver may go up to this temporal layer here.
        public var isSwitchingPoint: Bool
        /// SID, three bits.
        public var spatial: UInt8
        /// D: predicted from the spatial layer below in the same picture.
        public var usesLowerLayer: Bool
        /// TL0PICIDX; there in non-flexible mode, and only there.
        public var temporalBaseIndex: UInt8?

        public init(
            temporal: UInt8, isSwitchingPoint: Bool = false, spatial: UInt8, usesLowerLayer: Bool = false,
            temporalBaseIndex: UInt8? = nil
        ) {
            self.temporal = temporal & 0x07
            self.isSwitchingPoint = isSwitchingPoint
            self.spatial = spatial & 0x07
            self.usesLowerLayer = usesLowerLayer
            self.temporalBaseIndex = temporalBaseIndex
        }
    }

    /// 7 or 15 bits; nil when absent.
    public var pictureID: UInt16?
    /// M: the picture id has 15 bits.
    public var hasLongPictureID = true
    /// P: predicted from earlier pictures; false in key pictures.
    public var isInterPredicted = false
    /// L; nil when there are no layers.
    public var layers: Layers?
    /// F: each payload says which pictures it refers to.
    public var isFlexible = false
    /// B: the first payload of a layer's frame.
    public var startsLayerFrame = false
    /// E: the last payload of a layer's frame.
    public var endsLayerFrame = false
    /// V; nil when absent.
    public var structure: VP9ScalabilityStructure?
    /// Z: no higher spatial layer of the picture refers to this one.
    public var isUnusedByHigherLayers = false
    /// How many bytes the descriptor took when it was read.
    public private(set) var byteCount = 0

    /// P_DIFF, seven bits each: packed, for a payload is read for every packet.
    private var differences: UInt32 = 0
    private var differenceCount = 0

    /// How many pictures back those are that this one refers to, three at most. Flexible mode only.
    public var referenceDifferences: [UInt8] {
        get { (0..<differenceCount).map { UInt8(truncatingIfNeeded: differences >> (8 * UInt32($0))) } }
        set {
            differences = 0
            differenceCount = 0
            for value in newValue.prefix(3) { append(difference: value & 0x7f) }
        }
    }

    public init() {}

    /// Reads the descriptor at the start of a payload; nil when it is cut off or names more than three references.
    public init?(_ payload: RawSpan) {
        var reader = ByteReader(payload)
        guard let first = reader.readUInt8() else { return nil }
        isInterPredicted = first & 0x40 != 0
        isFlexible = first & 0x10 != 0
        startsLayerFrame = first & 0x08 != 0
        endsLayerFrame = first & 0x04 != 0
        isUnusedByHigherLayers = first & 0x01 != 0
        if first & 0x80 != 0 {
            guard let high = reader.readUInt8() else { return nil }
            hasLongPictureID = high & 0x80 != 0
            if hasLongPictureID {
                guard let low = reader.readUInt8() else { return nil }
                pictureID = UInt16(high & 0x7f) << 8 | UInt16(low)
            } else {
                pictureID = UInt16(high)
            }
        }
        if first & 0x20 != 0 {
            guard let indices = reader.readUInt8() else { return nil }
            var layers = Layers(
                temporal: indices >> 5, isSwitchingPoint: indices & 0x10 != 0, spatial: indices >> 1 & 0x07,
                usesLowerLayer: indices & 0x01 != 0)
            if !isFlexible {
                guard let index = reader.readUInt8() else { return nil }
                layers.temporalBaseIndex = index
            }
            self.layers = layers
        }
        if isFlexible, isInterPredicted {
            var another = true
            while another {
                // RFC 9628 §4.2: up to three, each saying whether one follows.
                guard differenceCount < 3, let byte = reader.readUInt8() else { return nil }
                append(difference: byte >> 1)
                another = byte & 0x01 != 0
            }
        }
        if first & 0x02 != 0 {
            guard let structure = VP9ScalabilityStructure(&reader) else { return nil }
            self.structure = structure
        }
        byteCount = reader.offset
    }

    private mutating func append(difference: UInt8) {
        differences |= UInt32(difference) << (8 * UInt32(differenceCount))
        differenceCount += 1
    }

    /// Appends the descriptor.
    public func write(into bytes: inout [UInt8]) {
        var first: UInt8 = pictureID == nil ? 0 : 0x80
        if isInterPredicted { first |= 0x40 }
        if layers != nil { first |= 0x20 }
        if isFlexible { first |= 0x10 }
        if startsLayerFrame { first |= 0x08 }
        if endsLayerFrame { first |= 0x04 }
        if structure != nil { first |= 0x02 }
        if isUnusedByHigherLayers { first |= 0x01 }
        bytes.append(first)
        if let pictureID {
            if hasLongPictureID {
                bytes.append(uint16: 0x8000 | pictureID)
            } else {
                bytes.append(UInt8(pictureID & 0x7f))
            }
        }
        if let layers {
            bytes.append(
                layers.temporal << 5 | (layers.isSwitchingPoint ? 0x10 : 0) | layers.spatial << 1
                    | (layers.usesLowerLayer ? 1 : 0))
            if !isFlexible { bytes.append(layers.temporalBaseIndex ?? 0) }
        }
        if isFlexible, isInterPredicted {
            // A picture that is predicted refers to one at least: the one before, when nothing is said.
            if differenceCount == 0 { bytes.append(1 << 1) }
            for index in 0..<differenceCount {
                let difference = UInt8(truncatingIfNeeded: differences >> (8 * UInt32(index)))
                bytes.append(difference << 1 | (index + 1 < differenceCount ? 1 : 0))
            }
        }
        structure?.write(into: &bytes)
    }
}
