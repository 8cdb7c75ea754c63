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
    /// again (`wantedQuality`), or there is a connection, for the first time or another one. Of requests that nobody
    /// has taken the newest is kept. For one reader: a task that is cancelled ends it. There are none for sound and
    /// where a file is played. Ends with the track: when it is withdrawn, by whichever side, and when the room is left
    /// or lost.
    public let keyFrameRequests: AsyncStream<Void>
    /// For an encoder: what it is to make from now on, so that the path carries it; of values that nobody has taken the
    /// newest is kept. They begin when something has been sent: an encoder begins without them. They share what the
    /// path is thought to carry with our other tracks, and stay below `TrackPublishOptions.bitrate`, or the sum of
    /// those of its layers, where that is said. What is sent beyond them comes late. For one reader, as
    /// `keyFrameRequests`, and they end with them; there are none where a file is played.
    public let targetBitrates: AsyncStream<Bitrate>
    /// The most that `targetBitrates` is to ask for; nil: nobody has said, or a file is played.
    let bitrateLimit: Bitrate?

    let id: LocalTrackID
    /// For the sound of a file: the publication of its picture, with which the sound keeps in step.
    let picture: LocalTrackPublication?
    private let layers: LayerNames?
    private weak let room: Room?
    /// What goes out of a frame; nothing of one that cannot be encrypted.
    private let seal: (@Sendable (EncodedFrame) -> EncodedFrame?)?
    private let requests: AsyncStream<Void>.Continuation
    private let bitrates: AsyncStream<Bitrate>.Continuation

    private struct State {
        var sid: TrackSID
        var isMuted: Bool
        /// The best quality in which anybody takes it; high without dynacast.
        var wanted: VideoQuality? = .high
        /// It was withdrawn, or the room has ended.
        var isStopped = false
        var sender: RTPSender?
        /// What is played: a file, or one for each layer, from the smallest on.
        var media: [MediaSource]
        /// One for each of those, once there is a connection.
        var players: [FilePlayer] = []
        var tasks: [Task<Void, Never>] = []

        /// Nothing is to be sent.
        var isPaused: Bool { isMuted || wanted == nil }
    }

    /// Written by the room; read by tasks that send.
    private let state: Mutex<State>

    /// - Parameter media: of layers one for each, from the smallest on.
    init(
        id: LocalTrackID, options: TrackPublishOptions, kind: MediaKind, playing media: [MediaSource] = [],
        picture: LocalTrackPublication? = nil, room: Room?, seal: (@Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) {
        self.id = id
        self.picture = picture
        self.room = room
        self.seal = seal
        self.kind = kind
        name = options.name
        source = options.source
        // Others are refused by the machine.
        layers = LayerNames(options.layers)
        (keyFrameRequests, requests) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (targetBitrates, bitrates) = AsyncStream.makeStream(of: Bitrate.self, bufferingPolicy: .bufferingNewest(1))
        bitrateLimit = media.isEmpty ? options.bitrateLimit : nil
        state = Mutex(State(sid: TrackSID(""), isMuted: options.isMuted, media: media))
    }

    /// What the server calls it; another one in a new session.
    public var sid: TrackSID { state.withLock { $0.sid } }
    /// The others are told that the track is muted, and nothing is sent on it.
    public var isMuted: Bool { state.withLock { $0.isMuted } }
    /// The best quality in which anybody takes the track; nil while nobody does. Of more, nothing is sent, and its
    /// encoder can rest until `keyFrameRequests` tells that somebody does. `high` without `ConnectOptions.dynacast`,
    /// and of a track without layers where it is taken at all.
    public var wantedQuality: VideoQuality? { state.withLock { $0.wanted } }

    /// Packs and sends one frame now: the encoder sets the pace. The frame is dropped, without an error, while there is
    /// no connection, while the track is muted or nobody wants the frame, and when it has another format than the track
    /// was published with, or is of a layer that the track does not have.
    ///
    /// When a picture has to be one that can be decoded by itself, `keyFrameRequests` says, of all layers together. How
    /// loud sound is (who is speaking) rooms learn from `frame.metadata.audioLevel` alone, which is up to whoever
    /// encodes it.
    ///
    /// - Parameter layer: which of `TrackPublishOptions.layers` it is of; nil where there are none.
    public func send(_ frame: EncodedFrame, layer: VideoQuality? = nil) async {
        guard let sender = state.withLock({ $0.isPaused ? nil : $0.sender }),
            let frame = seal.map({ $0(frame) }) ?? frame
        else { return }
        guard let layers, !layers.qualities.isEmpty else {
            if layer == nil { try? await sender.send(frame) }
            return
        }
        if let rid = layer.flatMap({ layers[$0] }) { try? await sender.send(frame, rid: rid) }
    }

    /// Mutes the track for everybody, or lets it be heard or seen again.
    public func setMuted(_ isMuted: Bool) async { await room?.setMuted(self, isMuted) }

    /// Withdraws the track. Repeatable.
    public func unpublish() async { await room?.unpublish(self) }

    // MARK: From the room

    func published(as sid: TrackSID) { state.withLock { $0.sid = sid } }

    func mutedChanged(_ isMuted: Bool) async {
        let (wasPaused, isPaused) = state.withLock { state in
            let wasPaused = state.isPaused
            state.isMuted = isMuted
            return (wasPaused, state.isPaused)
        }
        await pausePlayers(wasPaused: wasPaused)
        if wasPaused, !isPaused { requestKeyFrame() }
    }

    func wantedChanged(_ quality: VideoQuality?) async {
        let (before, wasPaused, sender) = state.withLock { state in
            let (before, wasPaused) = (state.wanted, state.isPaused)
            state.wanted = quality
            return (before, wasPaused, state.sender)
        }
        await setLayers(of: sender, upTo: quality)
        await pausePlayers(wasPaused: wasPaused)
        guard let quality, before.map({ $0 < quality }) ?? true else { return }
        if let layers, !layers.qualities.isEmpty {
            // What came of a layer while it was off was passed over, its key frames too.
            let players = state.withLock { $0.isPaused ? [] : $0.players }
            for player in players { await player.goToKeyFrame() }
            await align(players)
        }
        requestKeyFrame()
    }

    private func setLayers(of sender: RTPSender?, upTo wanted: VideoQuality?) async {
        guard let layers, let sender else { return }
        for quality in layers.qualities {
            guard let rid = layers[quality] else { continue }
            // A connection that is over sends nothing in any case.
            try? await sender.setLayer(rid, isActive: layers.isWanted(quality, upTo: wanted))
        }
    }

    /// Tells the players whether they are to send, until what they were told is so: whoever mutes the track may come
    /// while they are told, and before they are here.
    private func pausePlayers(wasPaused: Bool) async {
        var told = wasPaused
        while true {
            let (players, isPaused) = state.withLock { ($0.players, $0.isPaused) }
            guard isPaused != told else { return }
            for player in players { await player.setPaused(isPaused) }
            if !isPaused { await align(players) }
            told = isPaused
        }
    }

    /// Each player finds a key frame by itself. One that had just passed it is at the next, and the others go there.
    private func align(_ players: [FilePlayer]) async {
        guard players.count > 1 else { return }
        var lead = Interval.zero
        for player in players { lead = max(lead, await player.lead) }
        for player in players { await player.keepUp(lead: lead) }
    }

    /// The connection that it goes over is another one.
    func use(_ sender: RTPSender) async {
        let (old, media, wasPaused) = state.withLock { state in (state.players, state.media, state.isPaused) }
        var players: [FilePlayer] = []
        for (place, file) in media.enumerated() {
            // A file goes on where it was, and what waits for its place in the file goes on waiting.
            let before = old.indices.contains(place) ? old[place] : nil
            let source = if let before { await before.source } else { file }
            let waiting = await source.hasBegun ? nil : before?.origin
            let beside = if let first = players.first { await first.origin } else { await picture?.player?.origin }
            let rid = layers.flatMap { $0.qualities.isEmpty ? nil : $0[$0.qualities[place]] }
            let next = FilePlayer(playing: source, on: sender, layer: rid, transform: seal)
            await next.begin(at: beside ?? waiting)
            await next.setPaused(wasPaused)
            players.append(next)
        }
        let tasks = players.map { player in Task { await player.run() } }
        // Meanwhile the track may have been withdrawn or muted.
        let last = state.withLock { state in
            guard !state.isStopped else { return tasks }
            defer { (state.sender, state.players, state.tasks) = (sender, players, tasks) }
            return state.tasks
        }
        for task in last { task.cancel() }
        await pausePlayers(wasPaused: wasPaused)
        await setLayers(of: sender, upTo: wantedQuality)
        await followPicture()
        requestKeyFrame()
    }

    func keyFrameRequested() async {
        let players = players
        for player in players { await player.keyFrameRequested() }
        await align(players)
        requestKeyFrame()
    }

    /// The path carries so much of the track. A file is as it is.
    func targetBitrateChanged(_ bitrate: Bitrate) {
        guard state.withLock({ $0.media.isEmpty }) else { return }
        bitrates.yield(bitrate)
    }

    /// Asks whoever hands in frames. While it is muted, or not wanted, nobody would see the frame, and the end of that
    /// asks for one.
    private func requestKeyFrame() {
        guard kind == .video, state.withLock({ $0.media.isEmpty && !$0.isPaused }) else { return }
        requests.yield()
    }

    /// What is played now, each layer by one of its own; none before there is a connection, and where frames are handed
    /// in.
    var players: [FilePlayer] { state.withLock { $0.players } }
    var player: FilePlayer? { players.first }

    /// The picture has gone to a key frame of its file, which is ahead: the sound goes there too.
    func followPicture() async {
        guard let lead = await picture?.player?.lead else { return }
        await player?.follow(lead: lead)
    }

    func stop() {
        let tasks = state.withLock { state in
            state.isStopped = true
            state.sender = nil
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        requests.finish()
        bitrates.finish()
    }
}

extension TrackPublishOptions {
    /// The most that the encoder of the track is to make, all layers together; nil where that is not said.
    fileprivate var bitrateLimit: Bitrate? {
        let bitrates = (layers.isEmpty ? [bitrate] : layers.map(\.bitrate)).map {
            Bitrate(bitsPerSecond: Int64($0)).bitsPerSecond
        }
        guard bitrates.allSatisfy({ $0 > 0 }) else { return nil }
        return Bitrate(bitsPerSecond: bitrates.reduce(0, +))
    }
}
