/// How a picture is to be shown (3GPP TS 26.114 §7.4.5): the `C F R R` bits.
public struct VideoOrientation: Sendable, Hashable {
    /// The camera at the back, which looks away from its user.
    public var isBackCamera: Bool
    /// Mirrored, left for right.
    public var isFlipped: Bool
    /// Clockwise, in quarters of a turn: 0 to 3. The receiver turns the picture by as much.
    public var quarterTurns: UInt8

    public init(isBackCamera: Bool = false, isFlipped: Bool = false, quarterTurns: UInt8 = 0) {
        self.isBackCamera = isBackCamera
        self.isFlipped = isFlipped
        self.quarterTurns = quarterTurns & 0x03
    }

    /// The extension's byte; the upper four bits are reserved.
    public init(byte: UInt8) {
        self.init(isBackCamera: byte & 0x08 != 0, isFlipped: byte & 0x04 != 0, quarterTurns: byte)
    }

    public var byte: UInt8 { (isBackCamera ? 0x08 : 0) | (isFlipped ? 0x04 : 0) | quarterTurns }
}

/// How long a receiver is asked to hold pictures back: twelve bits each, in units of ten milliseconds.
public struct PlayoutDelayLimits: Sendable, Hashable {
    /// Bytes of data in the extension.
    public static let size = 3
    /// In milliseconds, 0 to 40,950.
    public var minimum: Int
    public var maximum: Int

    public init(minimum: Int, maximum: Int) {
        self.minimum = min(max(minimum, 0), 40_950)
        self.maximum = min(max(maximum, 0), 40_950)
    }

    init(value: UInt32) { self.init(minimum: Int(value >> 12 & 0xfff) * 10, maximum: Int(value & 0xfff) * 10) }

    var value: UInt32 { UInt32(minimum / 10) << 12 | UInt32(maximum / 10) }

    /// Appends it as an element, where it is negotiated.
    public func append(
        as id: UInt8?, with writer: HeaderExtensionWriter, into packet: inout OutputSpan<UInt8>
    ) {
        guard let id, writer.begin(id, length: Self.size, in: &packet) != nil else { return }
        packet.append(uint24: value)
    }
}

/// When media was captured, on the clock of whoever captured it.
public struct AbsoluteCaptureTime: Sendable, Hashable {
    public var time: NTPTimestamp
    /// What to add to the sender's clock to get the capturer's, in units of 2⁻³² s; nil when the sender captured it
    /// itself or does not know.
    public var clockOffset: Int64?

    public init(time: NTPTimestamp, clockOffset: Int64? = nil) {
        self.time = time
        self.clockOffset = clockOffset
    }

    /// Bytes of data in the extension.
    public var size: Int { clockOffset == nil ? 8 : 16 }
    public static let maximumSize = 16
}

/// What the header extensions of a packet say about its frame. Nil: the peer did not say, or it was not negotiated.
public struct PacketMetadata: Sendable, Hashable {
    /// Of sound.
    public var audioLevel: AudioLevel?
    /// Of pictures.
    public var orientation: VideoOrientation?
    public var captureTime: AbsoluteCaptureTime?
    public var playoutDelay: PlayoutDelayLimits?

    public init() {}

    /// Takes what a packet says.
    ///
    /// - Returns: where the dependency descriptor is, which cannot be understood without those before it; nil when
    ///   there is none.
    public mutating func take(_ header: RTPHeader, _ packet: RawSpan, _ ids: HeaderExtensionIDs) -> Range<Int>? {
        guard header.extensionProfile != nil else { return nil }
        var descriptor: Range<Int>?
        var elements = HeaderExtensionIterator(header)
        while let element = elements.next(in: packet) {
            let data = packet.extracting(element.range)
            switch element.id {
            case ids.audioLevel: if let byte = data.byte(at: 0) { audioLevel = AudioLevel(byte: byte) }
            case ids.videoOrientation: if let byte = data.byte(at: 0) { orientation = VideoOrientation(byte: byte) }
            case ids.playoutDelay:
                var reader = ByteReader(data)
                if let value = reader.readUInt24() { playoutDelay = PlayoutDelayLimits(value: value) }
            case ids.absoluteCaptureTime: if let time = AbsoluteCaptureTime(data) { captureTime = time }
            case ids.dependencyDescriptor: descriptor = element.range
            default: continue
            }
        }
        return descriptor
    }

    /// Takes what a later packet of the same frame says.
    public mutating func merge(_ other: PacketMetadata) {
        if let level = other.audioLevel { audioLevel = level }
        if let orientation = other.orientation { self.orientation = orientation }
        if let time = other.captureTime { captureTime = time }
        if let delay = other.playoutDelay { playoutDelay = delay }
    }

    /// Appends the elements that are negotiated and set.
    public func write(
        _ ids: HeaderExtensionIDs, with writer: HeaderExtensionWriter, isLastPacket: Bool,
        into packet: inout OutputSpan<UInt8>
    ) {
        if let id = ids.audioLevel, let audioLevel, writer.begin(id, length: 1, in: &packet) != nil {
            packet.append(audioLevel.byte)
        }
        // TS 26.114 §7.4.5: on the last packet of a picture.
        if let id = ids.videoOrientation, let orientation, isLastPacket,
            writer.begin(id, length: 1, in: &packet) != nil
        {
            packet.append(orientation.byte)
        }
        playoutDelay?.append(as: ids.playoutDelay, with: writer, into: &packet)
        if let id = ids.absoluteCaptureTime, let captureTime, isLastPacket,
            writer.begin(id, length: captureTime.size, in: &packet) != nil
        {
            packet.append(uint64: captureTime.time.value)
            if let offset = captureTime.clockOffset { packet.append(uint64: UInt64(bitPattern: offset)) }
        }
    }

    /// The most bytes of data that `write` needs for each identifier that is negotiated.
    public static func sizes(_ ids: HeaderExtensionIDs) -> [(id: UInt8, length: Int)] {
        var sizes: [(id: UInt8, length: Int)] = []
        if let id = ids.audioLevel { sizes.append((id, 1)) }
        if let id = ids.videoOrientation { sizes.append((id, 1)) }
        if let id = ids.playoutDelay { sizes.append((id, PlayoutDelayLimits.size)) }
        if let id = ids.absoluteCaptureTime { sizes.append((id, AbsoluteCaptureTime.maximumSize)) }
        return sizes
    }
}

/// What is known of a frame beside its bytes.
public struct FrameMetadata: Sendable, Hashable {
    /// What its packets said, or are to say.
    public var packet = PacketMetadata()
    /// What the frame depends on, as its sender said. Read from incoming frames; outgoing ones are described as those
    /// of one layer, whatever stands here.
    public var dependency: DependencyDescriptor?
    /// The simulcast layer (RFC 8851) that an incoming frame is of; nil without simulcast.
    public var rid: String?

    public init() {}

    /// How loud the sound is (RFC 6464).
    public var audioLevel: AudioLevel? {
        get { packet.audioLevel }
        set { packet.audioLevel = newValue }
    }
    /// How the picture is to be shown. Incoming frames have the last one that was said.
    public var orientation: VideoOrientation? {
        get { packet.orientation }
        set { packet.orientation = newValue }
    }
    /// When the frame was captured.
    public var captureTime: AbsoluteCaptureTime? {
        get { packet.captureTime }
        set { packet.captureTime = newValue }
    }
    /// How long the receiver is asked to hold pictures back.
    public var playoutDelay: PlayoutDelayLimits? {
        get { packet.playoutDelay }
        set { packet.playoutDelay = newValue }
    }
}

extension AbsoluteCaptureTime {
    /// The short form has a time only, the long one the offset too; nil for another length.
    init?(_ data: RawSpan) {
        guard data.byteCount == 8 || data.byteCount == 16 else { return nil }
        var reader = ByteReader(data)
        guard let value = reader.readUInt64() else { return nil }
        time = NTPTimestamp(value: value)
        clockOffset = reader.readUInt64().map { Int64(bitPattern: $0) }
    }
}
