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
    let request: LiveKitAddTrackRequest
    /// When the client said last that it is to come.
    var announcedAt: Instant
    let primary: TrackVersion
    /// Nil where the client has announced no second codec.
    let backup: TrackVersion?
    /// Everybody who can has the backup.
    var isRegressed = false
    /// Who can have the backup alone, which is not there.
    var waiting: Set<ParticipantSID> = []
    /// Whether the publisher was told last that somebody waits for the backup; nil as long as it was not told of it.
    var asksForBackup: Bool?
    /// How often that was told again.
    var remindersOfBackup = 0
    /// When its publisher was told that somebody has it; nil before anybody has.
    var subscriptionToldAt: Instant?
    /// What the server has told the client to do last, unless the client has changed it since.
    var serverMute: (isMuted: Bool, at: Instant)?
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
        let codecs = request.simulcastCodecs
        primary = TrackVersion(
            place: 0, announced: codecs.first?.videoFormat, clientIDs: [request.cid, codecs.first?.cid ?? ""].ids)
        backup = request.backup(from: publisher.quirks).map { codec in
            TrackVersion(place: 1, announced: codec.videoFormat, clientIDs: [codec.cid].ids)
        }
    }

    /// The first codec's; where the media of a track are spoken of, it is that one.
    var transceiver: TransceiverID? { primary.transceiver }
    var format: PayloadFormat? { primary.format }
    /// Nil until others can be subscribed to it.
    var publication: PublicationID? { primary.publication }

    var versions: [TrackVersion] { backup.map { [primary, $0] } ?? [primary] }

    func version(of publication: PublicationID) -> TrackVersion? {
        versions.first { $0.publication == publication }
    }

    var kind: MediaKind { info.type == .video ? .video : .audio }
}

extension [String] {
    /// Those that are some.
    fileprivate var ids: [String] { filter { !$0.isEmpty } }
}

/// What a participant gets of somebody else's track.
final class SubscribedTrack {
    unowned let track: Track
    let version: TrackVersion
    /// Where it is sent; nil while a client of one connection has offered no section for it.
    var transceiver: TransceiverID?
    /// What the client was told of it last; nil as long as it has flowed from the beginning.
    var pause: (isPaused: Bool, at: Instant)?

    init(_ track: Track, _ version: TrackVersion) {
        self.track = track
        self.version = version
    }

    var streamState: LiveKitStreamStateInfo {
        .with {
            $0.participantSid = track.publisher.sid.rawValue
            $0.trackSid = track.sid.rawValue
            $0.state = pause?.isPaused == true ? .paused : .active
        }
    }
}

extension LiveKitTrackInfo {
    /// Which tracks belong together, as it can stand in a description (RFC 8830 §2) and is no track's name: what a
    /// client calls it, unless that is neither.
    var streamName: String {
        let isName = !stream.isEmpty && !stream.hasPrefix("TR") && stream.utf8.allSatisfy(\.isOfStreamName)
        return isName ? stream : source.stream
    }
}

extension UInt8 {
    /// A token's character (RFC 8866 §9) that does not part names.
    fileprivate var isOfStreamName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
