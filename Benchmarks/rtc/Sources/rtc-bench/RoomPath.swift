import CCallgrind
import RTCEngine
import RTCSecurity
import RTCWire
import SFUCore

/// A packet's way through a room alone, for callgrind: a room with one who publishes and many who are subscribed,
/// joined in memory. What the room does is in `inRoom`, and that alone is counted with `--collect-atstart=no`.
enum RoomPath {
    static let packetsPerFrame = 5

    static func run(_ frames: Int, to subscribers: Int, inBursts isBurst: Bool, isCold: Bool) throws {
        let room = try BenchRoom(subscribers: subscribers, isCold: isCold)
        try room.warmUp()
        let before = room.packetsTaken
        let timeBefore = room.nanosecondsInRoom
        try room.send(frames, inBursts: isBurst)
        let packets = room.packetsTaken - before
        guard packets >= frames * packetsPerFrame * subscribers else { throw BenchmarkError.nothingArrived }
        report(["packets": packets, "nanoseconds a packet": (room.nanosecondsInRoom - timeBefore) / packets])
    }
}

/// A room with its people, and time that moves when we say so.
private final class BenchRoom {
    private final class Person {
        var machine: PeerMachine
        let id: RoomPeerID
        let address: TransportAddress

        init(_ machine: consuming PeerMachine, _ id: RoomPeerID, _ address: TransportAddress) {
            self.machine = machine
            self.id = id
            self.address = address
        }
    }

    private let room = Room(random: .system)
    private let publisher: Person
    private let addresses: [TransportAddress: Int]
    private var subscribers: [Person] = []
    private var video: TransceiverID
    private var outbox = DatagramOutbox(sealingIn: (try? security.get())?.makeSealingBatch())
    private var now = Instant.zero + .seconds(Int64(1))
    private var frameNumber = 0
    private var wantsKeyFrame = true
    private(set) var packetsTaken = 0
    private(set) var nanosecondsInRoom = 0
    /// What the room has sent and nobody has taken yet, and where it lies in `downBytes`.
    private var down: [(to: TransportAddress, place: Range<Int>)] = []
    private var downBytes: [UInt8] = []

    /// What others do on the core between two packets: they fill its caches.
    private var others: [UInt8]

    private static let security = Result {
        try OpenSSLSecurity(
            profiles: CommandLine.arguments.contains("cm") ? [.aes128CMHMACSHA1_80] : SRTPProfile.allCases)
    }
    private static let host = TransportAddress(.v4(0x7f00_0001), port: 7_882)
    private static let frameInterval = Interval.microseconds(33_333)

    private static func address(_ number: Int) -> TransportAddress {
        TransportAddress(.v4(0x7f01_0000 + UInt32(number)), port: 5_000)
    }

    private static func machine(
        _ unit: MediaUnit, _ pacing: CongestionConfiguration.Pacing, isLite: Bool
    ) throws -> PeerMachine {
        let security = try security.get()
        var negotiation = NegotiatorConfiguration(
            fingerprint: security.localFingerprint, audioCodecs: [], videoCodecs: [.vp8], isICELite: isLite)
        negotiation.receivesSimulcast = isLite
        var ice = ICEConfiguration()
        ice.isLite = isLite
        var configuration = PeerMachineConfiguration(
            ice: ice, negotiation: negotiation, wallClockOffset: .zero,
            congestion: CongestionConfiguration(pacing: pacing))
        configuration.unit = unit
        configuration.receivesPackets = true
        return PeerMachine(configuration: configuration, security: security, random: .system)
    }

    init(subscribers count: Int, isCold: Bool) throws {
        others = [UInt8](repeating: 1, count: isCold ? 96 << 20 : 0)
        let (room, now) = (room, now)
        let ids = try (0...count).map { _ in room.add(try Self.machine(.packets, .forwarded, isLite: true)) }
        for id in ids {
            room.withMachine(of: id) { machine in
                machine.addLocalHost(Self.host, at: now)
                machine.localHostsComplete(at: now)
            }
        }
        addresses = Dictionary(uniqueKeysWithValues: (0...count).map { (Self.address($0), $0) })
        publisher = Person(try Self.machine(.frames, .off, isLite: false), ids[0], Self.address(0))
        video = try publisher.machine.addTransceiver(.video, direction: .sendonly, streamIDs: ["bench"])
        for number in 1...count {
            subscribers.append(
                Person(try Self.machine(.frames, .off, isLite: false), ids[number], Self.address(number)))
        }
        for person in [publisher] + subscribers {
            person.machine.addLocalHost(person.address, at: now)
            person.machine.localHostsComplete(at: now)
        }
        let publication = try publish()
        try connect([publisher])
        for person in subscribers { try subscribe(person, to: publication) }
        try connect(subscribers)
    }

    /// The room's part: callgrind counts it and not that of its people.
    @inline(never) private func inRoom(_ body: () -> Void) {
        let before = threadNanoseconds()
        ccallgrind_toggle()
        body()
        ccallgrind_toggle()
        nanosecondsInRoom += threadNanoseconds() - before
    }

    // MARK: Negotiation

    private func publish() throws -> PublicationID {
        let now = now
        try publisher.machine.setLocalDescription(
            .offer, try publisher.machine.createOffer(iceRestart: false), at: now)
        let offer = publisher.machine.localDescription?.sdp
        let answered = try room.withMachine(of: publisher.id) { machine throws(PeerError) in
            try machine.setRemoteDescription(.offer, offer, at: now)
            try machine.setLocalDescription(.answer, try machine.createAnswer(), at: now)
            return (machine.localDescription?.sdp, machine.transceivers[0].id)
        }
        guard let (answer, transceiver) = answered else { throw BenchmarkError.notConnected }
        try publisher.machine.setRemoteDescription(.answer, answer, at: now)
        return try room.publish(
            on: transceiver, of: publisher.id, PublicationDescription(codec: .vp8, format: .vp8), at: now)
    }

    private func subscribe(_ person: Person, to publication: PublicationID) throws {
        let now = now
        try room.subscribe(person.id, to: publication, streamID: "bench", at: now)
        let offer = try room.withMachine(of: person.id) { machine throws(PeerError) in
            try machine.setLocalDescription(.offer, try machine.createOffer(iceRestart: false), at: now)
            return machine.localDescription?.sdp
        }
        try person.machine.setRemoteDescription(.offer, offer ?? nil, at: now)
        try person.machine.setLocalDescription(.answer, try person.machine.createAnswer(), at: now)
        let answer = person.machine.localDescription?.sdp
        try room.withMachine(of: person.id) { machine throws(PeerError) in
            try machine.setRemoteDescription(.answer, answer, at: now)
        }
    }

    private func connect(_ people: [Person]) throws {
        for _ in 0..<2_000 {
            try pass(.milliseconds(5))
            if people.allSatisfy({ $0.machine.connectionState == .connected }) { return }
        }
        throw BenchmarkError.notConnected
    }

    // MARK: Packets

    /// Until every subscriber has pictures, and buffers have the size that they keep.
    func warmUp() throws {
        for _ in 0..<1_000 where packetsTaken < 60 * RoomPath.packetsPerFrame * subscribers.count {
            try send(1, inBursts: false)
        }
    }

    /// 30 pictures a second, whose packets come by themselves or together.
    func send(_ frames: Int, inBursts isBurst: Bool) throws {
        for _ in 0..<frames {
            let frame = EncodedFrame.vp8(
                bytes: RoomPath.packetsPerFrame * 1_100, timestamp: UInt32(truncatingIfNeeded: frameNumber * 3_000),
                isKeyFrame: wantsKeyFrame)
            wantsKeyFrame = false
            frameNumber += 1
            try publisher.machine.send(frame, on: video, at: now)
            var packets: [Transmit] = []
            while let transmit = publisher.machine.pollTransmit() { packets.append(transmit) }
            if isBurst {
                useCaches()
                up(packets, of: publisher)
                try pass(Self.frameInterval)
            } else {
                let gap = Interval(nanoseconds: Self.frameInterval.nanoseconds / Int64(max(packets.count, 1)))
                for packet in packets {
                    useCaches()
                    up([packet], of: publisher)
                    try pass(gap)
                }
            }
        }
    }

    private func useCaches() {
        for place in stride(from: 0, to: others.count, by: 64) { others[place] &+= 1 }
    }

    private func up(_ datagrams: [Transmit], of person: Person) {
        for datagram in datagrams {
            var bytes = datagram.bytes
            inRoom {
                room.receive(
                    &bytes, for: person.id, from: person.address, to: Self.host, into: &outbox, at: now,
                    sending: { take(&$0) })
            }
        }
        settle()
    }

    private func settle() {
        inRoom {
            room.forwardReceived(into: &outbox, at: now, sending: { take(&$0) })
            take(&outbox)
            room.drainTransmits(at: now) { _, datagram in keep(datagram.bytes.span.bytes, to: datagram.to) }
        }
        while room.pollEvent() != nil {}
        for (to, place) in down { deliver(Array(downBytes[place]), to: to) }
        down.removeAll(keepingCapacity: true)
        downBytes.removeAll(keepingCapacity: true)
    }

    /// Where the system call would read them.
    private func take(_ outbox: inout DatagramOutbox) {
        outbox.forEach { keep(outbox.bytes.span.bytes.extracting($0.range), to: $0.to) }
        outbox.removeAll()
    }

    private func keep(_ datagram: RawSpan, to address: TransportAddress) {
        let start = downBytes.count
        datagram.withUnsafeBytes { downBytes.append(contentsOf: $0) }
        down.append((address, start..<downBytes.count))
    }

    private func deliver(_ datagram: [UInt8], to address: TransportAddress) {
        let number = addresses[address] ?? 0
        let person = number == 0 ? publisher : subscribers[number - 1]
        var bytes = datagram
        person.machine.receive(&bytes, from: Self.host, to: address, at: now)
        if person.machine.takePacket(&bytes) != nil { packetsTaken += 1 }
    }

    /// Time goes on, for all.
    private func pass(_ time: Interval) throws {
        now = now + time
        if let wake = room.nextWake, wake <= now { inRoom { room.tick(at: now) } }
        settle()
        for person in [publisher] + subscribers {
            person.machine.tick(at: now)
            while let transmit = person.machine.pollTransmit() { up([transmit], of: person) }
            while let event = person.machine.pollEvent() {
                if case .keyFrameRequested = event { wantsKeyFrame = true }
            }
        }
    }
}
