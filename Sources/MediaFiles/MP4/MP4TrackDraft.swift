import RTCWire

/// What all tracks of a file may claim together: samples that overlap, or that take no room in the file's tables, could
/// otherwise make a small file fill the memory.
struct MP4SampleBudget {
    let fileSize: Int
    private var bytesLeft: Int
    private var samplesLeft = MediaFile.maximumFrames

    init(fileSize: Int) {
        self.fileSize = fileSize
        bytesLeft = fileSize
    }

    mutating func take(_ range: Range<Int>) throws(MediaFileError) {
        bytesLeft -= range.count
        guard range.lowerBound >= 0, range.upperBound <= fileSize, bytesLeft >= 0 else {
            throw .malformed(.mp4, detail: "its sample table points outside the file")
        }
        samplesLeft -= 1
        guard samplesLeft >= 0 else { throw .tooManyFrames(.mp4) }
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
        /// Which sample description it refers to, from 1.
        var description: UInt32
    }

    let id: UInt32
    let timescale: UInt32
    let descriptions: MP4SampleDescriptions
    /// How pictures are turned.
    var orientation: VideoOrientation?
    var edits = MP4EditList()
    private(set) var samples: [Sample] = []
    /// Where the last sample ends in time.
    private(set) var endTime: Int64 = 0

    init(id: UInt32, timescale: UInt32, descriptions: MP4SampleDescriptions) {
        self.id = id
        self.timescale = timescale
        self.descriptions = descriptions
    }

    mutating func append(_ sample: Sample, _ budget: inout MP4SampleBudget) throws(MediaFileError) {
        endTime = sample.decodeTime + sample.duration
        guard (0..<MediaClock.limit).contains(sample.decodeTime), (0..<MediaClock.limit).contains(endTime) else {
            throw .malformed(.mp4, detail: "a sample's time is out of range")
        }
        try budget.take(sample.range)
        guard !sample.range.isEmpty else { return }
        samples.append(sample)
    }

    /// When its first sample is presented, in seconds of the movie.
    var start: Double {
        guard let first = samples.first else { return 0 }
        let time = Double(first.decodeTime) + Double(first.presentationOffset) - Double(edits.mediaTime)
        return edits.delay + time / Double(timescale)
    }

    /// Copies the samples out of the file, as frames with times in the format's RTP clock.
    /// - Parameter movieStart: What is time zero: no later than `start`.
    func makeTrack(_ file: RawSpan, movieStart: Double) throws(MediaFileError) -> MediaTrack {
        try descriptions.checkSuitable()
        try checkOrder()
        let clock = Int64(descriptions.format.clockRate)
        let first = samples.first?.decodeTime ?? 0
        let lead = ((start - movieStart) * Double(clock)).rounded()
        guard (0..<Double(MediaClock.limit)).contains(lead) else {
            throw .malformed(.mp4, detail: "a track's beginning is out of range")
        }
        var track = MediaTrack(format: descriptions.format, frames: [])
        (track.width, track.height) = descriptions.size
        (track.channels, track.preSkip) = descriptions.sound
        if descriptions.format.isVideo { track.orientation = orientation }
        track.frames.reserveCapacity(samples.count)
        for sample in samples {
            guard sample.decodeTime >= first,
                let time = MediaClock.scale(sample.decodeTime - first, by: clock, over: Int64(timescale)),
                let end = MediaClock.scale(
                    sample.decodeTime - first + sample.duration, by: clock, over: Int64(timescale)),
                let frame = descriptions[sample.description].frame(of: file.extracting(sample.range))
            else { throw .malformed(.mp4, detail: "a sample does not parse") }
            guard !frame.payload.isEmpty else { continue }
            track.frames.append(
                MediaTrack.Frame(
                    payload: frame.payload, decodeTime: max(Int64(lead) + time, track.frames.last?.decodeTime ?? 0),
                    duration: max(0, end - time), isKeyFrame: frame.isKeyFrame))
        }
        track.closeGaps()
        return track
    }

    /// RTP receivers show pictures as they come, so they have to be in the order in which they are shown. Composition
    /// offsets that do not change that (an edit list takes them back) say nothing to a receiver, and are left out.
    private func checkOrder() throws(MediaFileError) {
        guard descriptions.format.isVideo else { return }
        var latest = Int64.min
        for sample in samples {
            let shown = sample.decodeTime + sample.presentationOffset
            guard shown >= latest else {
                throw .unsuitable(
                    .mp4,
                    detail: "its pictures are not stored in the order in which they are shown (B-frames); "
                        + "encode it without them, as with ffmpeg's -bf 0")
            }
            latest = shown
        }
    }
}
