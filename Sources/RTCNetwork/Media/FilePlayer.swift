internal import CDatagram
public import MediaFiles
public import RTCEngine
public import RTCWire

/// Sends a file's track at the speed it was recorded at, as a camera or a microphone would.
///
/// Frames that are due while nothing can be sent, or while it is paused, are passed over: a call is live.
public actor FilePlayer {
    /// What is played, at its present position: another player can go on from there.
    public private(set) var source: MediaSource
    /// When the beginning of the file is, or was, due. Each frame is due at its time in the file after this, so players
    /// of one file with the same origin are in step. Nil before `begin` and `run`, and when the source had ended by
    /// then.
    public private(set) var origin: ContinuousClock.Instant?
    private let sender: RTPSender
    private let layer: String?
    private let playoutDelay: PlayoutDelayLimits?
    private let transform: (@Sendable (EncodedFrame) -> EncodedFrame?)?
    private var lastCaptureTime: ContinuousClock.Instant?
    private var isPaused = false
    private var lastKeyFrame: ContinuousClock.Instant?
    /// How many frames were handed to the sender.
    public private(set) var framesSent = 0

    /// - Parameters:
    ///   - layer: the simulcast layer that the file holds; nil where the sender has none.
    ///   - playoutDelay: how long the receiver is asked to hold pictures back; nil leaves it to the receiver.
    ///   - transform: what is sent of each frame, or nothing (W3C: RTCRtpScriptTransform).
    public init(
        playing source: MediaSource, on sender: RTPSender, layer: String? = nil,
        playoutDelay: PlayoutDelayLimits? = nil, transform: (@Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) {
        self.source = source
        self.sender = sender
        self.layer = layer
        self.playoutDelay = playoutDelay
        self.transform = transform
    }

    /// A player that is later than this was suspended with its machine. It goes on from where it is, and does not send
    /// all missed frames at once.
    private static let suspension = Duration.seconds(1)

    /// How often a player that has not begun looks whether the source was moved, so that its first frame is due sooner.
    private static let beginningStep = Duration.milliseconds(10)

    /// Sets `origin`, which `run` does otherwise.
    ///
    /// - Parameter origin: another player's; nil to go on from now on. A source that has been begun goes on at once,
    ///   and a fresh one has the file's beginning now: another track of its file may come first.
    public func begin(at origin: ContinuousClock.Instant? = nil) {
        guard let due = source.nextDue else { return }
        self.origin = origin ?? ContinuousClock.now - (source.hasBegun ? due : .zero).duration
    }

    /// Plays until the source ends, the connection closes or the task is cancelled.
    public func run() async {
        let clock = ContinuousClock()
        if origin == nil { begin() }
        passOver()
        while let origin, let due = source.nextDue, !Task.isCancelled {
            let time = origin + due.duration
            let wake = source.hasBegun ? time : min(time, clock.now + Self.beginningStep)
            try? await clock.sleep(until: wake, tolerance: .zero)
            // The source may have been moved in the meantime.
            guard !Task.isCancelled, source.nextDue == due, clock.now >= time else { continue }
            let late = clock.now - time
            if late > Self.suspension { self.origin = origin + late }
            guard var frame = source.next() else { return }
            if isPaused { continue }
            frame.metadata.playoutDelay = playoutDelay
            if isCaptureTimeDue(clock.now) { frame.metadata.captureTime = .now }
            if let transform {
                guard let transformed = transform(frame) else { continue }
                frame = transformed
            }
            // Noted before it goes out as well: a request may be heard before this goes on after sending.
            if frame.isKeyFrame { lastKeyFrame = clock.now }
            do throws(PeerConnectionError) {
                if let layer { try await sender.send(frame, rid: layer) } else { try await sender.send(frame) }
                framesSent += 1
                if frame.isKeyFrame { lastKeyFrame = clock.now }
            } catch .peer(.closed) {
                return
            } catch {
                // Not negotiated just now: the next frame may find it so.
                continue
            }
        }
    }

    /// Goes to the newest frame that is due.
    private func passOver() {
        guard let origin else { return }
        let now = ContinuousClock.now
        var later = source
        while later.next() != nil, let due = later.nextDue, origin + due.duration <= now { source = later }
    }

    /// Between two, a receiver goes by the media clock; the extension's document asks for one a second at least.
    private static let captureTimeInterval = Duration.seconds(1)

    private func isCaptureTimeDue(_ now: ContinuousClock.Instant) -> Bool {
        if let lastCaptureTime, now - lastCaptureTime < Self.captureTimeInterval { return false }
        lastCaptureTime = now
        return true
    }

    /// A request that comes so soon after a key frame was made before that one arrived. If it was lost too, the
    /// receiver asks again.
    private static let keyFrameAge = Duration.milliseconds(500)

    /// The receiver cannot decode: goes to the file's next key frame. A file cannot make one.
    public func keyFrameRequested() {
        if let lastKeyFrame, ContinuousClock.now - lastKeyFrame < Self.keyFrameAge { return }
        source.skipToKeyFrame()
    }

    /// Goes to the file's next key frame however lately there was one: nobody has had that.
    public func goToKeyFrame() { source.skipToKeyFrame() }

    /// Goes after another player, which plays the same picture in another size; see `MediaSource.keepUp`.
    public func keepUp(lead: Interval) { source.keepUp(lead: lead) }

    /// Stops sending, or goes on at the next key frame.
    public func setPaused(_ paused: Bool) {
        if isPaused, !paused { source.skipToKeyFrame() }
        isPaused = paused
    }

    /// How far the jumps to key frames have carried it ahead of the time that has passed.
    public var lead: Interval { source.lead }

    /// Goes where another player of the same file is that has this lead. For sound, beside its picture.
    public func follow(lead: Interval) {
        let isFresh = !source.hasBegun
        source.follow(lead: lead)
        // It may have been due for a while.
        if isFresh { passOver() }
    }
}

extension AbsoluteCaptureTime {
    /// Captured here and now: by the same clock that reports tell, so the offset between the two is nothing.
    fileprivate static var now: AbsoluteCaptureTime {
        AbsoluteCaptureTime(
            time: NTPTimestamp(unixSeconds: 0, nanoseconds: 0).advanced(byNanoseconds: cdatagram_realtime_ns()),
            clockOffset: 0)
    }
}
