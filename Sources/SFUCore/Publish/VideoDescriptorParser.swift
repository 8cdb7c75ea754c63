public import RTCWire

/// Reads what forwarding has to know of the packets of one stream. A value for each stream: dependency descriptors
/// refer to a structure that came before them.
public struct VideoDescriptorParser: Sendable {
    public let format: PayloadFormat
    private var dependencies = DependencyParser()
    private let depacketizer: Depacketizer
    /// Whether the stream of H.264 or H.265 has its parameter sets inside. Then only a frame that has them counts as a
    /// key frame, since a decoder that has just begun needs them.
    private var hasParameterSets = false

    public init(format: PayloadFormat) {
        self.format = format
        depacketizer = Depacketizer(format: format)
    }

    /// The dependency structure in force; nil without dependency descriptors.
    public var dependencyTable: DependencyTable? { dependencies.table }

    /// - Parameters:
    ///   - header: of `packet`.
    ///   - sequence: its number, unwrapped: packets may come in any order.
    ///   - dependencyDescriptor: the identifier under which the publisher sends it; nil when that was not negotiated.
    /// - Returns: nil when the payload is cut off, or the format is none of pictures.
    public mutating func read(
        _ header: RTPHeader, _ packet: RawSpan, at sequence: Int64, dependencyDescriptor: UInt8?
    ) -> VideoDescriptor? {
        guard var descriptor = read(payload: header.payload(of: packet), marker: header.marker) else { return nil }
        guard let range = header.extensionElement(dependencyDescriptor, in: packet),
            let reading = dependencies.read(packet.extracting(range), at: sequence)
        else { return descriptor }
        descriptor.scheme = .dependency
        descriptor.dependency = reading.frame
        descriptor.spatialLayer = reading.spatialLayer
        descriptor.temporalLayer = reading.temporalLayer
        descriptor.traits = []
        if reading.startsFrame { descriptor.traits.insert(.startsFrame) }
        if reading.endsFrame { descriptor.traits.insert(.endsFrame) }
        if reading.bringsStructure { descriptor.traits.insert(.bringsStructure) }
        // §A.4: a structure comes with the first packet of a frame that refers to no other. If a newer structure is
        // known already, this is no frame to begin at.
        if reading.bringsStructure, reading.startsFrame, reading.frame.isIndependent {
            descriptor.traits.insert(.startsKeyFrame)
        }
        return descriptor
    }

    private mutating func read(payload: RawSpan, marker: Bool) -> VideoDescriptor? {
        switch format {
        case .vp8: return Self.readVP8(payload, marker: marker)
        case .vp9: return Self.readVP9(payload)
        case .h264: return readUnits(payload, marker: marker, Self.hasSequenceParameterSet)
        case .h265: return readUnits(payload, marker: marker, Self.hasVideoParameterSet)
        case .av1:
            guard payload.byteCount > 0 else { return nil }
            var descriptor = VideoDescriptor()
            if depacketizer.startsFrame(payload) { descriptor.traits.insert(.startsFrame) }
            if depacketizer.startsKeyFrame(payload) { descriptor.traits.insert(.startsKeyFrame) }
            if marker { descriptor.traits.insert(.endsFrame) }
            return descriptor
        case .opus, .pcmu, .pcma: return nil
        }
    }

    private static func readVP8(_ payload: RawSpan, marker: Bool) -> VideoDescriptor? {
        guard let read = VP8PayloadDescriptor(payload), let first = payload.byte(at: read.byteCount) else { return nil }
        var descriptor = VideoDescriptor()
        descriptor.scheme = .vp8
        if read.startsFrame {
            descriptor.traits.insert(.startsFrame)
            // RFC 7741 §4.3: P is the lowest bit of the frame's header; 0 is a key frame.
            if first & 0x01 == 0 { descriptor.traits.insert(.startsKeyFrame) }
        }
        if marker { descriptor.traits.insert(.endsFrame) }
        // RFC 7741 §4.2: X, then the byte of I, L, T and K, then what they announce, in this order.
        guard read.byteCount > 1, let present = payload.byte(at: 1) else { return descriptor }
        var place = 2
        if let pictureID = read.pictureID {
            descriptor.numbers.pictureID = pictureID
            descriptor.numbers.pictureIDPlace = UInt8(place)
            descriptor.numbers.hasLongPictureID = (payload.byte(at: place) ?? 0) & 0x80 != 0
            place += descriptor.numbers.hasLongPictureID ? 2 : 1
        }
        if let base = read.temporalBaseIndex {
            descriptor.numbers.temporalBase = base
            descriptor.numbers.temporalBasePlace = UInt8(place)
            place += 1
        }
        guard present & 0x30 != 0, let layers = payload.byte(at: place) else { return descriptor }
        if present & 0x20 != 0 {
            descriptor.temporalLayer = layers >> 6
            if layers & 0x20 != 0 { descriptor.traits.insert(.switchingPoint) }
        }
        if present & 0x10 != 0 {
            descriptor.numbers.keyIndex = layers & 0x1f
            descriptor.numbers.keyIndexPlace = UInt8(place)
        }
        return descriptor
    }

    private static func readVP9(_ payload: RawSpan) -> VideoDescriptor? {
        guard let read = VP9PayloadDescriptor(payload), payload.byteCount > read.byteCount else { return nil }
        var descriptor = VideoDescriptor()
        descriptor.scheme = .vp9
        descriptor.spatialLayer = read.layers?.spatial ?? 0
        descriptor.temporalLayer = read.layers?.temporal ?? 0
        if read.startsLayerFrame { descriptor.traits.insert(.startsFrame) }
        if read.endsLayerFrame { descriptor.traits.insert(.endsFrame) }
        if read.isInterPredicted { descriptor.traits.insert(.interPredicted) }
        if read.isUnusedByHigherLayers { descriptor.traits.insert(.unusedByHigherLayers) }
        if read.layers?.isSwitchingPoint == true { descriptor.traits.insert(.switchingPoint) }
        if read.layers?.usesLowerLayer == true { descriptor.traits.insert(.usesLowerLayer) }
        // RFC 9628 §4.2: a key picture's lowest layer is predicted from nothing.
        if read.startsLayerFrame, !read.isInterPredicted, descriptor.spatialLayer == 0 {
            descriptor.traits.insert(.startsKeyFrame)
        }
        var place = 1
        if let pictureID = read.pictureID {
            descriptor.numbers.pictureID = pictureID
            descriptor.numbers.pictureIDPlace = 1
            descriptor.numbers.hasLongPictureID = read.hasLongPictureID
            place += read.hasLongPictureID ? 2 : 1
        }
        if let base = read.layers?.temporalBaseIndex {
            // TL0PICIDX follows the byte of layers.
            descriptor.numbers.temporalBase = base
            descriptor.numbers.temporalBasePlace = UInt8(place + 1)
        }
        return descriptor
    }

    /// - Parameter hasParameterSet: whether a payload with this first byte brings the first of the parameter sets.
    private mutating func readUnits(
        _ payload: RawSpan, marker: Bool, _ hasParameterSet: (RawSpan, UInt8) -> Bool
    ) -> VideoDescriptor? {
        guard let header = payload.byte(at: 0) else { return nil }
        var descriptor = VideoDescriptor()
        if depacketizer.startsFrame(payload) { descriptor.traits.insert(.startsFrame) }
        if marker { descriptor.traits.insert(.endsFrame) }
        if hasParameterSet(payload, header) {
            hasParameterSets = true
            descriptor.traits.insert([.startsFrame, .startsKeyFrame])
        } else if !hasParameterSets, depacketizer.startsKeyFrame(payload), descriptor.startsFrame {
            descriptor.traits.insert(.startsKeyFrame)
        }
        return descriptor
    }

    /// RFC 6184 §5.6, §5.7.1, §5.8: a sequence parameter set alone, in an aggregate, or the first fragment of one.
    private static func hasSequenceParameterSet(_ payload: RawSpan, header: UInt8) -> Bool {
        switch H264NALType(header: header) {
        case .sequenceParameterSet: return true
        case .fuA:
            guard let fragment = payload.byte(at: 1) else { return false }
            return fragment & 0x80 != 0 && H264NALType(header: fragment) == .sequenceParameterSet
        case .stapA:
            var reader = ByteReader(payload)
            reader.skip(1)
            while let size = reader.readUInt16(), let unit = reader.readSpan(Int(size)) {
                if let header = unit.byte(at: 0), H264NALType(header: header) == .sequenceParameterSet { return true }
            }
            return false
        case _: return false
        }
    }

    /// RFC 7798 §4.4: likewise of a video parameter set, which the others refer to.
    private static func hasVideoParameterSet(_ payload: RawSpan, header: UInt8) -> Bool {
        switch H265NALType(header: header) {
        case .videoParameterSet: return true
        case .fragmentation:
            guard let fragment = payload.byte(at: 2) else { return false }
            return fragment & 0x80 != 0 && H265NALType(rawValue: fragment) == .videoParameterSet
        case .aggregation:
            var reader = ByteReader(payload)
            reader.skip(2)
            while let size = reader.readUInt16(), let unit = reader.readSpan(Int(size)) {
                if let header = unit.byte(at: 0), H265NALType(header: header) == .videoParameterSet { return true }
            }
            return false
        case _: return false
        }
    }
}
