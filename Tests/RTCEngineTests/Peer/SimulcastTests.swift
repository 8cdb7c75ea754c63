import RTCWire
import Testing

@testable import RTCEngine

/// Two peer connections joined by nothing but time: the left one sends layers, the right one is a server.
private final class SimulcastDuet {
    var left: PeerMachine
    var right: PeerMachine
    var now = Instant.zero + .seconds(Int64(1))
    var video: TransceiverID
    var received: [EncodedFrame] = []
    var keyFrameRequests = 0
    /// Datagrams of left that are lost, counted by the bytes that tell them.
    var isLost: ([UInt8]) -> Bool = { _ in false }
    /// Of the packets of the first layer's source, as far as they are noted.
    private(set) var numbers: [UInt16] = []

    private static let addresses = ["192.0.2.1", "192.0.2.2"].compactMap { IPAddress($0) }
        .map { TransportAddress($0, port: 1_000) }

    func noteNumbersOfFirstLayer() throws {
        let ssrc = try #require(left.transceivers.first?.layers.first?.ssrc)
        isLost = { [unowned self] bytes in
            if bytes.count > 12, bytes.span.bytes.uint32(at: 8) == ssrc {
                numbers.append(bytes.span.bytes.uint16(at: 2) ?? 0)
            }
            return false
        }
    }

    /// - Parameter offered: what becomes of the first offer on its way.
    init(
        _ encodings: [SendEncoding], receivesSimulcast: Bool = true, codecs: [CodecParameters] = [.vp8],
        offered: (inout SessionDescription) -> Void = { _ in }
    ) throws {
        func machine(_ seed: UInt64) -> PeerMachine {
            let security = ScriptedSecurityProvider(seed: seed)
            var negotiation = NegotiatorConfiguration(fingerprint: security.localFingerprint)
            negotiation.videoCodecs = codecs
            negotiation.receivesSimulcast = receivesSimulcast
            return PeerMachine(
                configuration: PeerMachineConfiguration(
                    ice: ICEConfiguration(), negotiation: negotiation, wallClockOffset: .zero),
                security: security, random: .seeded(seed))
        }
        left = machine(1)
        right = machine(2)
        video = try left.addTransceiver(.video, direction: .sendonly, streamIDs: [], encodings: encodings)
        try left.setCodecPreferences([.vp8], of: video)
        try left.setLocalDescription(.offer, try left.createOffer(iceRestart: false), at: now)
        left.addLocalHost(Self.addresses[0], at: now)
        left.localHostsComplete(at: now)
        guard var offer = left.localDescription?.sdp else { throw PeerError.closed }
        offered(&offer)
        try right.setRemoteDescription(.offer, offer, at: now)
        try right.setLocalDescription(.answer, try right.createAnswer(), at: now)
        right.addLocalHost(Self.addresses[1], at: now)
        right.localHostsComplete(at: now)
        try left.setRemoteDescription(.answer, right.localDescription?.sdp, at: now)
        for _ in 0..<3_000 where !left.secure.isProtected || !right.secure.isProtected { step() }
    }

    /// A millisecond.
    func step() {
        now += .milliseconds(1)
        left.tick(at: now)
        right.tick(at: now)
        while var datagram = left.pollTransmit() {
            if isLost(datagram.bytes) { continue }
            right.receive(&datagram.bytes, from: Self.addresses[0], to: Self.addresses[1], at: now)
        }
        while var datagram = right.pollTransmit() {
            left.receive(&datagram.bytes, from: Self.addresses[1], to: Self.addresses[0], at: now)
        }
        while let event = right.pollEvent() { if case .frame(_, let frame) = event { received.append(frame) } }
        while let event = left.pollEvent() { if case .keyFrameRequested = event { keyFrameRequests += 1 } }
    }

    /// Who sends the layers offers again.
    func offerFromLeft() throws {
        try left.setLocalDescription(.offer, try left.createOffer(iceRestart: false), at: now)
        try right.setRemoteDescription(.offer, left.localDescription?.sdp, at: now)
        try right.setLocalDescription(.answer, try right.createAnswer(), at: now)
        try left.setRemoteDescription(.answer, right.localDescription?.sdp, at: now)
    }

    /// The server offers.
    ///
    /// - Parameter change: what becomes of its offer on its way.
    func offerFromRight(_ change: (inout SessionDescription) -> Void = { _ in }) throws {
        var offer = try right.createOffer(iceRestart: false)
        try right.setLocalDescription(.offer, offer, at: now)
        change(&offer)
        try left.setRemoteDescription(.offer, offer, at: now)
        try left.setLocalDescription(.answer, try left.createAnswer(), at: now)
        try right.setRemoteDescription(.answer, left.localDescription?.sdp, at: now)
    }

    /// A description that knows nothing of layers.
    static func withoutLayers(_ description: inout SessionDescription) {
        for name in ["simulcast", "rid"] { description.media[0].removeAttributes(named: name) }
    }

    /// A picture of each named layer, then 33 ms.
    func send(_ number: Int, layers: [String], isKeyFrame: Bool = false, format: PayloadFormat = .vp8) throws {
        for (place, rid) in layers.enumerated() {
            let body = [UInt8](repeating: UInt8(place + 1), count: 500 * (place + 1))
            let frame = EncodedFrame(
                payload: CodedBytes.frame(format, isKeyFrame: isKeyFrame, body: body),
                timestamp: UInt32(number * 3_000), isKeyFrame: isKeyFrame, format: format)
            try left.send(frame, layer: rid, on: video, at: now)
        }
        for _ in 0..<33 { step() }
    }

    /// A packet of left's that somebody else has made comes to the right.
    func inject(
        _ number: UInt16, ssrc: UInt32, timestamp: UInt32, rid: String? = nil, repairs: String? = nil,
        isRetransmission: Bool = false, _ payload: [UInt8]
    ) throws {
        let configuration = try #require(left.layerSenders[video]?.first?.stream.configuration)
        let repairType = try #require(configuration.retransmission?.payloadType)
        var bytes: [UInt8] = []
        let header = RTPHeader(
            marker: true, payloadType: isRetransmission ? repairType : configuration.payloadType,
            sequenceNumber: number, timestamp: timestamp, ssrc: ssrc)
        let ids = right.extensionIDs
        bytes.append(addingCapacity: 64) { packet in
            header.write(into: &packet)
            let writer = HeaderExtensionWriter(form: .oneByte, in: &packet)
            for (id, name) in [(ids.rid, rid), (ids.repairedRID, repairs)] {
                if let id, let name { writer.append(id, text: name, in: &packet) }
            }
            writer.finish(in: &packet)
        }
        bytes += payload
        try left.secure.srtp?.protectRTP(&bytes)
        right.receive(&bytes, from: Self.addresses[0], to: Self.addresses[1], at: now)
    }

    func inject(rtcp packet: [UInt8]) throws {
        var bytes = packet
        try left.secure.srtp?.protectRTCP(&bytes)
        right.receive(&bytes, from: Self.addresses[0], to: Self.addresses[1], at: now)
    }

    func count(_ rid: String?) -> Int { received.filter { $0.metadata.rid == rid }.count }
}

@Suite struct SimulcastTests {
    private static let layers = [
        SendEncoding(rid: "q", maxBitrate: 100_000, scaleResolutionDownBy: 4), SendEncoding(rid: "h"),
        SendEncoding(rid: "f"),
    ]
    private static let names = ["q", "h", "f"]

    // MARK: Descriptions

    @Test func `an offer names its layers and no sources, and a server's answer takes them all (RFC 8853 5_3)`() throws
    {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: Self.layers)
        let exchange = try negotiate(&alice, &bob)
        let offer = exchange.offer.media[0]
        #expect(offer.values(of: "simulcast") == ["send q;h;f"])
        #expect(offer.values(of: "rid") == ["q send", "h send", "f send"])
        #expect(offer.values(of: "ssrc").isEmpty)
        let answer = exchange.answer.media[0]
        #expect(answer.values(of: "simulcast") == ["recv q;h;f"])
        #expect(answer.values(of: "rid") == ["q recv", "h recv", "f recv"])
        let sending = try #require(alice.transceiver(id)?.sendParameters)
        #expect(sending.layers.map(\.rid) == Self.names)
        #expect(sending.layers[0].ssrc == sending.ssrc)
        #expect(Set(sending.layers.flatMap { [$0.ssrc, $0.rtxSSRC ?? 0] }).count == 6)
        #expect(sending.extensions[HeaderExtensionURI.rid] != nil)
        #expect(sending.extensions[HeaderExtensionURI.repairedRID] != nil)
        let receiving = try #require(bob.negotiator.transceivers[0].receiveParameters)
        #expect(receiving.layers.map(\.rid) == Self.names)
    }

    @Test func `a plain client's answer takes one layer, which is sent without a name`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: Self.layers)
        let exchange = try negotiate(&alice, &bob)
        #expect(exchange.answer.media[0].values(of: "simulcast").isEmpty)
        #expect(exchange.answer.media[0].values(of: "rid").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == [])
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers == [])
    }

    @Test func `a server takes layers' names where there are no layers yet, and a client does not`() throws {
        for (isServer, expected) in [(true, true), (false, false)] {
            var bob = Party("bob") { $0.receivesSimulcast = isServer }
            _ = try bob.takes(try CapturedOffers.load("py120_single_join_offer"))
            let (answer, _) = try bob.answers()
            let video = answer.media.filter { $0.kind == "video" }
            #expect(video.count == 3)
            for section in video {
                let uris = section.all(SDP.ExtensionMap.self).map(\.uri)
                #expect(uris.contains(HeaderExtensionURI.rid) == expected)
                #expect(uris.contains(HeaderExtensionURI.repairedRID) == expected)
            }
        }
    }

    @Test func `the layers that an answer leaves out are not sent`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: Self.layers)
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        var (answer, _) = try bob.answers()
        answer.media[0].removeAttributes(named: "simulcast")
        answer.media[0].append(SDP.Simulcast(receive: [["h"], ["~f", "q"], ["unknown"]]))
        _ = try alice.negotiator.setRemote(.answer, answer)
        #expect(alice.transceiver(id)?.sendParameters?.layers.map(\.rid) == ["h", "f"])
    }

    @Test func `a later offer of the server's asks for the layers again, and the answer goes on sending them`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: Self.layers)
        try negotiate(&alice, &bob)
        let before = try #require(alice.transceiver(id)?.sendParameters)
        let exchange = try negotiate(&bob, &alice)
        let offer = exchange.offer.media[0]
        #expect(offer.values(of: "simulcast") == ["recv q;h;f"])
        #expect(offer.values(of: "rid") == ["q recv", "h recv", "f recv"])
        let names = [HeaderExtensionURI.rid, HeaderExtensionURI.repairedRID]
        for section in [offer, exchange.answer.media[0]] {
            #expect(Set(section.all(SDP.ExtensionMap.self).map(\.uri)).isSuperset(of: names))
        }
        let answer = exchange.answer.media[0]
        #expect(answer.values(of: "simulcast") == ["send q;h;f"])
        #expect(answer.values(of: "rid") == ["q send", "h send", "f send"])
        #expect(answer.values(of: "ssrc").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == before.layers)
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers.map(\.rid) == Self.names)

        // After a hold they come back.
        let server = bob.negotiator.transceivers[0].id
        try bob.negotiator.setDirection(.inactive, of: server)
        try negotiate(&bob, &alice)
        #expect(alice.transceiver(id)?.sendParameters == nil)
        try bob.negotiator.setDirection(.recvonly, of: server)
        try negotiate(&bob, &alice)
        #expect(alice.transceiver(id)?.sendParameters?.layers == before.layers)
    }

    @Test func `an answer sends the layers that the offer wants, and one stream when it wants none`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: Self.layers)
        try negotiate(&alice, &bob)
        var (offer, _) = try bob.offers()
        offer.media[0].removeAttributes(named: "simulcast")
        offer.media[0].append(SDP.Simulcast(receive: [["f"]]))
        _ = try alice.takes(offer)
        let fewer = try alice.answers().sdp
        #expect(fewer.media[0].values(of: "simulcast") == ["send f"])
        #expect(alice.transceiver(id)?.sendParameters?.layers.map(\.rid) == ["f"])
        _ = try bob.negotiator.setRemote(.answer, fewer)
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers.map(\.rid) == ["f"])

        offer = try bob.offers().sdp
        #expect(offer.media[0].values(of: "simulcast") == ["recv f"])
        SimulcastDuet.withoutLayers(&offer)
        _ = try alice.takes(offer)
        let one = try alice.answers().sdp.media[0]
        #expect(one.values(of: "simulcast").isEmpty && one.values(of: "rid").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == [])
        #expect(one.signaledSources?.primary == alice.transceiver(id)?.ssrc)
    }

    @Test func `encodings that are no layers are refused`() throws {
        var alice = Party("alice")
        for encodings in [
            [SendEncoding(rid: "")], [SendEncoding(rid: "a b")], [SendEncoding(rid: "a-b")],
            [SendEncoding(rid: "a"), SendEncoding(rid: "a")], (0..<9).map { SendEncoding(rid: "\($0)") },
        ] {
            #expect(throws: NegotiationError.invalidEncodings) {
                try alice.negotiator.addTransceiver(.video, encodings: encodings)
            }
        }
        #expect(throws: NegotiationError.invalidEncodings) {
            try alice.negotiator.addTransceiver(.audio, encodings: [SendEncoding(rid: "a")])
        }
        #expect(alice.negotiator.transceivers.isEmpty)
    }

    @Test func `late retransmissions of a layer's source before are not taken for those of the one in its place`()
        throws
    {
        let duet = try SimulcastDuet(Self.layers)
        for number in 0..<5 { try duet.send(number, layers: Self.names, isKeyFrame: number == 0) }
        let pictures = try #require(duet.right.transceivers.first?.id)
        func layer() -> SimulcastReceiver.Layer? { duet.right.simulcasts[pictures]?.layers.first }
        let key = VP8.payload(isKeyFrame: true)
        let delta = VP8.payload(isKeyFrame: false)
        // Learnt from what the path was probed with.
        let former = try #require(layer()?.stream?.retransmissionSSRC)
        try duet.inject(1_000, ssrc: 77, timestamp: 90_000, rid: "q", key)
        try duet.inject(1_002, ssrc: 77, timestamp: 96_000, delta)
        // Far behind the numbers that the probes had.
        try duet.inject(5_000, ssrc: former, timestamp: 0, repairs: "q", isRetransmission: true, VP8.repeated(2))
        #expect(layer()?.stream?.ssrc == 77)
        #expect(layer()?.stream?.retransmissionSSRC == nil)
        try duet.inject(1, ssrc: 78, timestamp: 93_000, repairs: "q", isRetransmission: true, VP8.repeated(1_001))
        #expect(layer()?.stream?.retransmissionSSRC == 78)
        #expect(layer()?.rtxSSRC == 78)
        // Which names its layer no more once it is known.
        try duet.inject(5_001, ssrc: former, timestamp: 0, repairs: "q", isRetransmission: true, VP8.repeated(3))
        #expect(layer()?.rtxSSRC == 78)
        #expect(layer()?.stream?.counters.framesReceived == 3)
    }

    @Test func `the sources of an older peer's SIM group are layers by their place`() throws {
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let offer = try CodecNegotiationTests.offer(
            formats: "96 97",
            [
                "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=ssrc-group:SIM 11 12 13",
                "a=ssrc-group:FID 11 21", "a=ssrc-group:FID 12 22", "a=ssrc:11 cname:x", "a=ssrc:12 cname:x",
            ])
        _ = try bob.takes(offer)
        _ = try bob.answers()
        let layers = bob.negotiator.transceivers[0].receiveParameters?.layers ?? []
        #expect(layers.map(\.rid) == ["0", "1", "2"])
        #expect(layers.map { $0.sources?.primary } == [11, 12, 13])
        #expect(layers.map { $0.sources?.rtx } == [21, 22, nil])
        #expect(bob.negotiator.routes.first.map { Set($0.ssrcs) } == [11, 12, 13, 21, 22])
    }

    // MARK: Media

    @Test func `three layers arrive as three streams that tell their names`() throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        for number in 1..<20 { try duet.send(number, layers: Self.names) }
        for (place, rid) in Self.names.enumerated() {
            #expect(duet.count(rid) == 20)
            #expect(duet.received.first { $0.metadata.rid == rid }?.payload.last == UInt8(place + 1))
        }
        for _ in 0..<1_500 { duet.step() }
        let inbound = duet.right.stats(at: duet.now).inboundRTP
        #expect(Set(inbound.compactMap(\.rid)) == Set(Self.names))
        #expect(inbound.allSatisfy { $0.framesReceived == 20 })
        let outbound = duet.left.stats(at: duet.now).outboundRTP
        #expect(Set(outbound.compactMap(\.rid)) == Set(Self.names))
        #expect(duet.left.stats(at: duet.now).remoteInboundRTP.count == 3, "a report about each layer")
    }

    @Test func `layers go on after an offer of the server's`() throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        try duet.offerFromRight()
        try duet.send(1, layers: Self.names, isKeyFrame: true)
        for number in 2..<10 { try duet.send(number, layers: Self.names) }
        for rid in Self.names { #expect(duet.count(rid) == 10) }
    }

    @Test func `a peer that wants no layers any more gets the first one alone, until it wants them again`() throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.noteNumbersOfFirstLayer()
        for number in 0..<5 { try duet.send(number, layers: Self.names, isKeyFrame: number == 0) }
        let asked = duet.keyFrameRequests
        try duet.offerFromRight(SimulcastDuet.withoutLayers)
        duet.step()
        #expect(duet.keyFrameRequests > asked)
        for number in 5..<10 { try duet.send(number, layers: Self.names, isKeyFrame: number == 5) }
        #expect(duet.received.count == 20)
        #expect(duet.count(nil) == 5)
        #expect(duet.received.last?.payload.last == 1, "the first layer's")
        // Switching on what the peer does not take sends nothing.
        for isActive in [false, true] { try duet.left.setLayer("f", isActive: isActive, on: duet.video) }
        try duet.send(10, layers: ["f"], isKeyFrame: true)
        #expect(duet.received.count == 20)

        try duet.offerFromLeft()
        for number in 11..<16 { try duet.send(number, layers: Self.names, isKeyFrame: number == 11) }
        for rid in Self.names { #expect(duet.count(rid) == 10) }
        // SRTP has seen none of the source's numbers twice (RFC 3711 §9.1).
        #expect(Set(duet.numbers).count == duet.numbers.count && !duet.numbers.isEmpty)
        #expect(duet.left.counters.protectFailures == 0 && duet.right.counters.unprotectFailures == 0)
    }

    @Test func `layers that are agreed later begin with the source of the one stream where that has stopped`() throws {
        let duet = try SimulcastDuet(Self.layers, offered: SimulcastDuet.withoutLayers)
        try duet.noteNumbersOfFirstLayer()
        for number in 0..<5 { try duet.send(number, layers: Self.names, isKeyFrame: number == 0) }
        #expect(duet.count(nil) == 5 && duet.received.count == 5)
        try duet.offerFromLeft()
        for number in 5..<10 { try duet.send(number, layers: Self.names, isKeyFrame: number == 5) }
        for rid in Self.names { #expect(duet.count(rid) == 5) }
        #expect(Set(duet.numbers).count == duet.numbers.count && !duet.numbers.isEmpty)
        #expect(duet.left.counters.protectFailures == 0 && duet.right.counters.unprotectFailures == 0)
    }

    @Test func `layers go on with a codec that is agreed later`() throws {
        let duet = try SimulcastDuet(Self.layers, codecs: [.vp8, .h264])
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        #expect(duet.received.map(\.format) == [.vp8, .vp8, .vp8])
        try duet.left.setCodecPreferences([.h264, .vp8], of: duet.video)
        try duet.offerFromLeft()
        #expect(duet.left.transceivers.first?.sendParameters?.codec.payloadFormat == .h264)
        for number in 1..<5 { try duet.send(number, layers: Self.names, isKeyFrame: number == 1, format: .h264) }
        #expect(duet.received.dropFirst(3).map(\.format) == Array(repeating: .h264, count: 12))
        for name in Self.names { #expect(duet.count(name) == 5) }
    }

    @Test func `a layer that is switched off sends nothing, and begins again at a key frame`() throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        try duet.left.setLayer("f", isActive: false, on: duet.video)
        for number in 1..<5 { try duet.send(number, layers: Self.names) }
        #expect(duet.count("f") == 1)
        #expect(duet.count("h") == 5)
        let asked = duet.keyFrameRequests
        try duet.left.setLayer("f", isActive: true, on: duet.video)
        try duet.send(5, layers: Self.names)
        #expect(duet.count("f") == 1)
        #expect(duet.keyFrameRequests == asked + 1)
        try duet.send(6, layers: Self.names, isKeyFrame: true)
        #expect(duet.count("f") == 2)
        #expect(throws: PeerError.unknownLayer) { try duet.left.setLayer("x", isActive: true, on: duet.video) }
        #expect(throws: PeerError.unknownLayer) { try duet.send(7, layers: ["x"]) }
    }

    @Test func `a lost packet comes again under the repaired layer's name (RFC 8852 3_2)`() throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        let ssrc = try #require(duet.left.transceivers.first?.layers[1].ssrc)
        var lost = 0
        duet.isLost = { bytes in
            guard bytes.count > 100, bytes.span.bytes.uint32(at: 8) == ssrc, lost == 0 else { return false }
            lost += 1
            return true
        }
        for number in 1..<20 { try duet.send(number, layers: Self.names) }
        #expect(lost == 1)
        #expect(duet.count("h") == 20)
        let repaired = duet.right.stats(at: duet.now).inboundRTP.filter { $0.retransmittedPacketsReceived > 0 }
        // Probes are filled with packets of all layers, under their names.
        #expect(repaired.contains { $0.rid == "h" })
        #expect(repaired.allSatisfy { Self.names.contains($0.rid ?? "") })
    }

    @Test(arguments: [false, true])
    func `while this side is the one that loses packets, none of a layer is asked for twice`(once: Bool) throws {
        let duet = try SimulcastDuet(Self.layers)
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        if once { duet.right.askOnce(until: duet.now + .seconds(Int64(10))) }
        let layer = try #require(duet.left.transceivers.first?.layers[1])
        var lost = 0
        duet.isLost = { bytes in
            let ssrc = bytes.count > 100 ? bytes.span.bytes.uint32(at: 8) : nil
            if ssrc == layer.ssrc { lost += 1 }
            return ssrc == layer.ssrc && lost == 3 || ssrc == layer.rtxSSRC
        }
        for number in 1..<20 { try duet.send(number, layers: Self.names) }
        let inbound = duet.right.stats(at: duet.now).inboundRTP.first { $0.rid == "h" }
        #expect(once ? inbound?.nackCount == 1 : (inbound?.nackCount ?? 0) > 3)
    }

    @Test func `a layer that said goodbye comes back under its source, without its name`() throws {
        let duet = try SimulcastDuet(Self.layers)
        let ssrc = try #require(duet.left.transceivers.first?.layers[2].ssrc)
        var last: UInt16 = 0
        duet.isLost = { bytes in
            if bytes.count > 12, bytes.span.bytes.uint32(at: 8) == ssrc {
                last = bytes.span.bytes.uint16(at: 2) ?? 0
            }
            return false
        }
        try duet.send(0, layers: Self.names, isKeyFrame: true)
        var goodbye: [UInt8] = []
        RTCPPacket.goodbye(Goodbye(ssrcs: [ssrc])).write(into: &goodbye)
        try duet.inject(rtcp: goodbye)
        let frame = CodedBytes.frame(.vp8, isKeyFrame: true, body: [7])
        try duet.inject(last &+ 1, ssrc: ssrc, timestamp: 90_000, [0x10] + frame)
        for _ in 0..<50 { duet.step() }
        #expect(duet.received.last?.metadata.rid == "f" && duet.received.last?.payload.last == 7)
        #expect(duet.count("f") == 2)
    }

    @Test func `probes are filled with what layers sent last`() throws {
        let duet = try SimulcastDuet(Self.layers)
        // Far less than a probe needs.
        for number in 0..<60 { try duet.send(number, layers: Self.names, isKeyFrame: number == 0) }
        let stats = duet.left.stats(at: duet.now)
        let pair = try #require(stats.candidatePairs.first { $0.id == stats.transport?.selectedCandidatePairID })
        #expect((pair.availableOutgoingBitrate ?? 0) > 1_000_000)
        #expect(duet.count("f") == 60)
    }

    @Test func `with a plain receiver the transceiver's own frames arrive without a name`() throws {
        let duet = try SimulcastDuet(Self.layers, receivesSimulcast: false)
        let frame = EncodedFrame(
            payload: CodedBytes.frame(.vp8, isKeyFrame: true, body: [1, 2, 3]), timestamp: 0, isKeyFrame: true,
            format: .vp8)
        try duet.left.send(frame, on: duet.video, at: duet.now)
        for _ in 0..<50 { duet.step() }
        #expect(duet.count(nil) == 1)
    }
}
