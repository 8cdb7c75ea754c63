import RTCEngine
import RTCWire

/// Writes H.264 or H.265, and Opus, as fragmented MP4 (ISO/IEC 14496-12 §8.8): a header without samples, then about a
/// second at a time, each with its own table.
///
/// Fragmented, not progressive: a progressive file is unreadable until the table at its end is written, so a recorder
/// that is killed would leave nothing; this one leaves a file that plays up to its last fragment, and needs no memory
/// that grows with the call.
///
/// The header holds the first key frame's parameter sets, and the samples none: `avc1` and `hvc1`, which everything
/// plays. A sender that changes one of them in mid-call, as browsers do with the picture's size, makes it `avc3` or
/// `hev1` (ISO/IEC 14496-15 §5.3.2, §8.3.2): from there on each key frame brings all that are in force, as a decoder
/// forgets those that refer to a changed one.
struct MP4Writer: ContainerWriter {
    private static let videoTrack: UInt32 = 1
    private static let audioTrack: UInt32 = 2
    /// The movie's own clock, in which only the total duration is told.
    private static let movieTimescale: UInt32 = 1_000
    /// A box of this size is kept free for `mehd`, the duration, which is known at the end.
    private static let durationBoxSize = 20

    private let configuration: NALConfiguration?
    /// What a decoder of the file holds after the last sample.
    private var parameterSets: ParameterSets
    /// Whether a parameter set has changed since the header was written.
    private var hasChangedSets = false
    /// Where the video's sample entry begins.
    private var videoEntryOffset = 0
    private let width: UInt16
    private let height: UInt16
    private let hasAudio: Bool
    private var sequence: UInt32 = 0
    /// Where the samples that were written end, in each track's ticks.
    private var videoEnd: Int64 = 0
    private var audioEnd: Int64 = 0
    private var durationOffset = 0

    /// - Parameters:
    ///   - codec: of the pictures.
    ///   - firstKeyFrame: Annex B with its parameter sets; nil for sound alone.
    /// - Returns: nil when the key frame lacks parameter sets: nothing could decode it.
    init?(codec: NALCodec, firstKeyFrame: [UInt8]?, hasAudio: Bool) {
        self.hasAudio = hasAudio
        parameterSets = ParameterSets(codec)
        guard let firstKeyFrame else {
            (configuration, width, height) = (nil, 0, 0)
            return
        }
        parameterSets.receive(frame: firstKeyFrame)
        guard let configuration = parameterSets.configuration, let first = parameterSets.first,
            let size = codec.pictureSize(first)
        else { return nil }
        self.configuration = configuration
        width = UInt16(clamping: size.width)
        height = UInt16(clamping: size.height)
    }

    mutating func begin() -> [FileChange] {
        var writer = MP4BoxWriter()
        writer.box("ftyp") {
            $0.append("isom")
            $0.append(uint32: 512)
            for brand: BoxType in ["isom", "iso5", "iso6", "mp41"] { $0.append(brand) }
        }
        var durationOffset = 0
        var videoEntryOffset = 0
        writer.box("moov") { movie in
            movie.fullBox("mvhd") {
                $0.appendZeros(8)  // dates
                $0.append(uint32: Self.movieTimescale)
                $0.append(uint32: 0)  // duration: in the fragments
                $0.append(uint32: 0x1_0000)  // rate 1.0
                $0.append(uint16: 0x100)  // volume 1.0
                $0.appendZeros(10)
                Self.appendUnityMatrix(to: &$0)
                $0.appendZeros(24)
                $0.append(uint32: Self.audioTrack + 1)
            }
            if let configuration {
                Self.appendTrack(Self.videoTrack, .video, size: (width, height), to: &movie) { [width, height] in
                    videoEntryOffset = $0.bytes.count
                    Self.appendVideoEntry(configuration, isComplete: true, width, height, to: &$0)
                }
            }
            if hasAudio {
                Self.appendTrack(
                    Self.audioTrack, .audio, size: (0, 0), to: &movie, entry: Self.appendAudioEntry)
            }
            movie.box("mvex") { extends in
                durationOffset = extends.bytes.count
                extends.box("free") { $0.appendZeros(Self.durationBoxSize - 8) }
                if configuration != nil { Self.appendExtends(Self.videoTrack, to: &extends) }
                if hasAudio { Self.appendExtends(Self.audioTrack, to: &extends) }
            }
        }
        self.durationOffset = durationOffset
        self.videoEntryOffset = videoEntryOffset
        return [.append(writer.bytes)]
    }

    mutating func write(_ samples: [RecordedSample]) -> [FileChange] {
        let video = Self.placed(samples.filter { $0.kind == .video }, after: &videoEnd)
        let audio = Self.placed(samples.filter { $0.kind == .audio }, after: &audioEnd)
        let hadChangedSets = hasChangedSets
        let videoData = video.map { sample($0.payload, isKeyFrame: $0.isKeyFrame) }
        let audioData = audio.map { $0.payload }
        sequence += 1

        var writer = MP4BoxWriter()
        var videoOffsetField = 0
        var audioOffsetField = 0
        writer.box("moof") { fragment in
            fragment.fullBox("mfhd") { $0.append(uint32: sequence) }
            if !video.isEmpty {
                videoOffsetField = Self.appendRun(
                    Self.videoTrack, video, sizes: videoData.map(\.count), to: &fragment)
            }
            if !audio.isEmpty {
                audioOffsetField = Self.appendRun(
                    Self.audioTrack, audio, sizes: audioData.map(\.count), to: &fragment)
            }
        }
        // §8.8.8: data offsets count from the start of the fragment; the video comes first in `mdat`.
        let dataStart = writer.bytes.count + 8
        let videoSize = videoData.reduce(0) { $0 + $1.count }
        if !video.isEmpty {
            writer.set(uint32: UInt32(truncatingIfNeeded: dataStart), at: videoOffsetField)
        }
        if !audio.isEmpty {
            writer.set(uint32: UInt32(truncatingIfNeeded: dataStart + videoSize), at: audioOffsetField)
        }
        writer.box("mdat") {
            for data in videoData + audioData { $0.append(data) }
        }
        guard hasChangedSets, !hadChangedSets, let configuration else { return [.append(writer.bytes)] }
        var entry = MP4BoxWriter()
        Self.appendVideoEntry(configuration, isComplete: false, width, height, to: &entry)
        // Decoders go by what is in the samples whichever it says; so a crash between the two does no harm.
        return [.append(writer.bytes), .overwrite(entry.bytes, offset: videoEntryOffset)]
    }

    mutating func finish(duration: Interval) -> [FileChange] {
        var writer = MP4BoxWriter()
        // §8.8.2. Until now the box was called `free`, as a duration of zero would be believed.
        writer.fullBox("mehd", version: 1) { $0.append(uint64: UInt64(clamping: duration.nanoseconds / 1_000_000)) }
        return [.overwrite(writer.bytes, offset: durationOffset)]
    }

    /// §8.8.12: no fragment begins before the samples of those before it end. How long a picture stands may have been
    /// told before the next ones came, late: those are passed through where it ends, a tick each.
    private static func placed(_ samples: [RecordedSample], after end: inout Int64) -> [RecordedSample] {
        samples.map { sample in
            var placed = sample
            placed.time = max(sample.time, end)
            placed.duration = max(1, sample.time + sample.duration - placed.time)
            end = placed.time + placed.duration
            return placed
        }
    }

    /// Length fields for start codes. Parameter sets that the header has are left out (ISO/IEC 14496-15 §5.3.2); once
    /// one has changed they stay in the samples.
    private mutating func sample(_ frame: [UInt8], isKeyFrame: Bool) -> [UInt8] {
        if parameterSets.receive(frame: frame) { hasChangedSets = true }
        var sample: [UInt8] = []
        sample.reserveCapacity(frame.count)
        // H.264 §7.4.1.2.3, H.265 §7.4.2.4.4: a delimiter is first, parameter sets come before the picture.
        var isSetsDue = hasChangedSets && isKeyFrame
        var units = AnnexBReader(frame.span.bytes)
        while let range = units.next() {
            let unit = Array(frame[range])
            if isSetsDue, !parameterSets.codec.isDelimiter(unit) {
                for set in parameterSets.units { Self.append(set, to: &sample) }
                isSetsDue = false
            }
            if !hasChangedSets || isKeyFrame, parameterSets.holdsOne(like: unit) { continue }
            Self.append(unit, to: &sample)
        }
        return sample
    }

    private static func append(_ unit: [UInt8], to sample: inout [UInt8]) {
        sample.append(uint32: UInt32(truncatingIfNeeded: unit.count))
        sample += unit
    }

    /// One track's part of a fragment.
    /// - Returns: Where the data offset is to be written.
    private static func appendRun(
        _ track: UInt32, _ samples: [RecordedSample], sizes: [Int], to writer: inout MP4BoxWriter
    ) -> Int {
        var offsetField = 0
        writer.box("traf") { fragment in
            fragment.fullBox("tfhd", flags: 0x2_0000) { $0.append(uint32: track) }  // default-base-is-moof
            fragment.fullBox("tfdt", version: 1) { $0.append(uint64: UInt64(clamping: samples.first?.time ?? 0)) }
            // §8.8.8: data offset, and for each sample its duration, size and flags.
            fragment.fullBox("trun", flags: 0x701) {
                $0.append(uint32: UInt32(truncatingIfNeeded: samples.count))
                offsetField = $0.bytes.count
                $0.append(uint32: 0)
                for (sample, size) in zip(samples, sizes) {
                    $0.append(uint32: UInt32(clamping: sample.duration))
                    $0.append(uint32: UInt32(truncatingIfNeeded: size))
                    // §8.8.3.1: depends on no other, or depends on others and is no sync sample.
                    $0.append(uint32: sample.isKeyFrame ? 0x0200_0000 : 0x0101_0000)
                }
            }
        }
        return offsetField
    }
}
