import Foundation
import LiveKitProtocol
import RTCEngine
import RTCSecurity
import RTCWire
import SFUCore
import SwiftProtobuf

@testable import LiveKitCore

/// A client as LiveKit's are: of one peer connection, in which it offers, or of two. It answers by itself what clients
/// answer by themselves, and keeps what was said as lines.
///
/// What it publishes is in `+Publishing`, what it says on data channels in `+Data`, and what a client does that has no
/// messages in `+WHIP`.
final class TestClient {
    let name: String
    let mode: ConnectionMode
    /// It knows RED (RFC 2198).
    let takesRedundancy: Bool
    unowned var venue: Venue!
    var claims = AccessToken.Claims()
    var signal: SignalID?
    /// It does what the room asks for; otherwise the test does.
    var isObedient = true

    // What the other files of this class use stands here without `private`.
    var publisher: PeerMachine
    var subscriber: PeerMachine
    let hosts: [TransportAddress]
    var up: [String: DataChannelID] = [:]
    var down: [DataChannelID: String] = [:]
    private(set) var hasOffered = false
    private var isNegotiating = false
    private var mustNegotiate = false
    private(set) var isClosed = false

    /// `> …` is what the client said, `< …` what the room did.
    var lines: [String] = []
    private(set) var sid = ""
    private(set) var join: LiveKitJoinResponse?
    private(set) var responses: [LiveKitSignalResponse.OneOf_Message] = []
    /// The last of each that was told.
    private(set) var others: [String: LiveKitParticipantInfo] = [:]
    private(set) var answers: [LiveKitSessionDescription] = []
    private(set) var offers: [LiveKitSessionDescription] = []
    /// Candidates of the room's, as they were told beside its descriptions.
    private(set) var trickled: [LiveKitTrickleRequest] = []
    /// Frames by track's sid.
    private(set) var frames: [String: [EncodedFrame]] = [:]
    private(set) var messages: [(label: String, packet: LiveKitDataPacket)] = []
    private(set) var dataTrackPackets: [[UInt8]] = []
    /// As it was told last: the tracks by the numbers in their packets.
    private(set) var dataTrackHandles: [UInt32: String] = [:]
    private(set) var published: [String: LiveKitTrackInfo] = [:]
    var senders: [String: TransceiverID] = [:]
    var mids: [String: String] = [:]
    var wantsKeyFrame = false
    var sequence: UInt32 = 0
    /// By a client that has no messages.
    var offered = ""

    init(
        _ name: String, _ mode: ConnectionMode, host: Int, codecs: [CodecParameters], sound: [CodecParameters],
        in venue: Venue, random: inout EngineRandom
    ) {
        self.name = name
        self.mode = mode
        takesRedundancy = sound.contains(.redundantOpus)
        self.venue = venue
        let now = venue.now
        hosts = [1, 2].map { TransportAddress(.v4(0xc000_0200 | UInt32(host)), port: $0) }
        publisher = Self.machine(codecs, sound, venue, random.split())
        subscriber = Self.machine(codecs, sound, venue, random.split())
        publisher.addLocalHost(hosts[0], at: now)
        publisher.localHostsComplete(at: now)
        subscriber.addLocalHost(hosts[1], at: now)
        subscriber.localHostsComplete(at: now)
        guard !mode.isExchange else { return }
        for label in ["_reliable", "_lossy", "_data_track"] {
            let options =
                label == "_reliable" ? DataChannelInit() : DataChannelInit(ordered: false, maxRetransmits: 0)
            up[label] = try? publisher.createDataChannel(label, options, at: now)
        }
    }

    private static func machine(
        _ codecs: [CodecParameters], _ sound: [CodecParameters], _ venue: Venue, _ random: EngineRandom
    ) -> PeerMachine {
        let negotiation = NegotiatorConfiguration(
            fingerprint: venue.security.localFingerprint, audioCodecs: sound, videoCodecs: codecs)
        var configuration = PeerMachineConfiguration(
            ice: venue.clientICE, negotiation: negotiation, wallClockOffset: .zero)
        configuration.unit = venue.receives
        return PeerMachine(configuration: configuration, security: venue.security, random: random)
    }

    /// Between joining and the join response.
    var isWaiting: Bool { join == nil && !isClosed }

    func owns(_ address: TransportAddress) -> Bool { hosts.contains(address) }

    // MARK: Negotiating

    /// As Python's and the browsers' clients have it: three sections of each kind to receive in.
    func firstOffer(at now: Instant) throws -> LiveKitSessionDescription {
        for kind in [MediaKind.audio, .audio, .audio, .video, .video, .video] {
            _ = try publisher.addTransceiver(kind, direction: .recvonly, streamIDs: [])
        }
        return try makeOffer(at: now)
    }

    func makeOffer(iceRestart: Bool = false, at now: Instant) throws -> LiveKitSessionDescription {
        hasOffered = true
        isNegotiating = true
        mustNegotiate = false
        try publisher.setLocalDescription(.offer, try publisher.createOffer(iceRestart: iceRestart), at: now)
        let text = publisher.localDescription?.sdp.text ?? ""
        return .with {
            $0.type = "offer"
            $0.sdp = text
        }
    }

    func offer(iceRestart: Bool = false) throws {
        guard !isNegotiating else {
            mustNegotiate = true
            return
        }
        venue.send(.offer(try makeOffer(iceRestart: iceRestart, at: venue.now)), from: self)
    }

    /// Offers one more section to receive in.
    func offerSection(_ kind: MediaKind) throws {
        _ = try publisher.addTransceiver(kind, direction: .recvonly, streamIDs: [])
        try offer()
    }

    /// What was offered on a connection that is gone can be offered again.
    func forgetOffer() {
        guard isNegotiating else { return }
        try? publisher.setLocalDescription(.rollback, nil, at: venue.now)
        isNegotiating = false
    }

    func take(_ response: LiveKitSignalResponse, at now: Instant) {
        guard let message = response.message else { return }
        responses.append(message)
        switch message {
        case .join(let join):
            self.join = join
            sid = join.participant.sid
            for other in join.otherParticipants { others[other.identity] = other }
        case .answer(let answer): takeAnswer(answer, at: now)
        case .offer(let offer): takeOffer(offer, at: now)
        // They say a description again, and are no line of their own.
        case .trickle(let candidate): return takeCandidate(candidate, at: now)
        case .update(let update):
            for participant in update.participants {
                // A client drops what is older than what it has.
                if let known = others[participant.identity], known.sid == participant.sid {
                    guard participant.version >= known.version else {
                        lines.append("< an update that is not newer")
                        continue
                    }
                }
                others[participant.identity] = participant
            }
        case .trackPublished(let track):
            published[track.cid] = track.track
            venue.names[track.track.sid] = track.track.name
        case .mediaSectionsRequirement(let requirement):
            note(response)
            guard isObedient else { return }
            for _ in 0..<requirement.numAudios {
                _ = try? publisher.addTransceiver(.audio, direction: .recvonly, streamIDs: [])
            }
            for _ in 0..<requirement.numVideos {
                _ = try? publisher.addTransceiver(.video, direction: .recvonly, streamIDs: [])
            }
            mustNegotiate = true
            return
        case .publishDataTrackResponse(let response): venue.names[response.info.sid] = response.info.name
        case .dataTrackSubscriberHandles(let handles): dataTrackHandles = handles.subHandles.mapValues(\.trackSid)
        case .leave: isClosed = true
        case _: break
        }
        note(response)
    }

    /// The codec that its encoders make from the next answer on, wherever that names it (RFC 8829 §5.10): of browsers,
    /// an encoder goes over to another without asking.
    var encodes: PayloadFormat?

    func takeAnswer(_ answer: LiveKitSessionDescription, at now: Instant) {
        answers.append(answer)
        isNegotiating = false
        for (mid, track) in answer.midToTrackID { mids[mid] = track }
        do {
            var description = try SessionDescription(parsing: answer.sdp)
            for index in description.media.indices {
                guard let encodes,
                    let map = description.media[index].all(SDP.RTPMap.self).first(where: {
                        $0.encoding.lowercased() == "\(encodes)"
                    })
                else { continue }
                description.media[index].formats.removeAll { $0 == String(map.payloadType) }
                description.media[index].formats.insert(String(map.payloadType), at: 0)
            }
            try publisher.setRemoteDescription(.answer, description, at: now)
        } catch {
            lines.append("! the answer cannot be applied: \(error)")
        }
    }

    private func takeOffer(_ offer: LiveKitSessionDescription, at now: Instant) {
        offers.append(offer)
        for (mid, track) in offer.midToTrackID { mids[mid] = track }
        guard isObedient else { return }
        do {
            try subscriber.setRemoteDescription(.offer, try SessionDescription(parsing: offer.sdp), at: now)
            try subscriber.setLocalDescription(.answer, try subscriber.createAnswer(), at: now)
        } catch {
            lines.append("! the offer cannot be answered: \(error)")
            return
        }
        pendingAnswer = .with {
            $0.type = "answer"
            $0.sdp = subscriber.localDescription?.sdp.text ?? ""
            $0.id = offer.id
        }
    }

    private var pendingAnswer: LiveKitSessionDescription?

    /// A candidate of the room's as SDKs read it.
    struct Candidate: Decodable, Equatable {
        var candidate: String
        var sdpMid: String
        var sdpMLineIndex: Int
    }

    private func takeCandidate(_ told: LiveKitTrickleRequest, at now: Instant) {
        trickled.append(told)
        guard let candidate = try? JSONDecoder().decode(Candidate.self, from: Data(told.candidateInit.utf8)) else {
            lines.append("! a candidate cannot be read: \(told.candidateInit)")
            return
        }
        // A client that has not applied the description has no use for it.
        if told.target == .subscriber {
            try? subscriber.addICECandidate(
                candidate.candidate, mid: candidate.sdpMid, mLineIndex: candidate.sdpMLineIndex,
                usernameFragment: nil, at: now)
        } else {
            try? publisher.addICECandidate(
                candidate.candidate, mid: candidate.sdpMid, mLineIndex: candidate.sdpMLineIndex,
                usernameFragment: nil, at: now)
        }
    }
    /// Its connection says goodbye, and its signaling does not.
    func hangUp(at now: Instant) { publisher.close(at: now) }

    // MARK: Time

    func tick(at now: Instant, send: (Transmit) -> Void) {
        if let wake = publisher.nextWake, wake <= now { publisher.tick(at: now) }
        if let wake = subscriber.nextWake, wake <= now { subscriber.tick(at: now) }
        takeEvents()
        if let answer = pendingAnswer.take() { venue.send(.answer(answer), from: self) }
        if mustNegotiate, signal != nil { try? offer() }
        while let datagram = publisher.pollTransmit() { send(datagram) }
        while let datagram = subscriber.pollTransmit() { send(datagram) }
        takeEvents()
    }

    func receive(_ datagram: [UInt8], from: TransportAddress, to: TransportAddress, at now: Instant) {
        var bytes = datagram
        if to == hosts[0] {
            publisher.receive(&bytes, from: from, to: to, at: now)
            _ = publisher.takePacket(&bytes)
        } else {
            subscriber.receive(&bytes, from: from, to: to, at: now)
            _ = subscriber.takePacket(&bytes)
        }
        takeEvents()
    }

    private func takeEvents() {
        while let event = publisher.pollEvent() {
            take(event, mid: { id in publisher.transceivers.first { $0.id == id }?.mid })
        }
        while let event = subscriber.pollEvent() {
            take(event, mid: { id in subscriber.transceivers.first { $0.id == id }?.mid })
        }
    }

    private func take(_ event: PeerEvent, mid: (TransceiverID) -> String?) {
        switch event {
        case .keyFrameRequested: wantsKeyFrame = true
        case .frame(let transceiver, let frame):
            let track = mid(transceiver).flatMap { mids[$0] } ?? "?"
            frames[track, default: []].append(frame)
        case .dataChannel(let id, .announced(let description)): down[id] = description.label
        case .dataChannel(let id, .message(.binary(let bytes))):
            let label = down[id] ?? up.first { $0.value == id }?.key ?? "?"
            guard label != "_data_track" else { return dataTrackPackets.append(bytes) }
            guard let packet = try? LiveKitDataPacket(serializedBytes: bytes) else { return }
            messages.append((label, packet))
        case _: break
        }
    }

    var states: [PeerConnectionState] { [publisher.connectionState, subscriber.connectionState] }

    func publisherStats(at now: Instant) -> StatsReport { publisher.stats(at: now) }
}
