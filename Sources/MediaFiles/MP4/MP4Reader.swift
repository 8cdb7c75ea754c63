import RTCWire

/// Reads H.264 and Opus from MP4 (ISO/IEC 14496-12, 14496-15, "Encapsulation of Opus in ISO Base Media"): the whole
/// sample table, wherever `moov` lies, and movie fragments, which our own recordings consist of.
///
/// Edit lists are not applied: a track begins with its first sample, at time zero.
public enum MP4Reader {
    /// - Returns: The first usable video track and the first usable audio track, video first; never empty.
    public static func read(_ bytes: [UInt8]) throws(MediaFileError) -> [MediaTrack] {
        let file = bytes.span.bytes
        guard let movie = MP4BoxReader.first("moov", in: 0..<file.byteCount, of: file) else {
            throw .malformed(.mp4, detail: "it has no moov box")
        }
        var drafts = try trackDrafts(movie, file)
        try MP4Fragments.read(file, movie: movie, into: &drafts)
        var tracks: [MediaTrack] = []
        for kind in [true, false] {
            for draft in drafts where draft.description.format.isVideo == kind && !draft.samples.isEmpty {
                tracks.append(try draft.makeTrack(file))
                break
            }
        }
        guard !tracks.isEmpty else { throw .noUsableTrack(.mp4) }
        return tracks
    }

    private static func trackDrafts(_ movie: Range<Int>, _ file: RawSpan) throws(MediaFileError) -> [MP4TrackDraft] {
        var drafts: [MP4TrackDraft] = []
        var boxes = MP4BoxReader(movie)
        while let box = boxes.next(file) {
            guard box.type == "trak", let draft = try trackDraft(box.content, file) else { continue }
            drafts.append(draft)
        }
        return drafts
    }

    /// Nil for a track of another kind or codec.
    private static func trackDraft(_ track: Range<Int>, _ file: RawSpan) throws(MediaFileError) -> MP4TrackDraft? {
        guard let header = MP4BoxReader.first("tkhd", in: track, of: file),
            let media = MP4BoxReader.first("mdia", in: track, of: file),
            let clock = MP4BoxReader.first("mdhd", in: media, of: file),
            let table = MP4BoxReader.first(path: ["minf", "stbl"], in: media, of: file),
            let description = MP4BoxReader.first("stsd", in: table, of: file).flatMap({
                MP4SampleDescription(file.extracting($0))
            })
        else { return nil }
        // The full box's version decides how wide the two dates before these fields are.
        let idOffset = file.byte(at: header.lowerBound) == 1 ? 20 : 12
        let scaleOffset = file.byte(at: clock.lowerBound) == 1 ? 20 : 12
        guard let id = file.extracting(header).uint32(at: idOffset),
            let timescale = file.extracting(clock).uint32(at: scaleOffset), timescale > 0
        else { throw .malformed(.mp4, detail: "a track's header is cut off") }
        var draft = MP4TrackDraft(id: id, timescale: timescale, description: description)
        try MP4SampleTable.read(table, file, into: &draft)
        return draft
    }
}

/// A track while its samples are being collected.
struct MP4TrackDraft {
    struct Sample {
        var range: Range<Int>
        /// In the track's timescale.
        var decodeTime: Int64
        var presentationOffset: Int64
        var duration: Int64
        var isKeyFrame: Bool
    }

    let id: UInt32
    let timescale: UInt32
    let description: MP4SampleDescription
    private(set) var samples: [Sample] = []
    /// Where the last sample ends in time.
    private(set) var endTime: Int64 = 0
    private var byteCount = 0

    init(id: UInt32, timescale: UInt32, description: MP4SampleDescription) {
        self.id = id
        self.timescale = timescale
        self.description = description
    }

    /// Adds a sample, unless the tables claim more than the file can hold: samples that overlap could otherwise make a
    /// small file fill the memory.
    mutating func append(_ sample: Sample, fileSize: Int) throws(MediaFileError) {
        byteCount += sample.range.count
        endTime = sample.decodeTime + sample.duration
        guard sample.range.lowerBound >= 0, sample.range.upperBound <= fileSize, byteCount <= fileSize,
            samples.count < fileSize, (0..<MediaClock.limit).contains(sample.decodeTime),
            (0..<MediaClock.limit).contains(endTime)
        else { throw .malformed(.mp4, detail: "its sample table points outside the file") }
        guard !sample.range.isEmpty else { return }
        samples.append(sample)
    }

    /// Copies the samples out of the file, as frames with times in the format's RTP clock.
    func makeTrack(_ file: RawSpan) throws(MediaFileError) -> MediaTrack {
        let format = description.format
        let clock = Int64(format.clockRate)
        let first = samples.first?.decodeTime ?? 0
        var track = MediaTrack(format: format, frames: [])
        track.width = description.width
        track.height = description.height
        track.channels = description.channels
        track.preSkip = description.preSkip
        track.frames.reserveCapacity(samples.count)
        for sample in samples {
            guard sample.decodeTime >= first,
                let time = MediaClock.scale(sample.decodeTime - first, by: clock, over: Int64(timescale)),
                let duration = MediaClock.scale(sample.duration, by: clock, over: Int64(timescale)),
                let offset = MediaClock.scale(abs(sample.presentationOffset), by: clock, over: Int64(timescale)),
                let payload = description.payload(of: file.extracting(sample.range), isKeyFrame: sample.isKeyFrame)
            else { throw .malformed(.mp4, detail: "a sample does not parse") }
            guard !payload.isEmpty else { continue }
            track.frames.append(
                MediaTrack.Frame(
                    payload: payload, decodeTime: max(time, track.frames.last?.decodeTime ?? 0),
                    presentationOffset: sample.presentationOffset < 0 ? -offset : offset, duration: duration,
                    isKeyFrame: sample.isKeyFrame))
        }
        track.closeGaps()
        return track
    }
}
