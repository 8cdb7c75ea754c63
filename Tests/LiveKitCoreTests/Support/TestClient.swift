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
/// messages in `+Exchanging`.
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

<<<<<<< HEAD
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

    // MARK: Exchanging

    /// The only offer of a client that has no messages.
    func onlyOffer(_ sections: [OfferedSection], at now: Instant) throws -> LiveKitSessionDescription {
        for section in sections {
            senders[section.title] = try publisher.addTransceiver(
                section.kind, direction: section.direction, streamIDs: ["stream"], trackID: section.title,
                encodings: section.layers.map { SendEncoding(rid: $0) })
        }
        let offer = try makeOffer(at: now)
        offered = offer.sdp
        return offer
    }

    /// What a client that has no messages has offered.
    private(set) var offered = ""

    func takeOnlyAnswer(_ text: String, at now: Instant) {
        takeAnswer(.with { $0.sdp = text }, at: now)
        // What comes is known by the section that it comes in.
        for transceiver in publisher.transceivers {
            guard let mid = transceiver.mid else { continue }
            mids[mid] = senders.first { $0.value == transceiver.id }?.key
        }
    }

    /// What of an offer for new paths is told without offering.
    func restartFragment(at now: Instant) throws -> String {
        try publisher.setLocalDescription(.offer, try publisher.createOffer(iceRestart: true), at: now)
        return publisher.localDescription?.sdp.transportFragment ?? ""
    }

    /// The answer to it: the one before, but for what the fragment says.
    func takeRestart(_ fragment: String, at now: Instant) throws {
        let answer = try SessionDescription(parsing: answers.last?.sdp ?? "")
        let restarted = answer.restarted(with: try TrickleFragment(parsing: fragment))
        try publisher.setRemoteDescription(.answer, restarted, at: now)
    }

    func numbers(in section: String) -> [UInt8] { frames[section]?.compactMap(\.payload.last) ?? [] }

    // MARK: Publishing

    /// Announces a track; it is offered as soon as the room has answered.
    ///
    /// - Parameter isNamed: false for a client whose ids are not those of its sections.
    func publish(
        _ title: String, _ kind: MediaKind, source: LiveKitTrackSource? = nil, layers: [String] = [],
        isNamed: Bool = true, change: (inout LiveKitAddTrackRequest) -> Void = { _ in }
    ) throws {
        var request = LiveKitAddTrackRequest.with {
            $0.cid = "cid-\(name)-\(title)"
            $0.name = title
            $0.type = kind == .video ? .video : .audio
            $0.source = source ?? (kind == .video ? .camera : .microphone)
            if kind == .video {
                $0.width = 1_280
                $0.height = 720
                let qualities: [LiveKitVideoQuality] = [.low, .medium, .high]
                $0.layers = layers.indices.map { place in
                    .with {
                        $0.quality = qualities[place]
                        $0.width = 1_280 >> UInt32(layers.count - 1 - place)
                        $0.height = 720 >> UInt32(layers.count - 1 - place)
                    }
                }
            }
        }
        change(&request)
        venue.send(.addTrack(request), from: self)
        guard published[request.cid] != nil else { return }
        senders[title] = try publisher.addTransceiver(
            kind, direction: .sendonly, streamIDs: [], trackID: isNamed ? request.cid : "section-of-\(title)",
            encodings: layers.map { SendEncoding(rid: $0) })
        try offer()
    }

    /// Announces a track in two codecs, and offers the first, whose layers lie inside its stream.
    func publish(
        _ title: String, as codecs: [String], layers: [LiveKitVideoQuality] = [],
        policy: LiveKitBackupCodecPolicy = .simulcast
    ) throws {
        try publish(title, .video) { request in
            request.layers = layers.map { quality in .with { $0.quality = quality } }
            request.simulcastCodecs = codecs.enumerated().map { place, codec in
                .with {
                    $0.codec = codec
                    $0.cid = place == 0 ? request.cid : ""
                }
            }
            request.backupCodecPolicy = policy
        }
    }

    /// What browsers' SDKs do when they are told that somebody needs the second codec: another section, of which they
    /// have said under which id it comes. Its title is made of both names.
    ///
    /// - Parameters:
    ///   - isNamed: false for a client whose ids are not those of its sections.
    ///   - isRenewed: it is made anew under another id, and the section that there is ends with the same offer.
    func publishBackup(
        of title: String, as codec: String = "vp8", layers: [String] = [], isNamed: Bool = true,
        isRenewed: Bool = false
    ) throws {
        let cid = "cid-\(name)-\(title)-\(codec)" + (isRenewed ? "-again" : "")
        let request = LiveKitAddTrackRequest.with {
            $0.cid = cid
            $0.sid = track(title)?.sid ?? "TR_none"
            $0.type = .video
            $0.source = .camera
            $0.simulcastCodecs = [.with { ($0.codec, $0.cid) = (codec, cid) }]
        }
        venue.send(.addTrack(request), from: self)
        if isRenewed, let former = senders["\(title)-\(codec)"] {
            try publisher.setDirection(.inactive, of: former, at: venue.now)
        }
        senders["\(title)-\(codec)"] = try publisher.addTransceiver(
            .video, direction: .sendonly, streamIDs: [], trackID: isNamed ? cid : "of-the-section",
            encodings: layers.map { SendEncoding(rid: $0) })
        try offer()
    }

    func unpublish(_ title: String) throws {
        guard let sender = senders.removeValue(forKey: title) else { return }
        try publisher.setDirection(.inactive, of: sender, at: venue.now)
        try offer()
    }

    func track(_ title: String) -> LiveKitTrackInfo? { published["cid-\(name)-\(title)"] }

    /// A picture of each layer, the lowest first; its last byte is its number, before it stands its layer.
    func picture(
        _ number: Int, _ title: String, layers: [String] = [], size: Int = 900, format: PayloadFormat = .vp8
    ) throws {
        guard let sender = senders[title] else { return }
        let isKeyFrame = wantsKeyFrame || number == 0
        wantsKeyFrame = false
        for (layer, rid) in (layers.isEmpty ? [""] : layers).enumerated() {
            let body = [UInt8](repeating: 1, count: size * (layer + 1)) + [UInt8(layer + 1), UInt8(number % 250 + 1)]
            let frame = EncodedFrame(
                payload: Self.tag(of: format, isKeyFrame) + body, timestamp: UInt32(number * 3_000),
                isKeyFrame: isKeyFrame, format: format)
            if rid.isEmpty {
                try publisher.send(frame, on: sender, at: venue.now)
            } else {
                try publisher.send(frame, layer: rid, on: sender, at: venue.now)
            }
        }
    }

    /// What a picture begins with: VP8's frame tag (RFC 6386), or H.264's NAL units and the head of the last of them.
    private static func tag(of format: PayloadFormat, _ isKeyFrame: Bool) -> [UInt8] {
        guard format == .h264 else {
            return isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]
        }
        let parameters: [UInt8] = [0, 0, 0, 1, 0x67, 0x42, 0xe0, 0x1f, 0x8c, 0, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80]
        return isKeyFrame ? parameters + [0, 0, 0, 1, 0x65, 0x88] : [0, 0, 0, 1, 0x41, 0x9a]
    }

    func sound(_ number: Int, _ title: String, level: UInt8 = 20, format: PayloadFormat = .opus) throws {
        guard let sender = senders[title] else { return }
        var frame = EncodedFrame(
            payload: [0x78, UInt8(number % 250 + 1)], timestamp: UInt32(number * 20) * format.clockRate / 1_000,
            isKeyFrame: true, format: format)
        frame.metadata.audioLevel = AudioLevel(isVoice: true, level: level)
        try publisher.send(frame, on: sender, at: venue.now)
    }

    /// Tells how large it shows somebody's track (adaptive stream).
    func show(_ track: LiveKitTrackInfo?, width: UInt32, height: UInt32) {
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [track?.sid ?? ""]
                    $0.width = width
                    $0.height = height
                }), from: self)
    }

    /// How a track of this client's is sent; nil before it has been negotiated.
    func sending(_ title: String) -> SendParameters? {
        guard let sender = senders[title] else { return nil }
        return publisher.transceivers.first { $0.id == sender }?.sendParameters
    }

    /// A packet that somebody else has made of a track of this client's.
    func inject(_ packet: [UInt8]) { venue.up(packet, of: self, from: hosts[0]) }

    /// The numbers of what came of a track.
    func numbers(of track: LiveKitTrackInfo?) -> [UInt8] { frames[track?.sid ?? ""]?.compactMap(\.payload.last) ?? [] }

    // MARK: Data

    /// - Parameter sequence: nil for the next one of a reliable message.
    func say(
        _ text: String, _ label: String = "_reliable", to destinations: [String] = [], sequence number: UInt32? = nil,
        change: (inout LiveKitDataPacket) -> Void = { _ in }
    ) throws {
        if label == "_reliable", number == nil { sequence += 1 }
        var packet = LiveKitDataPacket.with {
            // As the Python client has it: the wrong way round.
            $0.kind = label == "_reliable" ? .lossy : .reliable
            $0.user.payload = .init(text.utf8)
            $0.destinationIdentities = destinations
            $0.sequence = label == "_reliable" ? number ?? sequence : 0
            $0.participantIdentity = "somebody else"
        }
        change(&packet)
        try send(packet, label)
    }

    func send(_ packet: LiveKitDataPacket, _ label: String = "_reliable") throws {
        try sendBytes(try packet.serializedBytes(), label)
    }

    func sendBytes(_ bytes: [UInt8], _ label: String = "_reliable") throws {
        guard let channel = up[label] else { return }
        try publisher.send(.binary(bytes), on: channel, at: venue.now)
    }

    func sendText(_ text: String, _ label: String) throws {
        guard let channel = up[label] else { return }
        try publisher.send(.text(text), on: channel, at: venue.now)
    }

    /// As SDKs do: not more is given to the channel than a little.
    func sayIfThereIsRoom(_ text: String) throws -> Bool {
        guard let channel = up["_reliable"], publisher.bufferedAmount(of: channel) < 128 << 10 else { return false }
        try say(text)
        return true
    }

    /// The one that it hears on.
    func closeReliable() {
        if mode == .dual {
            guard let channel = down.first(where: { $0.value == "_reliable" })?.key else { return }
            return subscriber.closeDataChannel(channel, at: venue.now)
        }
        guard let channel = up["_reliable"] else { return }
        publisher.closeDataChannel(channel, at: venue.now)
    }

    /// Makes another one.
    func openReliable() throws { try open("_reliable") }

    func open(_ label: String) throws {
        up[label] = try publisher.createDataChannel(label, DataChannelInit(), at: venue.now)
    }

    /// What came, as `sender: text`.
    var heard: [String] {
        messages.map { "\($0.packet.participantIdentity): \(String(decoding: $0.packet.user.payload, as: UTF8.self))" }
    }

=======
>>>>>>> bbb11788 (Tests: a room's client has a file each for publishing, data channels and exchanges)
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
