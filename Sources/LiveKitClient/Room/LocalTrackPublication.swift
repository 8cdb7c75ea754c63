internal import MediaFiles
public import RTCEngine
internal import RTCNetwork
internal import RTCWire
internal import Synchronization

/// A track that we publish. It stays the same over reconnects.
public final class LocalTrackPublication: Sendable {
    /// From the options that the track was published with.
    public let name: String
    /// From the options that the track was published with.
    public let source: TrackSource
    /// Audio or video, as the format says that the track was published with.
    public let kind: MediaKind
    /// For an encoder: a key frame is wanted. The others cannot decode, the track is no longer muted, somebody wants it
    /// again (`isWanted`), or there is a connection, for the first time or another one. Of requests that nobody has
    /// taken the newest is kept. For one reader: a task that is cancelled ends it. There are none for sound and where a
    /// file is played. Ends with the track: when it is withdrawn, by whichever side, and when the room is left or lost.
    public let keyFrameRequests: AsyncStream<Void>
    /// For an encoder: what it is to make from now on, so that the path carries it; of values that nobody has taken the
    /// newest is kept. They begin some moments after there is a connection, share what the path is thought to carry
    /// with our other tracks, and stay below `TrackPublishOptions.bitrate`, where that is said. What is sent beyond
    /// them comes late. For one reader, as `keyFrameRequests`, and they end with them; there are none where a file is
    /// played.
    public let targetBitrates: AsyncStream<Bitrate>
    /// The most that `targetBitrates` is to ask for; nil: nobody has said, or a file is played.
    let bitrateLimit: Bitrate?

    let id: LocalTrackID
    /// For the sound of a file: the publication of its picture, with which the sound keeps in step.
    let picture: LocalTrackPublication?
    private weak let room: Room?
    /// What goes out of a frame; nothing of one that cannot be encrypted.
    private let seal: (@Sendable (EncodedFrame) -> EncodedFrame?)?
    private let requests: AsyncStream<Void>.Continuation
    private let bitrates: AsyncStream<Bitrate>.Continuation

    private struct State {
        var sid: TrackSID
        var isMuted: Bool
        /// Somebody takes it, or dynacast is off.
        var isWanted = true
        /// It was withdrawn, or the room has ended.
        var isStopped = false
        var sender: RTPSender?
        /// What is played, if it is a file.
        var media: MediaSource?
        var player: FilePlayer?
        var task: Task<Void, Never>?

        /// Nothing is to be sent.
        var isPaused: Bool { isMuted || !isWanted }
    }

    /// Written by the room; read by tasks that send.
    private let state: Mutex<State>

    init(
        id: LocalTrackID, options: TrackPublishOptions, kind: MediaKind, media: MediaSource?,
        picture: LocalTrackPublication?, room: Room?, seal: (@Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) {
        self.id = id
        self.picture = picture
        self.room = room
        self.seal = seal
        self.kind = kind
        name = options.name
        source = options.source
        (keyFrameRequests, requests) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (targetBitrates, bitrates) = AsyncStream.makeStream(of: Bitrate.self, bufferingPolicy: .bufferingNewest(1))
        bitrateLimit =
            media == nil && options.bitrate > 0 ? Bitrate(bitsPerSecond: Int64(options.bitrate)) : nil
        state = Mutex(State(sid: TrackSID(""), isMuted: options.isMuted, media: media))
    }

    /// What the server calls it; another one in a new session.
    public var sid: TrackSID { state.withLock { $0.sid } }
    /// The others are told that the track is muted, and nothing is sent on it.
    public var isMuted: Bool { state.withLock { $0.isMuted } }
    /// Somebody takes the track. Otherwise nothing is sent on it, and an encoder can rest until `keyFrameRequests`
    /// tells that somebody does. True without `ConnectOptions.dynacast`.
    public var isWanted: Bool { state.withLock { $0.isWanted } }

    /// Packs and sends one frame now: the encoder sets the pace. The frame is dropped, without an error, while there is
    /// no connection, while the track is muted or nobody wants it, and when it has another format than the track was
    /// published with.
    ///
    /// When a picture has to be one that can be decoded by itself, `keyFrameRequests` says. How loud sound is (who is
    /// speaking) rooms learn from `frame.metadata.audioLevel` alone, which is up to whoever encodes it.
    public func send(_ frame: EncodedFrame) async {
        guard let sender = state.withLock({ $0.isPaused ? nil : $0.sender }),
            let frame = seal.map({ $0(frame) }) ?? frame
        else { return }
        try? await sender.send(frame)
    }

    /// Mutes the track for everybody, or lets it be heard or seen again.
    public func setMuted(_ isMuted: Bool) async { await room?.setMuted(self, isMuted) }

    /// Withdraws the track. Repeatable.
    public func unpublish() async { await room?.unpublish(self) }

    // MARK: From the room

    func published(as sid: TrackSID) { state.withLock { $0.sid = sid } }

    func mutedChanged(_ isMuted: Bool) async { await pausing { $0.isMuted = isMuted } }

    func wantedChanged(_ isWanted: Bool) async { await pausing { $0.isWanted = isWanted } }

    private func pausing(_ change: @Sendable (inout State) -> Void) async {
        let (player, wasPaused, isPaused) = state.withLock { state in
            let wasPaused = state.isPaused
            change(&state)
            return (state.player, wasPaused, state.isPaused)
        }
        await player?.setPaused(isPaused)
        if wasPaused, !isPaused { requestKeyFrame() }
    }

    /// The connection that it goes over is another one.
    func use(_ sender: RTPSender) async {
        let (old, media, wasPaused) = state.withLock { state in (state.player, state.media, state.isPaused) }
        var player: FilePlayer?
        var task: Task<Void, Never>?
        if let media {
            // A file goes on where it was, and what waits for its place in the file goes on waiting.
            let source = if let old { await old.source } else { media }
            let waiting = await source.hasBegun ? nil : old?.origin
            let beside = await picture?.player?.origin
            let next = FilePlayer(playing: source, on: sender, transform: seal)
            await next.begin(at: beside ?? waiting)
            await next.setPaused(wasPaused)
            (player, task) = (next, Task { await next.run() })
        }
        // Meanwhile the track may have been withdrawn or muted.
        let last = state.withLock { state in
            guard !state.isStopped else { return task }
            defer { (state.sender, state.player, state.task) = (sender, player, task) }
            return state.task
        }
        last?.cancel()
        // Whoever mutes it may come before the player is here, or while it is told.
        var isPaused = wasPaused
        while isPaused != state.withLock({ $0.isPaused }) {
            isPaused.toggle()
            await player?.setPaused(isPaused)
        }
        await followPicture()
        requestKeyFrame()
    }

    func keyFrameRequested() async {
        await player?.keyFrameRequested()
        requestKeyFrame()
    }

    /// In one session after the other the estimates are of other paths.
    func targetBitrateChanged(_ bitrate: Bitrate) {
        guard state.withLock({ $0.media == nil }) else { return }
        bitrates.yield(bitrate)
    }

    /// Asks whoever hands in frames. While it is muted, or not wanted, nobody would see the frame, and the end of that
    /// asks for one.
    private func requestKeyFrame() {
        guard kind == .video, state.withLock({ $0.media == nil && !$0.isPaused }) else { return }
        requests.yield()
    }

    /// What is played now; nil before there is a connection, and where frames are handed in.
    var player: FilePlayer? { state.withLock { $0.player } }

    /// The picture has gone to a key frame of its file, which is ahead: the sound goes there too.
    func followPicture() async {
        guard let lead = await picture?.player?.lead else { return }
        await player?.follow(lead: lead)
    }

    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            state.sender = nil
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
        requests.finish()
        bitrates.finish()
    }
}
