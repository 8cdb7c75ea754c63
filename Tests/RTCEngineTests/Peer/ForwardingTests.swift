import RTCSecurity
import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A sender and a receiver of frames, and between them a server with a connection to each that makes no frames: what
/// comes on one leaves on the other.
private final class Forwarder {
    var sender: PeerMachine
    var ingress: PeerMachine
    var egress: PeerMachine
    var receiver: PeerMachine
    var now = Instant.zero + .seconds(Int64(1))
    let sent: TransceiverID
    let out: TransceiverID
    var received: [EncodedFrame] = []
    /// Each packet that was forwarded, by its number: what repeats are made of.
    var kept: [UInt16: (packet: ReceivedPacket, bytes: [UInt8])] = [:]
    /// Which packets the server took in, with their layers.
    var passed: [ReceivedPacket] = []
    /// As a server has it: packets of AES-CM are sealed when it is sent.
    var outbox = DatagramOutbox(sealingIn: try? OpenSSLSecurity().makeSealingBatch())
    /// How many packets are said to be forwarded together.
    var batch = 1
    /// Packets that did not wait in the egress's queue.
    var passedAtOnce = 0
    var requests = 0
    var keyFrameRequests = 0
    /// The layer that goes on.
    var layer = 0
    var isLostBefore: ([UInt8]) -> Bool = { _ in false }
    var isLostBehind: ([UInt8]) -> Bool = { _ in false }

    private static func address(_ last: Int) -> TransportAddress {
        guard let address = IPAddress("192.0.2.\(last)") else { preconditionFailure() }
        return TransportAddress(address, port: 1_000)
    }

    init(
        _ kind: MediaKind, layers: [SendEncoding] = [], profile: SRTPProfile = .aeadAES128GCM,
        _ adjust: (inout NegotiatorConfiguration) -> Void = { _ in }
    ) throws {
        func machine(_ seed: UInt64, _ unit: MediaUnit) -> PeerMachine {
            let security = ScriptedSecurityProvider(seed: seed, profile: profile)
            var negotiation = NegotiatorConfiguration(fingerprint: security.localFingerprint)
            negotiation.receivesSimulcast = unit == .packets
            adjust(&negotiation)
            // Numbers of extensions that differ between the two connections.
            if seed > 2 {
                for place in negotiation.headerExtensions.indices {
                    negotiation.headerExtensions[place].preferredID += 3
                }
            }
            var configuration = PeerMachineConfiguration(
                ice: ICEConfiguration(), negotiation: negotiation, wallClockOffset: .zero)
            configuration.unit = unit
            return PeerMachine(configuration: configuration, security: security, random: .seeded(seed))
        }
        sender = machine(1, .frames)
        ingress = machine(2, .packets)
        egress = machine(3, .packets)
        receiver = machine(4, .frames)
        sent = try sender.addTransceiver(kind, direction: .sendonly, streamIDs: [], encodings: layers)
        out = try egress.addTransceiver(kind, direction: .sendonly, streamIDs: [])
        try Self.join(&sender, 1, &ingress, 2, at: now)
        try Self.join(&egress, 3, &receiver, 4, at: now)
        for _ in 0..<3_000
        where !sender.secure.isProtected || !ingress.secure.isProtected || !egress.secure.isProtected
            || !receiver.secure.isProtected
        { step() }
    }

    private static func join(
        _ offerer: inout PeerMachine, _ first: Int, _ answerer: inout PeerMachine, _ second: Int, at now: Instant
    ) throws {
        try offerer.setLocalDescription(.offer, try offerer.createOffer(iceRestart: false), at: now)
        offerer.addLocalHost(address(first), at: now)
        offerer.localHostsComplete(at: now)
        try answerer.setRemoteDescription(.offer, offerer.localDescription?.sdp, at: now)
        try answerer.setLocalDescription(.answer, try answerer.createAnswer(), at: now)
        answerer.addLocalHost(address(second), at: now)
        answerer.localHostsComplete(at: now)
        try offerer.setRemoteDescription(.answer, answerer.localDescription?.sdp, at: now)
    }

    /// A millisecond.
    func step() {
        now += .milliseconds(1)
        sender.tick(at: now)
        ingress.tick(at: now)
        egress.tick(at: now)
        receiver.tick(at: now)
        while var datagram = sender.pollTransmit() {
            if isLostBefore(datagram.bytes) { continue }
            ingress.receive(&datagram.bytes, from: Self.address(1), to: Self.address(2), at: now)
            if let (packet, bytes) = ingress.takeConfirmedPacket() { forward(packet, bytes) }
            if let packet = ingress.takePacket(&datagram.bytes) { forward(packet, datagram.bytes) }
        }
        while var datagram = ingress.pollTransmit() {
            sender.receive(&datagram.bytes, from: Self.address(2), to: Self.address(1), at: now)
        }
        outbox.seal()
        egress.sealed(in: outbox, at: now)
        outbox.forEach { entry in
            var bytes = Array(outbox.bytes[entry.range])
            if isLostBehind(bytes) { return }
            receiver.receive(&bytes, from: Self.address(3), to: Self.address(4), at: now)
        }
        outbox.removeAll()
        while var datagram = egress.pollTransmit() {
            if isLostBehind(datagram.bytes) { continue }
            receiver.receive(&datagram.bytes, from: Self.address(3), to: Self.address(4), at: now)
        }
        while var datagram = receiver.pollTransmit() {
            egress.receive(&datagram.bytes, from: Self.address(4), to: Self.address(3), at: now)
        }
        while let event = receiver.pollEvent() { if case .frame(_, let frame) = event { received.append(frame) } }
        while let event = sender.pollEvent() { if case .keyFrameRequested = event { keyFrameRequests += 1 } }
        while ingress.pollEvent() != nil {}
        while let event = egress.pollEvent() {
            if case .packetRequested(_, let number) = event { `repeat`(number) }
        }
    }

    private func forward(_ packet: ReceivedPacket, _ bytes: [UInt8]) {
        passed.append(packet)
        guard packet.layer == layer else { return }
        var head = ForwardedHead(
            sequenceNumber: packet.header.sequenceNumber &+ 1_000, timestamp: packet.header.timestamp &+ 90_000,
            marker: packet.header.marker)
        head.batch = batch
        kept[head.sequenceNumber] = (packet, bytes)
        hand(head, packet, bytes)
    }

    @discardableResult
    func `repeat`(_ number: UInt16) -> Forwarding? {
        requests += 1
        guard let (packet, bytes) = kept[number] else { return nil }
        return hand(
            ForwardedHead(
                sequenceNumber: number, timestamp: packet.header.timestamp &+ 90_000, marker: packet.header.marker,
                isRepeat: true), packet, bytes)
    }

    @discardableResult
    private func hand(_ head: ForwardedHead, _ packet: ReceivedPacket, _ bytes: [UInt8]) -> Forwarding {
        let span = bytes.span.bytes
        let known = ingress.receivedExtensions
        // The two elements may become longer by their form.
        let room = bytes.count + 2 * HeaderExtensionWriter.elementOverhead
        let forwarding = egress.forward(head, on: out, room: room, into: &outbox, at: now) { ids, writer, out in
            for (from, to) in [(known.audioLevel, ids.audioLevel), (known.videoOrientation, ids.videoOrientation)] {
                guard let to, let range = packet.header.extensionElement(from, in: span),
                    writer.begin(to, length: range.count, in: &out) != nil
                else { continue }
                out.append(contentsOf: span.extracting(range))
            }
        } payload: {
            $0.append(contentsOf: packet.header.payload(of: span))
        }
        if case .queued = forwarding { egress.sendForwarded(at: now) } else { passedAtOnce += 1 }
        return forwarding
    }

    /// A picture of some packets, then 33 ms.
    func send(_ number: Int, layer rid: String? = nil, size: Int = 3_000, isKeyFrame: Bool = false) throws {
        var frame = EncodedFrame(
            payload: CodedBytes.frame(
                .vp8, isKeyFrame: isKeyFrame, body: [UInt8](repeating: UInt8(number % 250 + 1), count: size)),
            timestamp: UInt32(number * 3_000), isKeyFrame: isKeyFrame, format: .vp8)
        frame.metadata.orientation = VideoOrientation(quarterTurns: 1)
        if let rid {
            try sender.send(frame, layer: rid, on: sent, at: now)
        } else {
            try sender.send(frame, on: sent, at: now)
        }
        for _ in 0..<33 { step() }
    }

    /// The last byte of each picture that came.
    var bodies: [UInt8] { received.compactMap(\.payload.last) }
}

@Suite struct ForwardingTests {
    /// A media packet of a big picture, going either way.
    private static func isPicture(_ bytes: [UInt8]) -> Bool { bytes.count > 400 && bytes[0] & 0xc0 == 0x80 }

    @Test func `pictures come through packet by packet, with what their headers said of them`() throws {
        let server = try Forwarder(.video) { $0.videoCodecs = [.vp8] }
        for number in 0..<30 { try server.send(number, isKeyFrame: number == 0) }
        #expect(server.bodies == (1...30).map { UInt8($0) })
        #expect(server.received.allSatisfy { $0.metadata.orientation?.quarterTurns == 1 })
        // One after the other, and each once.
        #expect(zip(server.passed, server.passed.dropFirst()).allSatisfy { $1.sequence == $0.sequence + 1 })
        let outbound = try #require(server.egress.stats(at: server.now).outboundRTP.first)
        #expect(outbound.framesSent == 30)
        // The first ones begin the estimate, and some are held back by the pacer.
        #expect(server.passedAtOnce > server.passed.count / 2)
    }

    @Test func `what is lost before the server is asked for there and goes on once`() throws {
        let server = try Forwarder(.video) { $0.videoCodecs = [.vp8] }
        try server.send(0, isKeyFrame: true)
        var count = 0
        server.isLostBefore = { bytes in
            guard Self.isPicture(bytes) else { return false }
            count += 1
            return count % 5 == 0
        }
        for number in 1..<59 { try server.send(number) }
        server.isLostBefore = { _ in false }
        // Nobody can miss what was the last of all.
        try server.send(59)
        for _ in 0..<300 { server.step() }
        #expect(server.bodies == (1...60).map { UInt8($0) })
        #expect(server.passed.contains { $0.isRetransmission })
        let sequences = server.passed.filter { !$0.header.payloadRange.isEmpty }.map(\.sequence)
        #expect(Set(sequences).count == sequences.count)
        let inbound = try #require(server.ingress.stats(at: server.now).inboundRTP.first)
        #expect(inbound.nackCount > 0)
    }

    @Test func `what is lost behind the server is asked of the server, which has it`() throws {
        let server = try Forwarder(.video) { $0.videoCodecs = [.vp8] }
        try server.send(0, isKeyFrame: true)
        let before = server.passed.count
        var count = 0
        server.isLostBehind = { bytes in
            guard Self.isPicture(bytes) else { return false }
            count += 1
            return count % 5 == 0
        }
        for number in 1..<59 { try server.send(number) }
        server.isLostBehind = { _ in false }
        // Nobody can miss what was the last of all.
        try server.send(59)
        for _ in 0..<300 { server.step() }
        #expect(server.bodies == (1...60).map { UInt8($0) })
        #expect(server.requests > 10)
        #expect(server.passed.dropFirst(before).allSatisfy { !$0.isRetransmission }, "the sender is not asked")
        let outbound = try #require(server.egress.stats(at: server.now).outboundRTP.first)
        #expect(outbound.retransmittedPacketsSent > 10)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `without a stream of retransmissions the packet comes again as it was`(profile: SRTPProfile) throws {
        let server = try Forwarder(.video, profile: profile) { configuration in
            var codec = CodecParameters.vp8
            codec.rtxPayloadType = nil
            configuration.videoCodecs = [codec]
        }
        try server.send(0, isKeyFrame: true)
        var count = 0
        server.isLostBehind = { bytes in
            guard Self.isPicture(bytes) else { return false }
            count += 1
            return count % 5 == 0
        }
        for number in 1..<39 { try server.send(number) }
        server.isLostBehind = { _ in false }
        // Nobody can miss what was the last of all.
        try server.send(39)
        for _ in 0..<300 { server.step() }
        #expect(server.bodies == (1...40).map { UInt8($0) })
        #expect(server.requests > 5)
    }

    @Test(arguments: [1, 8])
    func `without padding a probe waits for packets that come together, and others do not wait for it`(
        batch: Int
    ) throws {
        let server = try Forwarder(.video) { configuration in
            var codec = CodecParameters.vp8
            codec.rtxPayloadType = nil
            configuration.videoCodecs = [codec]
        }
        try server.send(0, size: 300, isKeyFrame: true)
        server.batch = batch
        server.passedAtOnce = 0
        let before = server.passed.count
        for number in 1..<60 { try server.send(number, size: 300) }
        #expect(server.egress.congestion.mayProbe, "the first probe waits still")
        let passed = server.passed.count - before
        #expect(server.passedAtOnce == (batch == 1 ? passed : 0))
        #expect(server.bodies == (1...60).map { UInt8($0) })
    }

    @Test func `without a stream of retransmissions what is asked for too late takes no transport-wide number`()
        throws
    {
        let server = try Forwarder(.video) { configuration in
            var codec = CodecParameters.vp8
            codec.rtxPayloadType = nil
            configuration.videoCodecs = [codec]
        }
        let begin = server.egress.transportSequence
        for number in 0..<60 { try server.send(number, isKeyFrame: number == 0) }
        let numbers = server.passed.map { $0.header.sequenceNumber &+ 1_000 }
        let last = try #require(numbers.last)
        let first = try #require(numbers.dropLast(80).last)
        // The last one goes out again as it was.
        let before = server.egress.transportSequence
        #expect(before != begin, "packets are numbered")
        #expect(server.repeat(last) == .queued)
        for _ in 0..<20 { server.step() }
        #expect(server.egress.transportSequence == before)
        let sent = server.egress.counters.packetsSent
        #expect(server.repeat(first) == .refused)
        for _ in 0..<20 { server.step() }
        #expect(server.egress.transportSequence == before)
        #expect(server.egress.counters.protectFailures == 0)
        #expect(server.egress.counters.packetsSent <= sent + 2, "reports")

        // Of frames likewise: they are remembered for longer than packets can be sent again.
        let source = try #require(server.sender.senders.first?.stream.ssrc)
        let nack = GenericNACK(
            senderSSRC: 1, mediaSSRC: source,
            entries: [GenericNACK.Entry(packetID: first &- 1_000, followingLost: 0)])
        var queue = PacketQueue()
        server.sender.senders.entries[0].value?.stream.receive(.nack(nack), into: &queue, at: server.now)
        let popped = queue.popFirst()
        let packet = try #require(popped)
        #expect(packet.isRepeat)
        let untouched = server.sender.transportSequence
        server.sender.packets.append(packet)
        server.sender.sendPackets(at: server.now)
        for _ in 0..<50 { server.step() }
        #expect(server.sender.transportSequence == untouched)
        #expect(server.sender.counters.protectFailures == 0)
    }

    @Test func `layers come with their places, and a key frame is asked of one of them`() throws {
        let layers = ["q", "h", "f"].map { SendEncoding(rid: $0) }
        let server = try Forwarder(.video, layers: layers) { $0.videoCodecs = [.vp8] }
        server.layer = 2
        for number in 0..<10 {
            for rid in ["q", "h", "f"] { try server.send(number, layer: rid, size: 600, isKeyFrame: number == 0) }
        }
        #expect(Set(server.passed.map(\.layer)) == [0, 1, 2])
        #expect(server.bodies == (1...10).map { UInt8($0) })
        let asked = server.keyFrameRequests
        let pictures = try #require(server.ingress.transceivers.first?.id)
        server.ingress.requestKeyFrame(ofLayer: 1, on: pictures, at: server.now)
        for _ in 0..<50 { server.step() }
        #expect(server.keyFrameRequests == asked + 1)
        #expect(server.senderReportsOfEachLayer(on: pictures) == 3)
    }

    @Test func `sound comes through with its level`() throws {
        let server = try Forwarder(.audio)
        for number in 0..<50 {
            var frame = EncodedFrame(
                payload: [0x78, UInt8(number + 1)], timestamp: UInt32(number * 960), isKeyFrame: true, format: .opus)
            frame.metadata.audioLevel = AudioLevel(isVoice: true, level: 30)
            try server.sender.send(frame, on: server.sent, at: server.now)
            for _ in 0..<20 { server.step() }
        }
        #expect(server.bodies == (1...50).map { UInt8($0) })
        #expect(server.received.allSatisfy { $0.metadata.audioLevel?.level == 30 })
    }

    @Test func `a source that leaps ahead with every packet leaves nothing behind`() {
        var configuration = ReceiveStreamConfiguration(
            ssrc: 7, localSSRC: 1, cname: "c", codecs: [96: .media(.vp8)])
        configuration.unit = .packets
        var stream = ReceiveStream(configuration: configuration)
        var queue = PacketQueue()
        var number: UInt16 = 0
        for step in 0..<500 {
            number &+= 2_500
            var bytes: [UInt8] = []
            RTPHeader(marker: true, payloadType: 96, sequenceNumber: number, timestamp: UInt32(step), ssrc: 7)
                .write(into: &bytes)
            bytes += [0x10, 0, 0, 0]
            guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { continue }
            stream.receive(header, bytes.span.bytes, into: &queue, at: .zero + .milliseconds(Int64(step)))
            #expect(stream.passing.take() != nil)
        }
        #expect(stream.givenUp.isEmpty)
        #expect(stream.nacks.isEmpty)
    }

    @Test func `reports behind the server tell the sender's time where it is known`() throws {
        let server = try Forwarder(.video) { $0.videoCodecs = [.vp8] }
        try server.send(0, isKeyFrame: true)
        server.egress.relate(timestamp: 5_000_000, to: server.now, on: server.out)
        let began = server.now
        for number in 1..<60 { try server.send(number) }
        let clock = try #require(server.receiver.receivers.first?.stream?.remote.clock)
        let elapsed = WallClock(offset: .zero).ntp(at: began)
        let seconds = Double(clock.ntp.value &- elapsed.value) / 4_294_967_296
        #expect(abs(Double(clock.timestamp &- 5_000_000) / 90_000 - seconds) < 0.001)
    }
}

extension Forwarder {
    fileprivate func senderReportsOfEachLayer(on id: TransceiverID) -> Int {
        for _ in 0..<6_000 where (0..<3).contains(where: { ingress.senderClock(ofLayer: $0, on: id) == nil }) { step() }
        return (0..<3).count { ingress.senderClock(ofLayer: $0, on: id) != nil }
    }
}

@Suite struct RecentSequencesTests {
    @Test func `each number is taken once, in any order, as far back as the window goes`() {
        var recent = RecentSequences()
        func taken(_ numbers: [Int64]) -> [Int64] { numbers.filter { recent.insert($0) } }
        #expect(taken([-5, -5, 10, -4, 10]) == [-5, 10, -4])
        #expect(taken(Array(-3..<10)) == Array(-3..<10))
        #expect(taken([5_000, 5_000 - 1_024, 5_000 - 1_023, 5_000 - 1_023]) == [5_000, 5_000 - 1_023])
        recent.reset()
        #expect(taken([10, 10]) == [10])
    }
}
