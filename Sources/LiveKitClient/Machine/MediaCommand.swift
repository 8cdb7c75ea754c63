internal import LiveKitProtocol
internal import RTCEngine
internal import RTCWire

/// Which of the two peer connections.
enum SignalTarget: Sendable, Hashable {
    case publisher, subscriber

    init?(_ target: LiveKitSignalTarget) {
        switch target {
        case .publisher: self = .publisher
        case .subscriber: self = .subscriber
        case .UNRECOGNIZED: return nil
        }
    }

    var message: LiveKitSignalTarget {
        switch self {
        case .publisher: .publisher
        case .subscriber: .subscriber
        }
    }
}

/// The data channels that LiveKit's clients and servers have. Whether a message is reliable is decided by its channel,
/// not by what it says itself.
enum DataLabel: String, Sendable, Hashable {
    case reliable = "_reliable"
    case lossy = "_lossy"
    /// Packets of data tracks (`DataTrackPacket`).
    case tracks = "_data_track"
}

/// Our own name of a track that we publish. It stays the same over reconnects and new sessions.
struct LocalTrackID: Hashable, Sendable {
    let rawValue: UInt32
}

/// What the peer connections are to do, one after the other.
enum MediaCommand: Sendable {
    /// Describes what we publish; answered by `offerMade`.
    case makeOffer(id: UInt32, iceRestart: Bool)
    /// The server's answer to that.
    case takeAnswer(sdp: String)
    /// The server offers; answered by `answerMade`.
    case takeOffer(id: UInt32, sdp: String)
    case addCandidate(SignalTarget, json: String)
    /// Other ICE servers, or other credentials, for the restart that follows.
    case useServers([LiveKitICEServer])
    /// Adds a track, which may have layers; answered by `trackAdded`.
    case addTrack(LocalTrackID, PayloadFormat, [SendEncoding])
    case removeTrack(LocalTrackID)
}

/// What the encoder of a track of ours is to know, beside what the machine decides.
enum EncoderNews: Sendable {
    /// Somebody cannot decode.
    case keyFrameRequested
    /// The path carries so much of it.
    case targetBitrateChanged(Bitrate)
}

/// What the peer connections have done.
enum MediaFact: Sendable {
    case stateChanged(SignalTarget, PeerConnectionState)
    case candidate(SignalTarget, json: String, isLast: Bool)
    case offerMade(id: UInt32, sdp: String)
    case answerTaken
    case answerMade(id: UInt32, sdp: String)
    /// After an answer of ours: the streams that the server sends, by their names.
    case receiving([RemoteStream])
    /// `cid` is what the offer calls it.
    case trackAdded(LocalTrackID, cid: String)
    /// The peer connection cannot send it; the text says why.
    case trackRefused(LocalTrackID, String)
    /// A channel of ours, on the publishing connection, is open; `id` is its SCTP stream (W3C: id).
    case channelOpen(DataLabel, id: UInt16 = 0)
    /// The server has opened a channel on the receiving connection.
    case channelReceived(DataLabel, id: UInt16)
    case message(DataLabel, [UInt8])
    /// A description was not taken.
    case failed(SignalTarget, String)
}

/// A track as the server's offer names it.
struct RemoteStream: Sendable, Hashable {
    /// `PA_…|TR_…`, or anything else.
    var stream: String
    var track: String
    /// Which transceiver it comes on.
    var transceiver: TransceiverID

    /// Who sends it; nil when it is no stream of a participant's.
    var participant: String? {
        let parts = stream.split(separator: "|", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].hasPrefix("PA_") ? String(parts[0]) : nil
    }

    /// The track's sid: the second part of the stream's name, or, where that names a stream of several tracks that are
    /// played in step, the track's own id.
    var trackSID: TrackSID? {
        let parts = stream.split(separator: "|", omittingEmptySubsequences: false)
        if parts.count == 2, parts[1].hasPrefix("TR") { return TrackSID(String(parts[1])) }
        return track.hasPrefix("TR") ? TrackSID(track) : nil
    }
}
