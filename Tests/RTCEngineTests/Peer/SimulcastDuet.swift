import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Two peer connections joined by nothing but time: the left one sends layers, the right one is a server.
final class SimulcastDuet {
    static let layers = [
        SendEncoding(rid: "q", maxBitrate: 100_000, scaleResolutionDownBy: 4), SendEncoding(rid: "h"),
        SendEncoding(rid: "f"),
    ]
    static let names = ["q", "h", "f"]

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
