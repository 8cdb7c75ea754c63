import RTCEngine
import RTCWire

/// A connection's whole life with a peer that says what it likes, and an application that asks for what it likes: two
/// machines are connected, and then each step has two bytes, what happens and how, and for some the bytes of a
/// datagram, of a line or of a change behind their length. Nothing crashes, spins, answers without measure, or speaks
/// when it is closed.
func fuzzPeerMachine(_ bytes: RawSpan) {
    var reader = ByteReader(bytes)
    guard let kind = reader.readUInt8(), var call = FuzzedCall(kind) else { return }
    while let what = reader.readUInt8(), let how = reader.readUInt8() { call.step(what, how, &reader) }
    call.end()
}

/// `ours` is what is tried. `theirs` is as good a peer as any, until what it sends is changed or made up.
private struct FuzzedCall: ~Copyable {
    private var ours: PeerMachine
    private var theirs: PeerMachine
    private var now = Instant.zero + .seconds(Int64(1))
    private let takesPackets: Bool
    /// On their way to us.
    private var arriving: [[UInt8]] = []
    private var departing: [[UInt8]] = []
    private var outbox = DatagramOutbox()
    /// From what has come and gone: what a peer knows, and a fuzzer does not guess.
    private var theirSource: (ssrc: UInt32, payloadType: UInt8) = (0, 0)
    private var ourSource: UInt32 = 0
    private var verificationTag: UInt32 = 0
    private var ports: (source: UInt16, destination: UInt16) = (5_000, 5_000)
    private var number: UInt32 = 0
    private var isClosed = false

    private static let ourAddress = TransportAddress(.v4(0xc000_0201), port: 1_000)
    private static let theirAddress = TransportAddress(.v4(0xc000_0202), port: 1_000)
    /// More than an answer to one datagram, or a moment of time, can be: RTCP of 1,500 bytes asks for 6,000 packets, of
    /// which the pacer lets go a few, and a probe has some dozens.
    private static let maximumBurst = 1_024

    init?(_ kind: UInt8) {
        takesPackets = kind & 1 != 0
        ours = Self.machine(1, takesPackets: takesPackets, isLite: kind & 2 != 0)
        theirs = Self.machine(2, takesPackets: false, isLite: false)
        do {
            _ = try ours.addTransceiver(.audio, direction: .sendrecv, streamIDs: ["ours"])
            _ = try ours.addTransceiver(.video, direction: .sendrecv, streamIDs: ["ours"])
            _ = try ours.createDataChannel("ours", at: now)
            let layers = kind & 4 != 0 ? ["q", "h", "f"].map { SendEncoding(rid: $0) } : []
            if kind & 8 != 0 {
                _ = try theirs.addTransceiver(.video, direction: .sendrecv, streamIDs: ["theirs"], encodings: layers)
                _ = try theirs.addTransceiver(.audio, direction: .sendrecv, streamIDs: ["theirs"])
                _ = try theirs.createDataChannel("theirs", at: now)
            }
            ours.addLocalHost(Self.ourAddress, at: now)
            ours.localHostsComplete(at: now)
            theirs.addLocalHost(Self.theirAddress, at: now)
            theirs.localHostsComplete(at: now)
            if kind & 8 != 0 { try offerTheirs() } else { try offerOurs() }
        } catch {
            preconditionFailure("the call cannot be set up: \(error)")
        }
        // Some are tried from their beginning.
        guard kind & 16 == 0 else { return }
        for _ in 0..<200 where ours.connectionState != .connected || theirs.connectionState != .connected {
            pass(.milliseconds(20))
            deliver()
        }
        precondition(ours.connectionState == .connected && theirs.connectionState == .connected)
    }

    private static func machine(_ seed: UInt64, takesPackets: Bool, isLite: Bool) -> PeerMachine {
        let security = BareSecurity(seed: seed)
        var ice = ICEConfiguration()
        ice.isLite = isLite
        var negotiation = NegotiatorConfiguration(
            fingerprint: security.localFingerprint, isICELite: isLite, maximumTransceivers: 16)
        negotiation.receivesSimulcast = true
        var configuration = PeerMachineConfiguration(ice: ice, negotiation: negotiation, wallClockOffset: .zero)
        configuration.unit = takesPackets ? .packets : .frames
        return PeerMachine(configuration: configuration, security: security, random: .seeded(seed))
    }

    // MARK: Steps

    mutating func step(_ what: UInt8, _ how: UInt8, _ reader: inout ByteReader) {
        switch what % 16 {
        case 0: pass(.milliseconds([0, 1, 5, 20, 100, 500, 2_000, 10_000, 40_000][Int(how) % 9]))
        case 1: theySend(how)
        case 2: theyUseData(how)
        case 3: deliver()
        case 4: deliverChanged(how, &reader)
        case 5: receive(read(&reader), from: Self.theirAddress)
        case 6: receiveChunks(read(&reader))
        case 7: receiveMedia(how, read(&reader))
        case 8: receiveReport(how, read(&reader))
        case 9: weSend(how)
        case 10: weUseData(how)
        case 11: weNegotiate(how)
        case 12: takeDescription(how, &reader)
        case 13: takeCandidate(how, read(&reader))
        case 14: receive(read(&reader), from: TransportAddress(.v4(0xcb00_7100 | UInt32(how & 3)), port: 9))
        default: changePaths(how)
        }
        settle()
    }

    mutating func end() {
        ours.close(at: now)
        settle()
        precondition(ours.connectionState == .closed && ours.nextWake == nil)
        ours.tick(at: now + .seconds(Int64(60)))
        precondition(ours.pollTransmit() == nil && ours.pollEvent() == nil)
        _ = ours.stats(at: now)
    }

    private func read(_ reader: inout ByteReader) -> [UInt8] {
        guard let length = reader.readUInt16() else { return [] }
        return reader.readBytes(min(Int(length) % 1_500, reader.remaining)) ?? []
    }

    // MARK: Time and datagrams

    private mutating func pass(_ time: Interval) {
        let end = now + time
        for _ in 0..<64 {
            guard let wake = [ours.nextWake, theirs.nextWake].compactMap({ $0 }).min(), wake < end else { break }
            now = max(now, wake)
            ours.tick(at: now)
            theirs.tick(at: now)
            settle()
        }
        now = max(now, end)
        ours.tick(at: now)
        theirs.tick(at: now)
        settle()
        // What is due is done: else whoever drives it would be driven round and round.
        for _ in 0..<8 {
            guard let wake = ours.nextWake, wake <= now else { return }
            ours.tick(at: now)
            settle()
        }
        precondition(ours.nextWake.map { $0 > now } ?? true, "it is due for ever")
    }

    /// Takes what both have to say.
    private mutating func settle() {
        var count = 0
        while let datagram = ours.pollTransmit() {
            precondition(!isClosed, "it speaks when it is closed")
            count += 1
            note(ours: datagram.bytes)
            if departing.count < 256 { departing.append(datagram.bytes) }
            ours.recycle(datagram)
        }
        outbox.forEach { entry in
            precondition(!isClosed, "it forwards when it is closed")
            if departing.count < 256 { departing.append(Array(outbox.bytes[entry.range])) }
        }
        outbox.removeAll()
        precondition(count <= Self.maximumBurst, "\(count) datagrams at once")
        while let event = ours.pollEvent() {
            precondition(!isClosed, "it tells something when it is closed")
            if case .frame(_, let frame) = event { precondition(!frame.payload.isEmpty) }
            if case .connectionStateChanged(.closed, _) = event { isClosed = true }
        }
        while ours.pollRelayCommand() != nil {}
        while let datagram = theirs.pollTransmit() {
            note(theirs: datagram.bytes)
            if arriving.count < 256 { arriving.append(datagram.bytes) }
        }
        while theirs.pollEvent() != nil {}
    }

    private mutating func note(theirs bytes: [UInt8]) {
        if bytes.first == BareDTLS.applicationData, bytes.count >= 13 {
            let packet = bytes.span.bytes.extracting(droppingFirst: 1)
            guard let header = SCTPPacketReader(packet)?.header, header.verificationTag != 0 else { return }
            verificationTag = header.verificationTag
            ports = (header.sourcePort, header.destinationPort)
        } else if !RTPMultiplexing.isRTCP(bytes.span.bytes), let header = try? RTPHeader(parsing: bytes.span.bytes) {
            theirSource = (header.ssrc, header.payloadType)
        }
    }

    private mutating func note(ours bytes: [UInt8]) {
        guard bytes.first.map({ $0 >> 6 == 2 }) == true, !RTPMultiplexing.isRTCP(bytes.span.bytes),
            let header = try? RTPHeader(parsing: bytes.span.bytes)
        else { return }
        ourSource = header.ssrc
    }

    private mutating func receive(_ bytes: [UInt8], from address: TransportAddress) {
        var bytes = bytes
        ours.receive(&bytes, from: address, to: Self.ourAddress, at: now)
        guard takesPackets else { return }
        if let (packet, bytes) = ours.takeConfirmedPacket() { forward(packet, bytes) }
        guard let packet = ours.takePacket(&bytes) else { return }
        forward(packet, bytes)
    }

    private mutating func forward(_ packet: ReceivedPacket, _ bytes: [UInt8]) {
        let payload = packet.header.payload(of: bytes.span.bytes).withUnsafeBytes { [UInt8]($0) }
        forward(packet.header.sequenceNumber, packet.header.timestamp, packet.header.marker, payload)
    }

    /// All that is on its way comes, in both directions.
    private mutating func deliver() {
        ours.beginBatch()
        for datagram in arriving { receive(datagram, from: Self.theirAddress) }
        ours.endBatch(at: now)
        arriving.removeAll()
        for var datagram in departing {
            theirs.receive(&datagram, from: Self.ourAddress, to: Self.theirAddress, at: now)
        }
        departing.removeAll()
    }

    /// The oldest is lost, comes twice, comes last, is cut, or has other bytes in it.
    private mutating func deliverChanged(_ how: UInt8, _ reader: inout ByteReader) {
        guard !arriving.isEmpty else { return }
        var datagram = arriving.removeFirst()
        switch how % 5 {
        case 0: return
        case 1: arriving.append(datagram)
        case 2: return arriving.append(datagram)
        case 3: datagram.removeLast(min(Int(how) / 5 + 1, datagram.count))
        default:
            for _ in 0...Int(how) / 5 % 8 {
                guard let place = reader.readUInt16(), let byte = reader.readUInt8(), !datagram.isEmpty else { break }
                datagram[Int(place) % datagram.count] = byte
            }
        }
        receive(datagram, from: Self.theirAddress)
    }

    private mutating func receiveChunks(_ chunks: [UInt8]) {
        var packet = [BareDTLS.applicationData]
        SCTPCommonHeader(
            sourcePort: ports.source, destinationPort: ports.destination,
            verificationTag: chunks.first == 1 ? 0 : verificationTag
        ).write(into: &packet)
        receive(packet + chunks, from: Self.theirAddress)
    }

    /// - Parameter how: which payload type, if it is not the last one's.
    private mutating func receiveMedia(_ how: UInt8, _ rest: [UInt8]) {
        guard rest.count >= 4 else { return }
        let type = how & 0x80 != 0 ? how & 0x7f : theirSource.payloadType
        var packet: [UInt8] = [0x80 | rest[0] & 0x3f, rest[1] & 0x80 | type, rest[2], rest[3], 0, 0, 0, 0]
        packet.append(uint32: theirSource.ssrc &+ UInt32(rest[0] >> 6))
        receive(packet + rest.dropFirst(4) + [UInt8](repeating: 0, count: 8), from: Self.theirAddress)
    }

    private mutating func receiveReport(_ how: UInt8, _ rest: [UInt8]) {
        var packet: [UInt8] = [0x80 | how & 0x1f, 200 + how >> 5, 0, UInt8(truncatingIfNeeded: rest.count / 4 + 2)]
        packet.append(uint32: theirSource.ssrc)
        packet.append(uint32: ourSource)
        receive(packet + rest, from: Self.theirAddress)
    }

    // MARK: The applications

    private mutating func frame(_ how: UInt8, _ kind: MediaKind) -> EncodedFrame {
        number &+= 1
        guard kind == .video else {
            var frame = EncodedFrame(
                payload: [0x78, how], timestamp: number &* 960, isKeyFrame: true, format: .opus)
            frame.metadata.audioLevel = AudioLevel(isVoice: how & 1 != 0, level: how >> 1)
            return frame
        }
        let isKeyFrame = how & 2 != 0 || number < 3
        let tag: [UInt8] = isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]
        return EncodedFrame(
            payload: tag + [UInt8](repeating: how, count: Int(how >> 2) * 100), timestamp: number &* 3_000,
            isKeyFrame: isKeyFrame, format: .vp8)
    }

    private mutating func theySend(_ how: UInt8) {
        for transceiver in theirs.transceivers {
            let frame = frame(how, transceiver.kind)
            let layers = transceiver.sendParameters?.layers.map(\.rid) ?? []
            if layers.isEmpty { try? theirs.send(frame, on: transceiver.id, at: now) }
            for layer in layers { try? theirs.send(frame, layer: layer, on: transceiver.id, at: now) }
            if how & 1 != 0 { theirs.requestKeyFrame(on: transceiver.id, at: now) }
        }
    }

    private mutating func theyUseData(_ how: UInt8) {
        let channel = theirs.dataChannels.last
        switch how % 4 {
        case 0: _ = try? theirs.createDataChannel("more", DataChannelInit(ordered: how & 4 != 0), at: now)
        case 1: if let channel { theirs.closeDataChannel(channel, at: now) }
        default:
            guard let channel else { return }
            let message = [UInt8](repeating: how, count: Int(how) * 64)
            try? theirs.send(.binary(message), on: channel, at: now)
        }
    }

    private mutating func weSend(_ how: UInt8) {
        let transceivers = ours.transceivers
        guard !transceivers.isEmpty else { return }
        let transceiver = transceivers[Int(how >> 4) % transceivers.count]
        switch how % 8 {
        case 0: ours.requestKeyFrame(on: transceiver.id, at: now)
        case 1: if let keys = DialedKeys("1,#") { try? ours.dial(keys, on: transceiver.id, at: now) }
        case 2: ours.setProbeGoal(how & 8 != 0 ? Bitrate(bitsPerSecond: 2_000_000) : nil, at: now)
        case 3: _ = ours.stats(at: now)
        case 4: try? ours.setLayer("q", isActive: how & 8 != 0, on: transceiver.id)
        default:
            let frame = frame(how, transceiver.kind)
            guard takesPackets else {
                try? ours.send(frame, on: transceiver.id, at: now)
                return
            }
            forward(UInt16(truncatingIfNeeded: number), frame.timestamp, true, Array(frame.payload.prefix(1_200)))
        }
    }

    /// Somebody else's packet goes on to them, on each transceiver; now and then one that went before is asked for.
    private mutating func forward(_ number: UInt16, _ timestamp: UInt32, _ marker: Bool, _ payload: [UInt8]) {
        let isRepeat = number & 7 == 7
        let head = ForwardedHead(
            sequenceNumber: number &- (isRepeat ? 2 : 0), timestamp: timestamp, marker: marker, isRepeat: isRepeat)
        for transceiver in ours.transceivers where ours.canForward(on: transceiver.id) {
            _ = ours.forward(
                head, on: transceiver.id, room: payload.count, into: &outbox, at: now, extensions: { _, _, _ in },
                payload: { $0.append(contentsOf: payload.span.bytes) })
        }
        ours.sendForwarded(at: now)
    }

    private mutating func weUseData(_ how: UInt8) {
        let channels = ours.dataChannels
        let channel = channels.isEmpty ? nil : channels[Int(how >> 3) % channels.count]
        switch how % 8 {
        case 0: _ = try? ours.createDataChannel("lossy", DataChannelInit(maxRetransmits: 0), at: now)
        case 1: _ = try? ours.createDataChannel("by hand", DataChannelInit(negotiated: true, id: UInt16(how)), at: now)
        case 2: if let channel { ours.closeDataChannel(channel, at: now) }
        case 3: ours.setUnreadData(Int(how) << 14, at: now)
        case 4: if let channel { ours.failDataChannel(channel, at: now) }
        case 5: if let channel { try? ours.send(.text("text"), on: channel, at: now) }
        default:
            guard let channel else { return }
            let message = [UInt8](repeating: how, count: Int(how) << 8)
            try? ours.send(.binary(message), on: channel, at: now)
        }
    }

    // MARK: Descriptions

    private mutating func offerOurs() throws {
        try ours.setLocalDescription(.offer, try ours.createOffer(iceRestart: false), at: now)
        try theirs.setRemoteDescription(.offer, ours.localDescription?.sdp, at: now)
        try theirs.setLocalDescription(.answer, try theirs.createAnswer(), at: now)
        try ours.setRemoteDescription(.answer, theirs.localDescription?.sdp, at: now)
    }

    private mutating func offerTheirs(iceRestart: Bool = false) throws {
        try theirs.setLocalDescription(.offer, try theirs.createOffer(iceRestart: iceRestart), at: now)
        try ours.setRemoteDescription(.offer, theirs.localDescription?.sdp, at: now)
        try ours.setLocalDescription(.answer, try ours.createAnswer(), at: now)
        try theirs.setRemoteDescription(.answer, ours.localDescription?.sdp, at: now)
    }

    private mutating func weNegotiate(_ how: UInt8) {
        let transceivers = ours.transceivers
        let transceiver = transceivers.isEmpty ? nil : transceivers[Int(how >> 4) % transceivers.count].id
        switch how % 16 {
        case 0: try? offerOurs()
        case 1: try? offerTheirs()
        case 2: try? offerTheirs(iceRestart: true)
        case 3: ours.restartICE()
        case 4: _ = try? ours.addTransceiver(.video, direction: .sendrecv, streamIDs: [])
        case 5: _ = try? theirs.addTransceiver(.audio, direction: .sendrecv, streamIDs: [])
        case 6: try? ours.setLocalDescription(.rollback, nil, at: now)
        case 7: try? ours.setRemoteDescription(.rollback, nil, at: now)
        case 8: if let offer = try? ours.createOffer(iceRestart: how & 16 != 0) { setLocal(.offer, offer) }
        case 9: if let answer = try? ours.createAnswer() { setLocal(how & 16 != 0 ? .pranswer : .answer, answer) }
        case 10:
            guard let transceiver else { return }
            let directions: [TransceiverDirection] = [.inactive, .sendonly, .recvonly, .sendrecv]
            try? ours.setDirection(directions[Int(how >> 4) & 3], of: transceiver, at: now)
        case 11: if let transceiver { try? ours.setCodecPreferences([.h264, .vp8, .opus], of: transceiver) }
        case 12: if let transceiver { try? ours.renewSources(of: transceiver) }
        case 13: _ = try? ours.addTrack(how & 16 != 0 ? .video : .audio, streamIDs: ["a", "b"])
        case 14: if how == 0xfe { ours.close(at: now) }
        default: if let transceiver { try? ours.setStreams(["other"], trackID: "track", of: transceiver) }
        }
    }

    private mutating func setLocal(_ type: SDPType, _ description: SessionDescription) {
        try? ours.setLocalDescription(type, description, at: now)
    }

    /// Their description with a few lines left out, doubled or replaced.
    private mutating func takeDescription(_ how: UInt8, _ reader: inout ByteReader) {
        let description =
            how & 1 != 0 ? theirs.localDescription?.sdp : try? theirs.createOffer(iceRestart: how & 2 != 0)
        guard let description else { return }
        var lines = description.text.split(separator: "\r\n", omittingEmptySubsequences: true).map(String.init)
        for _ in 0...Int(how >> 5) {
            guard let place = reader.readUInt8(), let change = reader.readUInt8(), !lines.isEmpty else { break }
            let line = Int(place) % lines.count
            switch change & 3 {
            case 0: lines.remove(at: line)
            case 1: lines.insert(lines[line], at: line)
            case 2: lines.swapAt(line, Int(change >> 2) % lines.count)
            default: lines[line] = String(decoding: read(&reader), as: UTF8.self)
            }
        }
        guard let changed = try? SessionDescription(parsing: lines.map { $0 + "\r\n" }.joined()) else { return }
        let types: [SDPType] = [.offer, .answer, .pranswer, .offer]
        let type = types[Int(how >> 2) & 3]
        try? ours.setRemoteDescription(type, changed, at: now)
        guard type == .offer, how & 16 != 0, let answer = try? ours.createAnswer() else { return }
        setLocal(.answer, answer)
    }

    private mutating func takeCandidate(_ how: UInt8, _ line: [UInt8]) {
        let text = String(decoding: line, as: UTF8.self)
        try? ours.addICECandidate(
            text, mid: how & 1 != 0 ? "0" : nil, mLineIndex: how & 2 != 0 ? Int(how >> 2) : nil,
            usernameFragment: how & 0x80 != 0 ? "other" : nil, at: now)
    }

    private mutating func changePaths(_ how: UInt8) {
        let other = TransportAddress(.v4(0xc000_0203), port: 1_000)
        switch how % 6 {
        case 0: ours.interfacesChanged(lost: [Self.ourAddress], found: [other], at: now)
        case 1: ours.interfacesChanged(lost: [other], found: [Self.ourAddress], at: now)
        case 2: ours.addTCPHost(other, how & 8 != 0 ? .passive : .active, at: now)
        case 3: ours.tcpConnectionClosed(from: other, to: Self.theirAddress, at: now)
        case 4:
            let server = TransportAddress(.v4(0xcb00_7109), port: 3_478)
            ours.setServers(stun: [server], turn: [], areAll: how & 8 != 0, at: now)
        default: ours.nameResolved("name.local", to: how & 8 != 0 ? .v4(0xc000_0202) : nil, at: now)
        }
    }
}
