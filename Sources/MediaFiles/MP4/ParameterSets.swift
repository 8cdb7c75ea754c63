import RTCWire

/// The parameter sets that a decoder of a stream of H.264 or H.265 holds, by their ids: a later one takes the place of
/// an earlier one with the same id (H.264 §7.4.1.2.1, H.265 §7.4.2.4.2).
struct ParameterSets: Sendable, Equatable {
    /// In the order in which a decoder needs them: each refers to those before.
    enum Kind: Sendable, CaseIterable {
        /// Of H.265 alone.
        case video
        case sequence
        case picture
    }

    private struct Entry: Equatable {
        var kind: Kind
        var id: Int
        var unit: [UInt8]
    }

    /// Real ones have some dozen bytes, with scaling lists some hundred. All that are held are repeated with each key
    /// frame, however small that is: a publisher is not to make a file much larger than what it sends.
    private static let maximumSize = 1_024
    private static let maximumTotal = 4_096

    let codec: NALCodec
    private var entries: [Entry] = []

    init(_ codec: NALCodec) { self.codec = codec }

    /// What others refer to comes before them.
    var units: [[UInt8]] { Kind.allCases.flatMap(units) }

    /// The first sequence parameter set: it tells the picture's size.
    var first: [UInt8]? { units(.sequence).first }

    /// What a file's header says of the stream; nil when a kind is missing: nothing could decode.
    var configuration: NALConfiguration? {
        let (video, sequence, picture) = (units(.video), units(.sequence), units(.picture))
        guard !sequence.isEmpty, !picture.isEmpty else { return nil }
        switch codec {
        case .h264:
            return .avc(AVCConfiguration(sequenceParameterSets: sequence, pictureParameterSets: picture))
        case .h265:
            guard !video.isEmpty else { return nil }
            return .hevc(
                HEVCConfiguration(
                    videoParameterSets: video, sequenceParameterSets: sequence, pictureParameterSets: picture))
        }
    }

    private func units(_ kind: Kind) -> [[UInt8]] { entries.filter { $0.kind == kind }.map(\.unit) }

    /// Takes every parameter set of a frame.
    /// - Returns: Whether one of them is another than was held under its id.
    @discardableResult
    mutating func receive(frame: [UInt8]) -> Bool {
        var hasChanged = false
        var units = AnnexBReader(frame.span.bytes)
        while let range = units.next() {
            let unit = Array(frame[range])
            guard unit.count <= Self.maximumSize, let (kind, id) = codec.parameterSet(unit) else { continue }
            if put(Entry(kind: kind, id: id, unit: unit)) { hasChanged = true }
        }
        return hasChanged
    }

    private mutating func put(_ entry: Entry) -> Bool {
        let index = entries.firstIndex { $0.kind == entry.kind && $0.id == entry.id }
        let old = index.map { entries[$0].unit }
        guard old != entry.unit else { return false }
        let total = entries.reduce(0) { $0 + $1.unit.count }
        guard total - (old?.count ?? 0) + entry.unit.count <= Self.maximumTotal else { return false }
        if let index { entries[index] = entry } else { entries.append(entry) }
        return true
    }

    /// Whether one of its kind and id is held in its place: itself, or what has replaced it since. What is too large is
    /// not.
    func holdsOne(like unit: [UInt8]) -> Bool {
        guard unit.count <= Self.maximumSize, let (kind, id) = codec.parameterSet(unit) else { return false }
        return entries.contains { $0.kind == kind && $0.id == id }
    }
}

/// The codecs whose pictures are NAL units.
enum NALCodec: Sendable {
    case h264
    case h265

    /// Nil for other codecs.
    init?(_ format: PayloadFormat) {
        switch format {
        case .h264: self = .h264
        case .h265: self = .h265
        case .vp8, .vp9, .av1, .opus, .pcmu, .pcma: return nil
        }
    }

    /// A delimiter is an access unit's first unit.
    func isDelimiter(_ unit: [UInt8]) -> Bool {
        guard let header = unit.first else { return false }
        switch self {
        case .h264: return H264NALType(header: header) == .accessUnitDelimiter
        case .h265: return H265NALType(header: header) == .accessUnitDelimiter
        }
    }

    /// In pixels; nil for what is no sequence parameter set, and where it is not understood.
    func pictureSize(_ unit: [UInt8]) -> (width: Int, height: Int)? {
        switch self {
        case .h264: H264SequenceParameterSet(unit.span.bytes).map { ($0.width, $0.height) }
        case .h265: H265SequenceParameterSet(unit.span.bytes).map { ($0.width, $0.height) }
        }
    }

    func isParameterSet(_ unit: [UInt8]) -> Bool { kind(unit) != nil }

    /// Nil for what is no parameter set, and for ids beyond what the codec knows.
    func parameterSet(_ unit: [UInt8]) -> (kind: ParameterSets.Kind, id: Int)? {
        guard let kind = kind(unit), let id = id(unit, kind) else { return nil }
        return (kind, id)
    }

    private func kind(_ unit: [UInt8]) -> ParameterSets.Kind? {
        guard let header = unit.first else { return nil }
        switch self {
        case .h264:
            let type = H264NALType(header: header)
            return type == .sequenceParameterSet ? .sequence : type == .pictureParameterSet ? .picture : nil
        case .h265:
            switch H265NALType(header: header) {
            case .videoParameterSet: return .video
            case .sequenceParameterSet: return .sequence
            case .pictureParameterSet: return .picture
            case _: return nil
            }
        }
    }

    private func id(_ unit: [UInt8], _ kind: ParameterSets.Kind) -> Int? {
        switch (self, kind) {
        // H.264 §7.3.2.1.1: profile, constraints and level, then the id; §7.4.2.1.1: 31 is the highest.
        case (.h264, .sequence): Self.exponentialGolomb(unit, at: 4, below: 32)
        // §7.3.2.2: the id comes first; §7.4.2.2: 255 is the highest.
        case (.h264, .picture): Self.exponentialGolomb(unit, at: 1, below: 256)
        case (.h264, .video): nil
        // H.265 §7.3.2.1: four bits.
        case (.h265, .video): unit.count > 2 ? Int(unit[2] >> 4) : nil
        case (.h265, .sequence): H265SequenceParameterSet(unit.span.bytes)?.id
        // §7.3.2.3.1: the id comes first; §7.4.3.3.1: 63 is the highest.
        case (.h265, .picture): Self.exponentialGolomb(unit, at: 2, below: 64)
        }
    }

    /// ue(v) of H.264 §9.1 (H.265 §9.2); nil when it is cut off or not below the limit, which has nine bits at most.
    private static func exponentialGolomb(_ unit: [UInt8], at byte: Int, below limit: Int) -> Int? {
        func bit(_ index: Int) -> Int? {
            let place = byte + index / 8
            return unit.indices.contains(place) ? Int(unit[place] >> (7 - index % 8)) & 1 : nil
        }
        var zeros = 0
        while bit(zeros) == 0, zeros < 16 { zeros += 1 }
        var value = 0
        for index in zeros...2 * zeros {
            guard let next = bit(index) else { return nil }
            value = value << 1 | next
        }
        return value - 1 < limit ? value - 1 : nil
    }
}

/// What a file's header says of pictures in NAL units.
enum NALConfiguration: Sendable, Equatable {
    case avc(AVCConfiguration)
    case hevc(HEVCConfiguration)

    /// ISO/IEC 14496-15 §5.4.2.1, §8.4.1.1: whether all parameter sets are in the header, or some in the samples.
    func entryType(isComplete: Bool) -> BoxType {
        switch self {
        case .avc: isComplete ? "avc1" : "avc3"
        case .hevc: isComplete ? "hvc1" : "hev1"
        }
    }

    var recordType: BoxType {
        switch self {
        case .avc: "avcC"
        case .hevc: "hvcC"
        }
    }

    func record(isComplete: Bool) -> [UInt8] {
        var record: [UInt8] = []
        switch self {
        case .avc(let configuration): configuration.write(into: &record)
        case .hevc(let configuration): configuration.write(into: &record, isComplete: isComplete)
        }
        return record
    }
}
