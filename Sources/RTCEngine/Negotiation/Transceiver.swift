/// Names a transceiver of one negotiator for as long as that lives.
public struct TransceiverID: Sendable, Hashable, Comparable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One media section's state on our side: a way to send and a way to receive (W3C: RTCRtpTransceiver).
public struct Transceiver: Sendable, Hashable, Identifiable {
    /// Who made it, which decides what an incoming offer may do with it (RFC 8829 §5.10).
    enum Origin: Sendable, Hashable {
        /// `addTrack`: an incoming offer's section may take it over.
        case track
        /// `addTransceiver`: gets a section of its own.
        case transceiver
        /// An incoming offer; a rollback removes it.
        case remoteOffer
    }

    /// Its way to the end (W3C: [[Stopping]], [[Stopped]]).
    enum Phase: Sendable, Hashable {
        case active
        /// We have stopped it; the peer is to be told.
        case stopping
        /// The section is rejected on both sides.
        case stopped
    }

    /// What negotiation has made of it; a rollback takes this back and nothing else.
    struct Association: Sendable, Hashable {
        var mid: String?
        var mLineIndex: Int?
        var currentDirection: TransceiverDirection?
        /// The peer sends on it and we take it, by the last description that says so (W3C: [[FiredDirection]]).
        var receivesTrack = false
        var remoteStreamIDs: [String] = []
        var remoteTrackID: String?
        var sending: SendParameters?
        var receiving: ReceiveParameters?
        /// Both descriptions say `a=rtcp-rsize` here.
        var allowsReducedSizeRTCP = false
        /// The names of the layers that we took last: what our offers ask for again, after a hold too.
        var receivedLayers: [String] = []
    }

    public let id: TransceiverID
    public let kind: MediaKind
    /// The source that we send with, and that of retransmissions; `Negotiator.renewSources` alone changes them.
    public internal(set) var ssrc: UInt32
    public internal(set) var rtxSSRC: UInt32
    var origin: Origin
    var phase = Phase.active
    var wantedDirection: TransceiverDirection
    var association = Association()
    /// Nil for the configuration's.
    var preferredCodecs: [CodecParameters]?
    /// It has had a part in an answer as a sender, so `addTrack` may not give it to another track.
    var hasSent = false
    /// The layers that we offer, first the one of `ssrc`; empty without simulcast.
    var layers: [LayerSources] = []
    /// The media streams of the track that we send.
    public internal(set) var streamIDs: [String]
    /// The track that we send; the peer sees this id.
    public internal(set) var trackID: String

    init(
        id: TransceiverID, kind: MediaKind, ssrc: UInt32, rtxSSRC: UInt32, origin: Origin,
        direction: TransceiverDirection, streamIDs: [String], trackID: String
    ) {
        self.id = id
        self.kind = kind
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
        self.origin = origin
        self.wantedDirection = direction
        self.streamIDs = streamIDs
        self.trackID = trackID
    }

    /// The layers that we offer to send (W3C: sendEncodings); empty without simulcast.
    public var encodings: [SendEncoding] { layers.map(\.encoding) }
    /// What the next negotiation is to aim for.
    public var direction: TransceiverDirection { phase == .active ? wantedDirection : .stopped }
    /// What was negotiated; nil before the first answer.
    public var currentDirection: TransceiverDirection? {
        phase == .stopped ? .stopped : association.currentDirection
    }
    /// The name of its media section; nil before it has one.
    public var mid: String? { association.mid }
    /// The place of its media section; nil before it has one.
    public var mLineIndex: Int? { association.mLineIndex }
    /// The media streams that the peer's track belongs to.
    public var remoteStreamIDs: [String] { association.remoteStreamIDs }
    /// The id that the peer's track has over there; nil when the peer does not say.
    public var remoteTrackID: String? { association.remoteTrackID }
    /// How to send at present; nil when nothing is to be sent.
    public var sendParameters: SendParameters? { association.sending }
    /// What may arrive at present; nil when nothing may.
    public var receiveParameters: ReceiveParameters? { association.receiving }
}
