public import RTCEngine
public import RTCWire

/// What a publisher says of a track.
public struct PublicationDescription: Sendable {
    /// How the media are packed, and with which parameters: subscribers are offered the same.
    public var codec: CodecParameters
    public var format: PayloadFormat
    /// The format with redundancy (RFC 2198), where the publisher sends that: subscribers are offered it first.
    public var redundancy: CodecParameters?
    /// Whether each layer is a stream of its own (simulcast), or all are inside one stream (SVC), as the publisher has
    /// announced it. What really comes is in `PublishedTrack.arrangement`.
    public var arrangement: LayerArrangement
    /// The spatial layer, 0 the lowest, of each layer of `ReceiveParameters.layers`, in their order; empty without
    /// simulcast.
    public var spatialLayers: [Int]
    /// The sizes of the spatial layers, lowest first. One size, that of the whole picture, where the publisher has not
    /// announced layers; empty where it has announced no size.
    public var sizes: [SubscriberHints.Size]
    /// 0 when the publisher has not said.
    public var framesPerSecond: Int
    public var isScreenShare: Bool
    /// Whether the level of this audio counts for the active speakers: not for the sound of a shared screen.
    public var isSpeech = true
    /// The playout delay that subscribers are asked for, in place of the publisher's; nil to pass on the publisher's.
    public var playoutDelay: PlayoutDelayLimits?
    /// Pictures may have something behind them that is not for every subscriber (`PacketTrailer`).
    public var hasTrailers = false
    /// Encrypted end to end: subscribers could not decrypt frames that the server makes.
    public var isSealed = false

    public init(
        codec: CodecParameters, format: PayloadFormat, redundancy: CodecParameters? = nil,
        arrangement: LayerArrangement = .simulcast, spatialLayers: [Int] = [],
        sizes: [SubscriberHints.Size] = [], framesPerSecond: Int = 0,
        isScreenShare: Bool = false
    ) {
        self.codec = codec
        self.format = format
        self.redundancy = redundancy
        self.arrangement = arrangement
        self.spatialLayers = spatialLayers
        self.sizes = sizes
        self.framesPerSecond = framesPerSecond
        self.isScreenShare = isScreenShare
    }

    /// The sizes of the spatial layers. A stream may turn out to have more layers inside than were announced: then the
    /// highest is taken to have the whole size, and each other one half the width and height of the next.
    ///
    /// - Parameters:
    ///   - live: the layers that are being sent, a bit each.
    ///   - arrangement: as they are sent.
    func sizes(live: UInt8, _ arrangement: LayerArrangement) -> [SubscriberHints.Size] {
        guard arrangement != .simulcast, let highest = live.highestSetBit, highest >= max(sizes.count, 1) else {
            return sizes
        }
        let count = highest + 1
        let whole = sizes.last ?? Self.usualSize
        let qualities: [VideoQuality] = [.low, .medium, .high]
        return (0..<count).map { layer in
            let shift = count - 1 - layer
            return SubscriberHints.Size(
                width: whole.width >> shift, height: whole.height >> shift, quality: qualities[min(layer, 2)])
        }
    }

    /// Assumed where the publisher has announced no size, so that subscribers that want a smaller picture get it.
    private static let usualSize = SubscriberHints.Size(width: 1_280, height: 720, quality: .high)

    /// What subscribers are offered, the best first.
    var codecs: [CodecParameters] { redundancy.map { [$0, codec] } ?? [codec] }
}

/// A track of one peer, with all who are subscribed to it.
final class Publication {
    let id: PublicationID
    unowned let publisher: RoomPeer
    let transceiver: TransceiverID
    let description: PublicationDescription
    // The track calls nobody back, and the subscriptions do not change while they are gone through, so two accesses
    // never overlap.
    @exclusivity(unchecked) var track: PublishedTrack
    @exclusivity(unchecked) var subscriptions: [Subscription] = []
    /// Packets that have come and are still to be forwarded, in the order in which they came. Their bytes are in the
    /// track's histories: `hasRoom` makes sure that those still have them.
    @exclusivity(unchecked) private(set) var waiting: [WaitingPacket] = []
    private var waitingBytes = 0
    /// How many lost packets were restored from the redundancy in later ones, and did not come otherwise.
    var recovered: Int64 = 0
    /// Whether a packet has come.
    var hasBegun = false
    /// While it is muted nothing of it is forwarded.
    var isMuted = false
    /// When the next silent packet is to be sent, and how many are left; nil when none is to be sent.
    var silence: (due: Instant, left: Int)?
    /// One for each stream.
    var keyFrames: [KeyFrameThrottle]
    var dynacast: Dynacast
    var codecChange = CodecChangeDetector()
    /// Its index in `Room.speakers`; nil for video, and for audio that is not speech.
    var speaker: Int?

    init(
        id: PublicationID, publisher: RoomPeer, transceiver: TransceiverID, _ description: PublicationDescription,
        at now: Instant
    ) {
        dynacast = Dynacast(published: now)
        self.id = id
        self.publisher = publisher
        self.transceiver = transceiver
        self.description = description
        let streams = max(description.spatialLayers.count, 1)
        track = PublishedTrack(
            format: description.format, streams: streams, arrangement: description.arrangement,
            prefersMotion: !description.isScreenShare)
        keyFrames = Array(repeating: KeyFrameThrottle(), count: streams)
    }

    // MARK: Waiting packets

    /// The histories must still have the first waiting packet when the last one has come. The smallest history is a
    /// ring of 32 KiB. A packet takes its length of it, and as much again where it does not fit before the ring's end.
    private static let mostWaitingBytes = 26 << 10
    /// A history finds a packet by the low bits of its sequence number, at least six of them, so 64 consecutive numbers
    /// have places of their own: half of them for packets that wait, half for earlier ones that redundancy restores.
    private static let mostWaiting = 32

    /// Whether one more packet can wait, and the histories still have all that wait when it is stored.
    func hasRoom(for header: RTPHeader, ofStream stream: Int, bytes: Int) -> Bool {
        guard waiting.count < Self.mostWaiting, waitingBytes + 2 * bytes <= Self.mostWaitingBytes else { return false }
        return waiting.allSatisfy { other in
            let distance = SequenceNumber.distance(from: other.header.sequenceNumber, to: header.sequenceNumber)
            return Int(other.published.layer) != stream
                || other.header.ssrc == header.ssrc && abs(distance) < Self.mostWaiting
        }
    }

    func enqueue(_ packet: WaitingPacket, _ bytes: Int) {
        waiting.append(packet)
        waitingBytes += bytes
    }

    /// The waiting packets were offered to all subscribers.
    func endWaiting() {
        waiting.removeAll(keepingCapacity: true)
        waitingBytes = 0
    }

    // MARK: Layers

    /// The spatial layer of a received one, which is counted in the order of the description.
    func stream(ofReceivedLayer layer: Int) -> Int {
        description.spatialLayers.indices.contains(layer) ? description.spatialLayers[layer] : 0
    }

    /// The inverse of `stream(ofReceivedLayer:)`.
    func receivedLayer(ofStream stream: Int) -> Int { description.spatialLayers.firstIndex(of: stream) ?? 0 }

    /// Takes the publisher's sender reports. They relate the time stamps of the layers to each other, and to those of
    /// the publisher's other tracks.
    func noteClocks() {
        for stream in 0..<track.streamCount {
            guard
                let report = publisher.machine.senderClock(
                    ofLayer: receivedLayer(ofStream: stream), on: transceiver)
            else {
                track.forgetClock(of: stream)
                continue
            }
            guard report != track.clocks[stream].report else { continue }
            track.reported(report, layer: stream)
            publisher.clock.reported(report.ntp, at: report.receivedAt)
        }
    }

    /// Has the sender reports to subscribers say when what they get was captured. Called when `noteClocks` was called
    /// for all publications.
    func tellClocks() {
        for subscription in subscriptions { subscription.tellClock(of: self) }
    }

    func wantKeyFrame(ofStream stream: Int, at now: Instant) {
        guard keyFrames.indices.contains(stream) else { return }
        keyFrames[stream].want(at: now)
    }

    /// Asks the publisher for the key frames that are due.
    func askForKeyFrames(at now: Instant) {
        for stream in keyFrames.indices where keyFrames[stream].isDue(at: now) {
            publisher.machine.requestKeyFrame(
                ofLayer: receivedLayer(ofStream: stream), on: transceiver, at: now)
            publisher.touch()
        }
    }

    var nextWake: Instant? {
        var wake = dynacast.nextWake
        if let due = silence?.due { wake = wake.map { min($0, due) } ?? due }
        for throttle in keyFrames { if let time = throttle.nextWake { wake = wake.map { min($0, time) } ?? time } }
        return wake
    }
}

/// A packet that has come and is still to be forwarded.
struct WaitingPacket {
    let published: PublishedPacket
    let header: RTPHeader
    let extensions: ForwardedExtensions
}
