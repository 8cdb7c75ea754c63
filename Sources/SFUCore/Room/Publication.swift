public import RTCEngine
public import RTCWire

/// What a publisher says of a track.
public struct PublicationDescription: Sendable {
    /// How the media are packed, and with which parameters: subscribers are offered the same.
    public var codec: CodecParameters
    public var format: PayloadFormat
    /// What of earlier packets comes along (RFC 2198), where the publisher sends it: subscribers are offered it first.
    public var redundancy: CodecParameters?
    /// Whether layers are streams of their own or lie inside the one stream (SVC), as far as it was said:
    /// `PublishedTrack.arrangement` is what comes.
    public var arrangement: LayerArrangement
    /// The spatial layer, 0 the lowest, of each layer of `ReceiveParameters.layers`, in their order; empty without
    /// simulcast.
    public var spatialLayers: [Int]
    /// The spatial layers' sizes, lowest first; of the whole alone where it has not announced them, and empty where it
    /// has said nothing.
    public var sizes: [SubscriberHints.Size]
    /// 0 when the publisher has not said.
    public var framesPerSecond: Int
    public var isScreenShare: Bool
    /// Of audio: its level counts for the active speakers. False for the audio of a shared screen.
    public var isSpeech = true
    /// How long subscribers are asked to hold pictures back, whatever the publisher asks for; nil leaves it to that.
    public var playoutDelay: PlayoutDelayLimits?
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

    /// The spatial layers' sizes. Where there are more inside a stream than were announced, that is seen when they
    /// come: each is taken for half of the next, the highest for the whole.
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
    // A track calls nobody back, and the subscriptions are gone through without being changed: two accesses never
    // overlap.
    @exclusivity(unchecked) var track: PublishedTrack
    @exclusivity(unchecked) var subscriptions: [Subscription] = []
    /// Packets that have come and are still to be forwarded, in their order. Their bytes are in the track's histories,
    /// of which `hasRoom` makes sure.
    @exclusivity(unchecked) private(set) var waiting: [WaitingPacket] = []
    private var waitingBytes = 0
    /// Packets that came with later ones, after they were lost, and in no other way.
    var recovered: Int64 = 0
    /// A packet has come.
    var hasBegun = false
    /// The server passes nothing on.
    var isMuted = false
    /// What is still to be sent of silence since it was muted: when next, and how many packets; nil for nothing.
    var silence: (due: Instant, left: Int)?
    /// By stream.
    var keyFrames: [KeyFrameThrottle]
    var dynacast: Dynacast
    var codecChange = CodecChangeDetector()
    /// Its index among those who may speak; nil for pictures, and for sound that is no speech.
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

    /// The histories must still have the first packet when the last one has come. Of the smallest, which has 32 KiB,
    /// the next packet takes its own bytes, and as many again where it does not fit before the ring's end.
    private static let mostWaitingBytes = 26 << 10
    /// A history finds a packet by the low bits of its number, six at least: numbers that are closer than this, and as
    /// much again for what redundancy brings back from before them, never fall on the same place.
    private static let mostWaiting = 32

    /// Whether another packet can wait beside those that do, all of which are still kept when it is.
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

    /// All subscribers have had them.
    func endWaiting() {
        waiting.removeAll(keepingCapacity: true)
        waitingBytes = 0
    }

    // MARK: Layers

    /// The spatial layer of a layer in the order of the descriptions.
    func stream(ofReceivedLayer layer: Int) -> Int {
        description.spatialLayers.indices.contains(layer) ? description.spatialLayers[layer] : 0
    }

    /// The way back.
    func receivedLayer(ofStream stream: Int) -> Int { description.spatialLayers.firstIndex(of: stream) ?? 0 }

    /// What its sender reports say relates its layers' timestamps, and those of all that the publisher sends.
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

    /// Subscribers are told when what they get was captured, once the clocks of all that the publisher sends are noted.
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
