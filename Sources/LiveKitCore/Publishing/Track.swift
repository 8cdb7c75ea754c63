import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// A track of a participant's, from its announcement to its end.
final class Track {
    let sid: TrackSID
    unowned let publisher: Participant
    /// As everybody is told of it.
    var info: LiveKitTrackInfo
    /// The client's ids of it, one for each codec that it may be sent in.
    let clientIDs: [String]
    let request: LiveKitAddTrackRequest
    /// When the client said last that it is to come.
    var announcedAt: Instant
    /// Where its media come; nil until an offer carries them.
    var transceiver: TransceiverID?
    /// How its media are packed; nil until it is published.
    var format: PayloadFormat?
    /// As it was published; the publisher's client knows its layers by that, whatever its encoder has gone over to.
    var publishedCodec = ""
    /// Nil until others can be subscribed to it.
    var publication: PublicationID?
    /// Somebody has it: the publisher was told.
    var wasSubscribed = false
    /// What the server has told the client to do last, unless the client has changed it since.
    var serverMute: (isMuted: Bool, at: Instant)?
    /// Packets that did not come from the publisher, not even with later ones, as was counted last.
    var lost: Int64 = 0
    /// Those that came with later ones, as was counted last.
    var recovered: Int64 = 0
    /// How many layers less came than were wanted, in the two times before when that was looked at: a publisher that
    /// begins has none of the upper ones yet.
    private var layersMissing = (before: 0, last: 0)
    /// How loud it is, as was told last.
    var level = 0.0

    init(
        sid: TrackSID, of publisher: Participant, _ request: LiveKitAddTrackRequest, info: LiveKitTrackInfo,
        at now: Instant
    ) {
        self.sid = sid
        announcedAt = now
        self.publisher = publisher
        self.request = request
        self.info = info
        clientIDs = [request.cid] + request.simulcastCodecs.map(\.cid).filter { !$0.isEmpty && $0 != request.cid }
    }

    var kind: MediaKind { info.type == .video ? .video : .audio }

    /// How many layers less than are wanted have come for a while.
    var missingLayers: Int { min(layersMissing.before, layersMissing.last) }

    func noteMissing(layers: Int) { layersMissing = (layersMissing.last, layers) }
}

/// What a participant gets of somebody else's track.
final class SubscribedTrack {
    unowned let track: Track
    /// Where it is sent; nil while a client of one connection has offered no section for it.
    var transceiver: TransceiverID?
    /// What the client was told of it last; nil as long as it has flowed from the beginning.
    var pause: (isPaused: Bool, at: Instant)?

    init(_ track: Track) { self.track = track }

    var streamState: LiveKitStreamStateInfo {
        .with {
            $0.participantSid = track.publisher.sid.rawValue
            $0.trackSid = track.sid.rawValue
            $0.state = pause?.isPaused == true ? .paused : .active
        }
    }
}
