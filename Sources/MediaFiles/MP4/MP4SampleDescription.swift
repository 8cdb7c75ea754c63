import RTCWire

/// The entries of a track's sample description box that we can use.
struct MP4SampleDescriptions {
    private let entries: [MP4SampleDescription?]
    private let main: MP4SampleDescription

    /// - Parameter content: Of the `stsd` box (ISO/IEC 14496-12 §8.5.2). Nil when no entry is whole and of our codecs.
    init?(_ content: RawSpan) {
        // Version, flags and the count of entries.
        var boxes = MP4BoxReader(min(8, content.byteCount)..<content.byteCount)
        var entries: [MP4SampleDescription?] = []
        while entries.count < 256, let box = boxes.next(content) {
            entries.append(MP4SampleDescription(box.type, content.extracting(box.content)))
        }
        guard let main = entries.lazy.compactMap(\.self).first else { return nil }
        // A track that changes between codecs has no use for us.
        self.entries = entries.map { $0?.format == main.format ? $0 : nil }
        self.main = main
    }

    var format: PayloadFormat { main.format }
    var size: (width: Int, height: Int) { (main.width, main.height) }
    var sound: (channels: Int, preSkip: Int) { (main.channels, main.preSkip) }

    /// What a sample refers to, from 1; the first usable one for those that refer to nothing.
    subscript(number: UInt32) -> MP4SampleDescription {
        let index = Int(number) - 1
        return entries.indices.contains(index) ? entries[index] ?? main : main
    }

    /// - Throws: `unsuitable` for a codec profile that receivers of calls do not decode.
    func checkSuitable() throws(MediaFileError) {
        for case .some(let entry) in entries { try entry.checkSuitable() }
    }
}

/// One entry of a sample description.
struct MP4SampleDescription {
    private enum Codec {
        case h264(AVCConfiguration)
        case h265(HEVCConfiguration)
        case opus
    }

    private let codec: Codec
    private(set) var width = 0
    private(set) var height = 0
    private(set) var channels = 0
    private(set) var preSkip = 0

    var format: PayloadFormat {
        switch codec {
        case .h264: .h264
        case .h265: .h265
        case .opus: .opus
        }
    }

    /// Nil when it is broken or of another codec.
    init?(_ type: BoxType, _ entry: RawSpan) {
        switch type {
        case "avc1", "avc3":
            guard let picture = Self.picture("avcC", entry),
                let configuration = AVCConfiguration(entry.extracting(picture.record))
            else { return nil }
            codec = .h264(configuration)
            (width, height) = (picture.width, picture.height)
        case "hvc1", "hev1":
            guard let picture = Self.picture("hvcC", entry),
                let configuration = HEVCConfiguration(entry.extracting(picture.record))
            else { return nil }
            codec = .h265(configuration)
            (width, height) = (picture.width, picture.height)
        case "Opus":
            // §12.2.3: 28 bytes of an audio sample entry; then Opus in ISO BMFF §4.3.2. RFC 7587 sends mono or stereo:
            // mapping family 0.
            guard entry.byteCount >= 28, let box = MP4BoxReader.first("dOps", in: 28..<entry.byteCount, of: entry),
                let channels = entry.byte(at: box.lowerBound + 1), let skip = entry.uint16(at: box.lowerBound + 2),
                box.count >= 11, entry.byte(at: box.lowerBound + 10) == 0, (1...2).contains(channels)
            else { return nil }
            codec = .opus
            self.channels = Int(channels)
            preSkip = Int(skip)
        default: return nil
        }
    }

    /// ISO/IEC 14496-12 §12.1.3: 78 bytes of a visual sample entry, then boxes; where its record of this type is.
    private static func picture(_ type: BoxType, _ entry: RawSpan) -> (width: Int, height: Int, record: Range<Int>)? {
        guard entry.byteCount >= 78, let width = entry.uint16(at: 24), let height = entry.uint16(at: 26),
            let record = MP4BoxReader.first(type, in: 78..<entry.byteCount, of: entry)
        else { return nil }
        return (Int(width), Int(height), record)
    }

    func checkSuitable() throws(MediaFileError) {
        switch codec {
        case .h264(let configuration):
            for unit in configuration.sequenceParameterSets {
                // H.264 §A.2: Baseline, Main and High have eight bits of 4:2:0; every receiver decodes them or says so.
                guard let profile = H264SequenceParameterSet(unit.span.bytes)?.profile,
                    ![66, 77, 100].contains(profile)
                else { continue }
                throw Self.unsuitable("H.264", profile, "Baseline, Main or High", "baseline")
            }
        case .h265(let configuration):
            for unit in configuration.sequenceParameterSets {
                // H.265 §A.3.2: Main is what we negotiate (RFC 7798 §7.1: `profile-id` 1).
                guard let profile = H265SequenceParameterSet(unit.span.bytes)?.profile, profile != 1 else { continue }
                throw Self.unsuitable("H.265", profile, "Main", "main")
            }
        case .opus: return
        }
    }

    private static func unsuitable(_ codec: String, _ profile: UInt8, _ good: String, _ option: String)
        -> MediaFileError
    {
        .unsuitable(
            .mp4,
            detail: "its \(codec) profile (\(profile)) is not one that calls use; encode it as \(good), as with "
                + "ffmpeg's -profile:v \(option)")
    }

    /// A sample as an encoded frame; nil when it does not parse.
    func frame(of sample: RawSpan) -> (payload: [UInt8], isKeyFrame: Bool)? {
        switch codec {
        case .opus: (sample.withUnsafeBytes { [UInt8]($0) }, true)
        case .h264(let configuration):
            Self.annexB(sample, lengthSize: configuration.lengthSize).map { withParameterSets($0, configuration) }
        case .h265(let configuration):
            Self.annexB(sample, lengthSize: configuration.lengthSize).map { withParameterSets($0, configuration) }
        }
    }

    private static func annexB(_ sample: RawSpan, lengthSize: Int) -> [UInt8]? {
        var frame: [UInt8] = []
        frame.reserveCapacity(sample.byteCount + 128)
        return AnnexB.append(avcc: sample, lengthSize: lengthSize, to: &frame) ? frame : nil
    }

    /// The parameter sets that the file holds in its header go before a key frame, so that a decoder can begin there;
    /// unless the frame brings its own. Tables of sync samples are not asked: files flag pictures at which only a
    /// decoder that has seen those before can go on.
    private func withParameterSets(
        _ frame: [UInt8], _ configuration: AVCConfiguration
    ) -> (payload: [UInt8], isKeyFrame: Bool) {
        var units = AnnexBReader(frame.span.bytes)
        var isKeyFrame = false
        var (hasSequence, hasPicture) = (false, false)
        // H.264 §7.4.1.2.3: a delimiter stays the first unit; a picture's parameters come behind the sequence's.
        var insertion = 0
        while let range = units.next() {
            switch H264NALType(header: frame[range.lowerBound]) {
            case .idrSlice: isKeyFrame = true
            case .sequenceParameterSet:
                hasSequence = true
                insertion = range.upperBound
            case .pictureParameterSet: hasPicture = true
            case .accessUnitDelimiter: insertion = range.upperBound
            default: continue
            }
        }
        guard isKeyFrame, !hasSequence || !hasPicture else { return (frame, isKeyFrame) }
        let missing = AVCConfiguration(
            sequenceParameterSets: hasSequence ? [] : configuration.sequenceParameterSets,
            pictureParameterSets: hasPicture ? [] : configuration.pictureParameterSets)
        var whole = frame
        whole.insert(contentsOf: missing.annexB, at: insertion)
        return (whole, true)
    }

    /// Likewise. A set refers to one of the kind before it, and a decoder looks for that when it reads it: where a
    /// frame brings some kinds, the header's others take their places among them.
    private func withParameterSets(
        _ frame: [UInt8], _ configuration: HEVCConfiguration
    ) -> (payload: [UInt8], isKeyFrame: Bool) {
        var units = AnnexBReader(frame.span.bytes)
        var isKeyFrame = false
        var sets = HEVCConfiguration(
            videoParameterSets: [], sequenceParameterSets: [], pictureParameterSets: [])
        // H.265 §7.4.2.4.4: a delimiter stays the first unit.
        var (delimiter, rest): ([UInt8], [UInt8]) = ([], [])
        while let range = units.next() {
            let unit = Array(frame[range])
            let type = H265NALType(header: unit[0])
            switch type {
            case .videoParameterSet: sets.videoParameterSets.append(unit)
            case .sequenceParameterSet: sets.sequenceParameterSets.append(unit)
            case .pictureParameterSet: sets.pictureParameterSets.append(unit)
            case .accessUnitDelimiter: AnnexB.append(unit.span.bytes, to: &delimiter)
            case _: AnnexB.append(unit.span.bytes, to: &rest)
            }
            if type.isRandomAccess { isKeyFrame = true }
        }
        let isWhole =
            !sets.videoParameterSets.isEmpty && !sets.sequenceParameterSets.isEmpty
            && !sets.pictureParameterSets.isEmpty
        guard isKeyFrame, !isWhole else { return (frame, isKeyFrame) }
        if sets.videoParameterSets.isEmpty { sets.videoParameterSets = configuration.videoParameterSets }
        if sets.sequenceParameterSets.isEmpty { sets.sequenceParameterSets = configuration.sequenceParameterSets }
        if sets.pictureParameterSets.isEmpty { sets.pictureParameterSets = configuration.pictureParameterSets }
        return (delimiter + sets.annexB + rest, true)
    }
}

extension BoxType {
    /// What people call the codec of a sample entry of this type; where they have no other name for it, its letters.
    var codecName: String {
        switch self {
        case "mp4a": return "AAC"
        case "hvc1", "hev1": return "H.265"
        case "av01": return "AV1"
        case "vp08": return "VP8"
        case "vp09": return "VP9"
        case "mp4v": return "MPEG-4 video"
        case "ac-3": return "AC-3"
        case "ec-3": return "E-AC-3"
        case ".mp3": return "MP3"
        case "fLaC": return "FLAC"
        default:
            let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
            return String(decoding: letters.map { (0x20...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
        }
    }
}
