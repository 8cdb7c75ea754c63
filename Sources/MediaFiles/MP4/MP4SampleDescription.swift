import RTCWire

/// The first entry of a sample description (`stsd`) that we can use.
struct MP4SampleDescription {
    private enum Codec {
        case h264(AVCConfiguration)
        case opus
    }

    private let codec: Codec
    var width = 0
    var height = 0
    var channels = 0
    var preSkip = 0

    var format: PayloadFormat {
        switch codec {
        case .h264: .h264
        case .opus: .opus
        }
    }

    /// - Parameter content: Of the `stsd` box (ISO/IEC 14496-12 §8.5.2). Nil when it is broken or of another codec.
    init?(_ content: RawSpan) {
        // Version, flags and the count of entries.
        var boxes = MP4BoxReader(min(8, content.byteCount)..<content.byteCount)
        while let box = boxes.next(content) {
            let entry = content.extracting(box.content)
            switch box.type {
            case "avc1", "avc3":
                // ISO/IEC 14496-12 §12.1.3: 78 bytes of a visual sample entry, then boxes.
                guard entry.byteCount >= 78, let width = entry.uint16(at: 24), let height = entry.uint16(at: 26),
                    let record = MP4BoxReader.first("avcC", in: 78..<entry.byteCount, of: entry),
                    let configuration = AVCConfiguration(entry.extracting(record))
                else { return nil }
                codec = .h264(configuration)
                self.width = Int(width)
                self.height = Int(height)
                return
            case "Opus":
                // §12.2.3: 28 bytes of an audio sample entry; then Opus in ISO BMFF §4.3.2.
                guard entry.byteCount >= 28, let box = MP4BoxReader.first("dOps", in: 28..<entry.byteCount, of: entry),
                    let channels = entry.byte(at: box.lowerBound + 1), let skip = entry.uint16(at: box.lowerBound + 2),
                    box.count >= 11
                else { return nil }
                codec = .opus
                self.channels = Int(channels)
                preSkip = Int(skip)
                return
            default: continue
            }
        }
        return nil
    }

    /// A sample as an encoded frame; nil when it does not parse.
    func payload(of sample: RawSpan, isKeyFrame: Bool) -> [UInt8]? {
        switch codec {
        case .opus: return sample.withUnsafeBytes { [UInt8]($0) }
        case .h264(let configuration):
            var frame: [UInt8] = []
            frame.reserveCapacity(sample.byteCount + 128)
            guard AnnexB.append(avcc: sample, lengthSize: configuration.lengthSize, to: &frame) else { return nil }
            guard isKeyFrame else { return frame }
            // The parameter sets that the file holds in its header go before a key frame, so that a decoder can begin
            // there; unless the frame brings its own. H.264 §7.4.1.2.3: a delimiter stays the first unit.
            var units = AnnexBReader(frame.span.bytes)
            var insertion = 0
            while let range = units.next() {
                switch H264NALType(header: frame[range.lowerBound]) {
                case .sequenceParameterSet: return frame
                case .accessUnitDelimiter: insertion = range.upperBound
                default: continue
                }
            }
            frame.insert(contentsOf: configuration.annexB, at: insertion)
            return frame
        }
    }
}
