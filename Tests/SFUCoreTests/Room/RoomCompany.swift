import CongestionLinks
import RTCEngine
import RTCWire

@testable import SFUCore

/// A room in virtual time, with people whose connections make and take whole frames: each has one to publish and one to
/// subscribe, as LiveKit's clients do.
final class RoomCompany {
    /// One who is in the room.
    final class Person {
        let name: String
        fileprivate(set) var publisher: PeerMachine
        fileprivate(set) var subscriber: PeerMachine
        let publishing: RoomPeerID
        let subscribing: RoomPeerID
        fileprivate let place: Int
        /// What came of each publication.
        var received: [PublicationID: [EncodedFrame]] = [:]
        fileprivate(set) var tracks: [TransceiverID: PublicationID] = [:]
        var keyFrameRequests: [TransceiverID: Int] = [:]
        /// The frames of this person's next pictures are key frames.
        var wantsKeyFrame = false

        fileprivate init(
            _ name: String, _ publisher: consuming PeerMachine, _ subscriber: consuming PeerMachine,
            _ publishing: RoomPeerID, _ subscribing: RoomPeerID, place: Int
        ) {
            self.name = name
            self.publisher = publisher
            self.subscriber = subscriber
            self.publishing = publishing
            self.subscribing = subscribing
            self.place = place
        }
    }

    let room = Room(random: .seeded(7))
    private(set) var now = Instant.zero + .seconds(Int64(1))
    private(set) var forwarded = DatagramOutbox(sealingIn: NullSecurity(seed: 0).makeSealingBatch())
    /// What the room has sent in this step, and how often before its outbox was taken.
    private var down: [(bytes: [UInt8], from: TransportAddress, to: TransportAddress)] = []
    private(set) var fullOutboxes = 0
    private(set) var people: [Person] = []
    private(set) var paused: [(publication: PublicationID, isPaused: Bool)] = []
    private(set) var speakers: [[RoomEvent.Speaker]] = []
    private(set) var qualities: [(publication: PublicationID, quality: VideoQuality)] = []
    /// Datagrams from the room to a person that are lost, and from a person to the room.
    var isLostDown: (Person, [UInt8]) -> Bool = { _, _ in false }
    var isLostUp: (Person, [UInt8]) -> Bool = { _, _ in false }
    /// How long a datagram takes from a person to the room.
    var delayUp: ([UInt8]) -> Interval = { _ in .zero }
    private var onTheirWay: [(due: Instant, datagram: Transmit, from: Person, to: RoomPeerID)] = []

    private static func address(_ host: Int, _ port: UInt16) -> TransportAddress {
        TransportAddress(.v4(0xc000_0200 | UInt32(host)), port: port)
    }

    private static func machine(
        _ seed: UInt64, _ unit: MediaUnit, sound: [CodecParameters] = [.opus, .redundantOpus, .pcmu]
    ) -> PeerMachine {
        let security = NullSecurity(seed: seed)
        var negotiation = NegotiatorConfiguration(fingerprint: security.localFingerprint)
        negotiation.receivesSimulcast = unit == .packets
        negotiation.audioCodecs = sound
        negotiation.videoCodecs = [.vp8]
        var configuration = PeerMachineConfiguration(
            ice: ICEConfiguration(), negotiation: negotiation, wallClockOffset: .zero)
        configuration.unit = unit
        // As on a server. Publishers here send a picture at once.
        configuration.congestion.pacing = unit == .packets ? .forwarded : .off
        return PeerMachine(configuration: configuration, security: security, random: .seeded(seed))
    }

    // MARK: People

    /// Somebody comes.
    ///
    /// - Parameter sound: what its connections know.
    func join(
        _ name: String, mayPause: Bool = false, needsPackets: Bool = false, sound: [CodecParameters] = [.opus]
    ) -> Person {
        let place = people.count + 1
        let seed = UInt64(place * 10)
        let person = Person(
            name, Self.machine(seed, .frames, sound: sound), Self.machine(seed + 1, .frames, sound: sound),
            room.add(Self.machine(seed + 2, .packets)),
            room.add(Self.machine(seed + 3, .packets), mayPause: mayPause, needsPackets: needsPackets), place: place)
        people.append(person)
        person.publisher.addLocalHost(Self.address(place, 1), at: now)
        person.publisher.localHostsComplete(at: now)
        person.subscriber.addLocalHost(Self.address(place, 2), at: now)
        person.subscriber.localHostsComplete(at: now)
        for (peer, port) in [(person.publishing, UInt16(place * 2)), (person.subscribing, UInt16(place * 2 + 1))] {
            room.withMachine(of: peer) { machine in
                machine.addLocalHost(Self.address(200, port), at: now)
                machine.localHostsComplete(at: now)
            }
        }
        return person
    }

    /// Somebody is gone without a word.
    func leave(_ person: Person) {
        room.remove(person.publishing, at: now)
        room.remove(person.subscribing, at: now)
        people.removeAll { $0 === person }
    }

    /// Somebody publishes a track.
    ///
    /// - Parameter layers: names of simulcast layers, the lowest first.
    func publish(
        _ person: Person, _ kind: MediaKind, layers: [String] = [], codec: CodecParameters? = nil,
        format: PayloadFormat? = nil, redundancy: CodecParameters? = nil, isScreenShare: Bool = false
    ) throws -> (track: TransceiverID, publication: PublicationID) {
        let track = try person.publisher.addTransceiver(
            kind, direction: .sendonly, streamIDs: [person.name],
            encodings: layers.map { SendEncoding(rid: $0) })
        try person.publisher.setLocalDescription(
            .offer, try person.publisher.createOffer(iceRestart: false), at: now)
        let offer = person.publisher.localDescription?.sdp
        let mid = person.publisher.transceivers.first { $0.id == track }?.mid
        var received: TransceiverID?
        let now = now
        let answer = try room.withMachine(of: person.publishing) { machine throws(PeerError) in
            try machine.setRemoteDescription(.offer, offer, at: now)
            received = machine.transceivers.first { $0.mid == mid }?.id
            if let redundancy, let received { try machine.setCodecPreferences([redundancy, .opus], of: received) }
            try machine.setLocalDescription(.answer, try machine.createAnswer(), at: now)
            return machine.localDescription?.sdp
        }
        try person.publisher.setRemoteDescription(.answer, answer ?? nil, at: now)
        guard let received else { throw RoomError.unusableTransceiver }
        let qualities: [VideoQuality] = [.low, .medium, .high]
        let description = PublicationDescription(
            codec: codec ?? (kind == .video ? .vp8 : .opus), format: format ?? (kind == .video ? .vp8 : .opus),
            redundancy: redundancy, spatialLayers: Array(layers.indices),
            sizes: layers.indices.map {
                SubscriberHints.Size(width: 320 << $0, height: 180 << $0, quality: qualities[min($0, 2)])
            }, framesPerSecond: 30, isScreenShare: isScreenShare)
        return (track, try room.publish(on: received, of: person.publishing, description, at: now))
    }

    /// Somebody wants to see or hear a publication.
    func subscribe(_ person: Person, to publication: PublicationID) throws {
        let transceiver = try room.subscribe(
            person.subscribing, to: publication, streamID: "stream\(publication.rawValue)", at: now)
        try negotiate(person)
        let mid = room.withMachine(of: person.subscribing) { machine in
            machine.transceivers.first { $0.id == transceiver }?.mid
        }
        if let mid, let track = person.subscriber.transceivers.first(where: { $0.mid == mid })?.id {
            person.tracks[track] = publication
        }
    }

    /// The room offers, and the subscriber answers.
    func negotiate(_ person: Person) throws {
        let now = now
        let offer = try room.withMachine(of: person.subscribing) { machine throws(PeerError) in
            try machine.setLocalDescription(.offer, try machine.createOffer(iceRestart: false), at: now)
            return machine.localDescription?.sdp
        }
        try person.subscriber.setRemoteDescription(.offer, offer ?? nil, at: now)
        try person.subscriber.setLocalDescription(.answer, try person.subscriber.createAnswer(), at: now)
        let answer = person.subscriber.localDescription?.sdp
        try room.withMachine(of: person.subscribing) { machine throws(PeerError) in
            try machine.setRemoteDescription(.answer, answer, at: now)
        }
    }

    // MARK: Time

    /// A millisecond.
    func step() {
        now = now + .milliseconds(1)
        for person in people {
            person.publisher.tick(at: now)
            person.subscriber.tick(at: now)
            while let datagram = person.publisher.pollTransmit() { up(datagram, of: person, to: person.publishing) }
            while let datagram = person.subscriber.pollTransmit() {
                up(datagram, of: person, to: person.subscribing)
            }
            takeEvents(of: person)
        }
        arrive()
        if let wake = room.nextWake, wake <= now { room.tick(at: now) }
        room.forwardReceived(into: &forwarded, at: now, sending: sendFull)
        send(&forwarded)
        room.drainTransmits(at: now) { _, datagram in down.append((datagram.bytes, datagram.from, datagram.to)) }
        for (bytes, from, to) in down { deliver(bytes, from: from, to: to) }
        down = []
        while let event = room.pollEvent() {
            switch event {
            case .peer, .codecChanged, .mediaBegan: continue
            case .streamPaused(let publication, _, let isPaused): paused.append((publication, isPaused))
            case .speakersChanged(let news): speakers.append(news)
            case .qualityWanted(let publication, let quality): qualities.append((publication, quality))
            }
        }
    }

    func run(for time: Interval) {
        let end = now + time
        while now < end { step() }
    }

    private func send(_ outbox: inout DatagramOutbox) {
        outbox.forEach { down.append((Array(outbox.bytes[$0.range]), $0.from, $0.to)) }
        outbox.removeAll()
    }

    private func sendFull(_ outbox: inout DatagramOutbox) {
        fullOutboxes += 1
        send(&outbox)
    }

    private func up(_ datagram: Transmit, of person: Person, to peer: RoomPeerID) {
        onTheirWay.append((now + delayUp(datagram.bytes), datagram, person, peer))
    }

    private func arrive() {
        for (_, datagram, person, peer) in onTheirWay.filter({ $0.due <= now }) {
            var bytes = datagram.bytes
            guard !isLostUp(person, bytes) else { continue }
            room.receive(
                &bytes, for: peer, from: datagram.from, to: datagram.to, into: &forwarded, at: now,
                sending: sendFull)
        }
        onTheirWay.removeAll { $0.due <= now }
    }

    private func deliver(_ datagram: [UInt8], from: TransportAddress, to: TransportAddress) {
        guard let person = people.first(where: { Self.address($0.place, 1).ip == to.ip }),
            !isLostDown(person, datagram)
        else { return }
        var bytes = datagram
        if to.port == 1 {
            person.publisher.receive(&bytes, from: from, to: to, at: now)
        } else {
            person.subscriber.receive(&bytes, from: from, to: to, at: now)
        }
        takeEvents(of: person)
    }

    private func takeEvents(of person: Person) {
        while let event = person.publisher.pollEvent() {
            if case .keyFrameRequested(let track) = event {
                person.keyFrameRequests[track, default: 0] += 1
                person.wantsKeyFrame = true
            }
        }
        while let event = person.subscriber.pollEvent() {
            if case .frame(let track, let frame) = event, let publication = person.tracks[track] {
                person.received[publication, default: []].append(frame)
            }
        }
    }

    // MARK: Media

    /// A picture of each named layer (nil: of the only one); its last byte is its number, and before it stands its
    /// layer.
    ///
    /// - Parameters:
    ///   - layers: the lowest first.
    ///   - isLargestFirst: they leave in the other order.
    func picture(
        _ number: Int, of person: Person, _ track: TransceiverID, layers: [String]? = nil, size: Int = 900,
        isLargestFirst: Bool = false
    ) throws {
        let isKeyFrame = person.wantsKeyFrame || number == 0
        person.wantsKeyFrame = false
        let named = Array((layers ?? [""]).enumerated())
        for (layer, rid) in isLargestFirst ? named.reversed() : named {
            let body = [UInt8](repeating: 1, count: size * (layer + 1)) + [UInt8(layer + 1), UInt8(number % 250 + 1)]
            let tag: [UInt8] = isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]
            let frame = EncodedFrame(
                payload: tag + body, timestamp: UInt32(number * 3_000), isKeyFrame: isKeyFrame, format: .vp8)
            if rid.isEmpty {
                try person.publisher.send(frame, on: track, at: now)
            } else {
                try person.publisher.send(frame, layer: rid, on: track, at: now)
            }
        }
    }

    /// A frame as it is.
    func send(_ frame: EncodedFrame, of person: Person, _ track: TransceiverID) throws {
        try person.publisher.send(frame, on: track, at: now)
    }

    /// A packet of a person's that somebody else has made.
    func inject(_ packet: [UInt8], of person: Person) {
        // What `NullSecurity` has in the place of a tag.
        var bytes = packet + [UInt8](repeating: 0, count: 16)
        room.receive(
            &bytes, for: person.publishing, from: Self.address(person.place, 1),
            to: Self.address(200, UInt16(person.place * 2)), into: &forwarded, at: now,
            sending: sendFull)
    }

    func sound(_ number: Int, of person: Person, _ track: TransceiverID, level: UInt8) throws {
        var frame = EncodedFrame(
            payload: [0x78, UInt8(number % 250 + 1)], timestamp: UInt32(number * 960), isKeyFrame: true, format: .opus)
        frame.metadata.audioLevel = AudioLevel(isVoice: true, level: level)
        try person.publisher.send(frame, on: track, at: now)
    }
}

extension RoomCompany.Person {
    /// The numbers of what came of a publication; silence has none.
    func numbers(of publication: PublicationID) -> [UInt8] {
        received[publication]?.map(\.payload).filter { $0 != OpusPacket.silence }.compactMap(\.last) ?? []
    }

    /// When the last report that came says that a frame was captured, in seconds of the room's wall clock.
    func captureTime(of frame: EncodedFrame, _ publication: PublicationID) -> Double? {
        guard let track = tracks.first(where: { $0.value == publication })?.key,
            let report = subscriber.senderClock(ofLayer: 0, on: track)
        else { return nil }
        let ticks = Int32(bitPattern: frame.timestamp &- report.timestamp)
        return Double(report.ntp.value) / 4_294_967_296 + Double(ticks) / Double(frame.format.clockRate)
    }

    /// Their layers, the lowest 1.
    func layers(of publication: PublicationID) -> [UInt8] {
        received[publication]?.map { $0.payload[$0.payload.count - 2] } ?? []
    }
}
