public import RTCEngine
public import RTCWire

/// Puts the frames of a call into a file: up to one video and one audio track. H.264 and H.265 go into MP4, VP8 into
/// WebM, each with the sound; VP9 and AV1 alone into IVF; sound alone into Ogg, or WAV for G.711. A value without I/O:
/// drain `pollOutput()` after each call and apply it.
///
/// Picture and sound are placed by the arrival of their first frames and by RTP timestamps after that. Video begins
/// with its first key frame. Nothing that was written needs another write to be readable, so a recorder that is killed
/// leaves a file that plays up to its last second.
public struct Recorder: Sendable {
    /// How much is gathered before it is written, in milliseconds; twice that while a key frame is awaited. This is
    /// what a crash can cost.
    private static let fragmentLength: Int64 = 1_000
    /// Sound that waits for the first picture, in packets (two minutes of 20 ms). Then the file is begun without video.
    private static let maximumWaiting = 6_000

    private enum Phase: Sendable {
        /// No file yet: its header needs the first key frame's parameters.
        case waiting
        case writing(any ContainerWriter)
        case finished
    }

    /// The kind of file.
    public let container: MediaContainer
    /// The pictures' format; nil for a recording of sound alone.
    public let video: PayloadFormat?
    /// The sound's format; nil for a recording without sound.
    public let audio: PayloadFormat?
    /// Frames that did not enter the file: before the first key frame, of a codec that the recording was not made for,
    /// or after the end.
    public private(set) var ignoredFrames = 0
    /// Frames that did.
    public private(set) var recordedFrames = 0
    /// Those of them that are among the changes by now, and how long these last.
    private(set) var flushed = (frames: 0, length: Interval.zero)

    private var phase = Phase.waiting
    /// Whether pictures are in the file: it was begun with one.
    private var hasPictures = false
    private var start: Instant?
    private var videoClock: TrackClock
    private var audioClock: TrackClock
    /// The newest frame of each kind: its duration is known when the next one comes. Nil once it waits no longer.
    private var heldVideo: RecordedSample?
    private var heldAudio: RecordedSample?
    private var gathered: [RecordedSample] = []
    private var length = Interval.zero
    private var changes: [FileChange] = []
    private var nextChange = 0

    /// - Parameters:
    ///   - container: Nil picks one. `ivf` is possible for VP8, VP9 and AV1 alone, `wav` for G.711 alone.
    /// - Throws: `unsupportedTracks` when there is no track, a format is of the wrong kind, or the container cannot
    ///   hold them.
    public init(
        video: PayloadFormat?, audio: PayloadFormat?, container: MediaContainer? = nil
    ) throws(MediaFileError) {
        let possible = Self.containers(video: video, audio: audio)
        guard let first = possible.first, container.map(possible.contains) ?? true else { throw .unsupportedTracks }
        self.container = container ?? first
        self.video = video
        self.audio = audio
        videoClock = TrackClock(clockRate: PayloadFormat.h264.clockRate)
        audioClock = TrackClock(clockRate: (audio ?? .opus).clockRate)
    }

    /// What can hold these tracks, the one that is picked first; empty when nothing can.
    public static func containers(video: PayloadFormat?, audio: PayloadFormat?) -> [MediaContainer] {
        switch (video, audio) {
        case (.h264, nil), (.h264, .opus), (.h265, nil), (.h265, .opus): [.mp4]
        case (.vp8, nil): [.webm, .ivf]
        case (.vp8, .opus): [.webm]
        case (nil, .opus): [.ogg, .mp4, .webm]
        case (.vp9, nil), (.av1, nil): [.ivf]
        case (nil, .pcmu), (nil, .pcma): [.wav]
        case (nil, nil), (.opus, _), (.pcmu, _), (.pcma, _): []
        // Two tracks that have no container in common here, or two of one kind.
        case (.h264, _), (.h265, _), (.vp8, _), (.vp9, _), (.av1, _), (nil, _): []
        }
    }

    /// Whether a recording of pictures can begin with this one, or one of sound alone with this packet: a key frame
    /// brings what the file's header tells, which is the picture's size, and the parameter sets of H.264 and H.265.
    /// - Throws: `unsupportedTracks` when no file holds the format.
    public static func canBegin(with frame: EncodedFrame) throws(MediaFileError) -> Bool {
        let isVideo = frame.format.isVideo
        let recorder = try Recorder(video: isVideo ? frame.format : nil, audio: isVideo ? nil : frame.format)
        guard frame.isKeyFrame, !frame.payload.isEmpty else { return false }
        return recorder.makeWriter(firstKeyFrame: isVideo ? frame.payload : nil) != nil
    }

    /// How much has been recorded.
    public var duration: Interval { length }

    /// A frame came out of a receive stream. Frames of one track arrive in order.
    public mutating func receive(_ frame: EncodedFrame, at now: Instant) {
        guard !frame.payload.isEmpty else { return ignoredFrames += 1 }
        switch (frame.format == video, frame.format == audio, phase) {
        case (_, _, .finished), (false, false, _): ignoredFrames += 1
        case (true, _, .waiting):
            guard frame.isKeyFrame, let writer = makeWriter(firstKeyFrame: frame.payload) else {
                return ignoredFrames += 1
            }
            hasPictures = true
            begin(writer)
            add(frame, .video, at: now)
        case (true, _, .writing):
            guard hasPictures else { return ignoredFrames += 1 }
            add(frame, .video, at: now)
        case (false, true, .waiting):
            add(frame, .audio, at: now)
            if video == nil || gathered.count >= Self.maximumWaiting, let writer = makeWriter(firstKeyFrame: nil) {
                begin(writer)
            }
        case (false, true, .writing): add(frame, .audio, at: now)
        }
    }

    /// Ends the file. Frames after this are ignored.
    public mutating func finish() {
        if case .waiting = phase, heldAudio != nil, let writer = makeWriter(firstKeyFrame: nil) { begin(writer) }
        if let heldVideo { gathered.append(heldVideo) }
        if let heldAudio { gathered.append(heldAudio) }
        flush()
        if case .writing(var writer) = phase { changes += writer.finish(duration: length) }
        phase = .finished
    }

    /// The next change to the file, oldest first; nil when there is none.
    public mutating func pollOutput() -> FileChange? {
        guard nextChange < changes.count else {
            changes.removeAll(keepingCapacity: true)
            nextChange = 0
            return nil
        }
        defer { nextChange += 1 }
        return changes[nextChange]
    }

    private func makeWriter(firstKeyFrame: [UInt8]?) -> (any ContainerWriter)? {
        switch container {
        case .mp4:
            MP4Writer(
                codec: video.flatMap(NALCodec.init) ?? .h264, firstKeyFrame: firstKeyFrame, hasAudio: audio != nil)
        case .webm: WebMWriter(firstKeyFrame: firstKeyFrame, hasAudio: audio != nil)
        case .ivf: video.flatMap { video in firstKeyFrame.flatMap { IVFWriter(firstKeyFrame: $0, format: video) } }
        case .wav: audio.flatMap { WAVWriter(format: $0) }
        case .ogg: OggOpusWriter()
        }
    }

    private mutating func begin(_ writer: any ContainerWriter) {
        var writer = writer
        changes += writer.begin()
        phase = .writing(writer)
    }

    private mutating func add(_ frame: EncodedFrame, _ kind: RecordedSample.Kind, at now: Instant) {
        let start = self.start ?? now
        self.start = start
        recordedFrames += 1
        var sample = RecordedSample(
            kind: kind, payload: frame.payload, time: 0, duration: 0, isKeyFrame: frame.isKeyFrame)
        switch kind {
        case .video:
            sample.time = videoClock.time(of: frame.timestamp, arrival: now - start)
            sample.duration = heldVideo.map { min(sample.time - $0.time, 90_000) } ?? 3_000
            gather(heldVideo, before: sample)
            heldVideo = sample
        case .audio:
            sample.time = audioClock.time(of: frame.timestamp, arrival: now - start)
            sample.duration = Int64(frame.format.samples(in: frame.payload.span.bytes) ?? 960)
            gather(heldAudio, before: sample)
            heldAudio = sample
        }
        let rate = Int64(frame.format.clockRate)
        length = max(length, .milliseconds((sample.time + sample.duration) * 1_000 / rate))
        guard case .writing = phase else { return }
        if releaseOther(than: kind, at: sample.time * 1_000 / rate) { return flush() }
        guard let first = gathered.first else { return }
        let firstRate = first.kind == .video ? 90_000 : Int64((audio ?? .opus).clockRate)
        let span = sample.time * 1_000 / rate - first.time * 1_000 / firstRate
        // A fragment begins with a key frame where it can, for players that seek by fragments.
        let isGoodStart = kind == .audio || frame.isKeyFrame
        if span >= 2 * Self.fragmentLength || span >= Self.fragmentLength && isGoodStart {
            flush()
        }
    }

    /// Pictures may be seconds apart, and packets of sound where somebody is muted. What waits for the next of its kind
    /// is not to be stored behind what the other track has had meanwhile, for players expect times to ascend.
    /// How long it lasts is then said as far as it is known. The track goes on in another fragment, which tells its own
    /// time.
    ///
    /// - Parameter time: In milliseconds.
    private mutating func releaseOther(than kind: RecordedSample.Kind, at time: Int64) -> Bool {
        switch kind {
        case .audio:
            guard var held = heldVideo, time - held.time / 90 >= Self.fragmentLength else { return false }
            held.duration = time * 90 - held.time
            gathered.append(held)
            heldVideo = nil
        case .video:
            let rate = Int64((audio ?? .opus).clockRate)
            guard let held = heldAudio, time - held.time * 1_000 / rate >= Self.fragmentLength else { return false }
            gathered.append(held)
            heldAudio = nil
        }
        return true
    }

    /// Moves the held sample on, now that its duration is known.
    private mutating func gather(_ held: RecordedSample?, before next: RecordedSample) {
        guard var sample = held else { return }
        sample.duration = next.time - sample.time
        gathered.append(sample)
    }

    private mutating func flush() {
        guard case .writing(var writer) = phase, !gathered.isEmpty else { return }
        gathered.sort { $0.time * ($0.kind == .video ? 8 : 15) < $1.time * ($1.kind == .video ? 8 : 15) }
        changes += writer.write(gathered)
        flushed.frames += gathered.count
        let audioRate = Int64((audio ?? .opus).clockRate)
        for sample in gathered {
            let rate = sample.kind == .video ? 90_000 : audioRate
            flushed.length = max(flushed.length, .milliseconds((sample.time + sample.duration) * 1_000 / rate))
        }
        gathered.removeAll(keepingCapacity: true)
        phase = .writing(writer)
    }
}
