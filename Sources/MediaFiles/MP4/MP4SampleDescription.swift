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
        case .opus: .opus
        }
    }

    /// Nil when it is broken or of another codec.
    init?(_ type: BoxType, _ entry: RawSpan) {
        switch type {
        case "avc1", "avc3":
            // ISO/IEC 14496-12 §12.1.3: 78 bytes of a visual sample entry, then boxes.
            guard entry.byteCount >= 78, let width = entry.uint16(at: 24), let height = entry.uint16(at: 26),
                let record = MP4BoxReader.first("avcC", in: 78..<entry.byteCount, of: entry),
                let configuration = AVCConfiguration(entry.extracting(record))
            else { return nil }
            codec = .h264(configuration)
            self.width = Int(width)
            self.height = Int(height)
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

    func checkSuitable() throws(MediaFileError) {
        guard case .h264(let configuration) = codec else { return }
        for unit in configuration.sequenceParameterSets {
            // H.264 §A.2: Baseline, Main and High have eight bits of 4:2:0; every receiver decodes them or says so.
            guard let profile = H264SequenceParameterSet(unit.span.bytes)?.profile, ![66, 77, 100].contains(profile)
            else { continue }
            throw .unsuitable(
                .mp4,
                detail: "its H.264 profile (\(profile)) is not one that calls use; encode it as Baseline, Main or "
                    + "High, as with ffmpeg's -profile:v baseline")
        }
    }

    /// A sample as an encoded frame; nil when it does not parse.
    func frame(of sample: RawSpan) -> (payload: [UInt8], isKeyFrame: Bool)? {
        switch codec {
        case .opus: return (sample.withUnsafeBytes { [UInt8]($0) }, true)
        case .h264(let configuration):
            var frame: [UInt8] = []
            frame.reserveCapacity(sample.byteCount + 128)
            guard AnnexB.append(avcc: sample, lengthSize: configuration.lengthSize, to: &frame) else { return nil }
            return withParameterSets(frame, configuration)
        }
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
