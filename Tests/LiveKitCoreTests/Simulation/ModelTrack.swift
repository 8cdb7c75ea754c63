import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SFUModels
import SwiftProtobuf

@testable import LiveKitCore

/// A client's track as the room sees it: packets of a model of an encoder, over a path that loses and repairs them.
final class ModelTrack {
    enum Coding: Hashable {
        case sound
        case pictures(ModelCoding)

        static let all = [sound] + ModelCoding.allCases.map { pictures($0) }
    }

    let title: String
    let coding: Coding
    unowned let client: TestClient
    /// Bytes that each packet of a layer has more.
    let weights: [Int]
    var isSending = true
    private var encoder: ModelPublisher?
    private var path: ModelPath
    private var soundNumber: UInt16 = 65_400
    private var soundTime: UInt32 = .max - 20_000
    /// Which packets of each frame have come to the server, and were not muted there.
    private(set) var arrived: [Int: Set<Int>] = [:]

    init(_ title: String, _ coding: Coding, of client: TestClient, weights: [Int], random: inout EngineRandom) {
        self.title = title
        self.coding = coding
        self.client = client
        self.weights = weights
        var character = ModelPath.Character()
        character.loss = [0, 0, 0.03].randomElement(using: &random) ?? 0
        character.repaired = [1, 0.7].randomElement(using: &random) ?? 1
        character.jitter = [0, 12].randomElement(using: &random) ?? 0
        path = ModelPath(character, random: random.split())
        if case .pictures(let coding) = coding { encoder = ModelPublisher(coding, random: random.split()) }
    }

    /// Layers by name, the lowest first.
    var layers: [String] { encoder.map { $0.coding.announcedStreams > 1 ? ["q", "h", "f"] : [] } ?? [] }
    var frames: [ModelFrame] { encoder?.frames ?? [] }
    var lost: Int { path.lost }
    /// The highest spatial layer that there is.
    var top: Int { encoder == nil ? 0 : 2 }
    /// The highest temporal one that packets tell of.
    var fastest: Int { encoder == nil || encoder?.coding == .h264Simulcast ? 0 : 2 }

    var kind: MediaKind { encoder == nil ? .audio : .video }

    func describe(_ request: inout LiveKitAddTrackRequest) {
        guard let coding = encoder?.coding else { return }
        request.simulcastCodecs = [.with { $0.codec = "\(coding.format)".lowercased() }]
        guard request.layers.isEmpty else { return }
        request.layers = (0..<3).map { place in
            .with {
                $0.quality = [.low, .medium, .high][place]
                $0.width = 320 << UInt32(place)
                $0.height = 180 << UInt32(place)
            }
        }
    }

    func setLayer(_ layer: Int, isActive: Bool) {
        guard encoder?.coding.isScalable == false else { return }
        encoder?.set(layer, isActive: isActive)
    }

    func activateLayers() { for layer in 0..<3 { setLayer(layer, isActive: true) } }

    /// Nothing is lost any more.
    func calmDown() { path.character = ModelPath.Character() }

    // MARK: Packets

    /// The room asks for a key frame of a source.
    func askForKey(_ ssrc: UInt32) {
        guard encoder != nil, let stream = sources.firstIndex(of: ssrc) else { return }
        encoder?.askForKey(stream)
    }

    private var parameters: SendParameters?

    private var sources: [UInt32] {
        guard let parameters else { return [] }
        guard !layers.isEmpty else { return [parameters.ssrc] }
        return layers.compactMap { name in parameters.layers.first { $0.rid == name }?.ssrc }
    }

    /// A thirtieth of a second has passed.
    func picture(at now: Instant) {
        parameters = client.sending(title) ?? parameters
        // An encoder's packets do not leave before the connection that carries them is up, either.
        guard isSending, parameters != nil, client.states.first == .connected else { return }
        if encoder == nil {
            path.send(sound(), at: now)
        } else {
            for packet in encoder?.picture() ?? [] { path.send(packet, at: now) }
        }
    }

    private static func soundPayload(_ number: UInt16) -> [UInt8] {
        [0x78, UInt8(number >> 8), UInt8(number & 0xff)]
    }

    /// With the packet before (RFC 2198).
    private func redundant(_ payload: [UInt8], before number: UInt16, _ payloadType: UInt8) -> [UInt8] {
        let earlier = Self.soundPayload(number)
        var bytes: [UInt8] = []
        RedundantAudio.appendHeader(
            payloadType: payloadType, timestampOffset: 1_600, size: earlier.count, to: &bytes)
        RedundantAudio.appendHeader(payloadType: payloadType, to: &bytes)
        return bytes + earlier + payload
    }

    private func sound() -> ModelPacket {
        soundNumber &+= 1
        soundTime &+= 1_600
        return ModelPacket(
            frame: Int(soundNumber), index: 0, stream: 0, number: soundNumber,
            bytes: Packet.rtp(
                soundNumber, timestamp: soundTime, marker: false, Self.soundPayload(soundNumber)))
    }

    /// What has been under way long enough comes to the server; nothing of it goes on while the track is muted there.
    ///
    /// - Parameter tell: called after each packet of media.
    func arrive(by now: Instant, isMuted: Bool, _ tell: (ModelPacket) -> Void) {
        for (_, packet) in path.arrivals(until: now) {
            guard let bytes = wire(packet) else { continue }
            if !packet.isPadding, !isMuted, encoder != nil { arrived[packet.frame, default: []].insert(packet.index) }
            client.inject(bytes)
            if !packet.isPadding { tell(packet) }
        }
    }

    /// The packet with what this connection has agreed on: source, payload type, names of section and layer.
    private func wire(_ packet: ModelPacket) -> [UInt8]? {
        guard let parameters, let header = try? RTPHeader(parsing: packet.bytes.span.bytes),
            sources.indices.contains(packet.stream)
        else { return nil }
        let ids = HeaderExtensionIDs(parameters.extensions)
        var bytes: [UInt8] = []
        // Now and then a client sends the sound alone, as where it is too large.
        let redundancy =
            packet.number % 4 == 3 || encoder != nil ? nil : parameters.codecs.redundancy(for: parameters.codec)
        let outgoing = RTPHeader(
            marker: header.marker, payloadType: redundancy?.payloadType ?? parameters.codec.payloadType,
            sequenceNumber: header.sequenceNumber,
            timestamp: header.timestamp, ssrc: sources[packet.stream])
        let source = packet.bytes.span.bytes
        bytes.append(addingCapacity: 600) { out in
            outgoing.write(into: &out)
            let writer = HeaderExtensionWriter(form: .twoByte, in: &out)
            if let mid = ids.mid { writer.append(mid, text: parameters.mid, in: &out) }
            if let rid = ids.rid, !layers.isEmpty { writer.append(rid, text: layers[packet.stream], in: &out) }
            if let own = ids.dependencyDescriptor,
                let range = header.extensionElement(Packet.descriptorID, in: source),
                writer.begin(own, length: range.count, in: &out) != nil
            {
                out.append(contentsOf: source.extracting(range))
            }
            writer.finish(in: &out)
        }
        if header.paddingCount > 0 { bytes[0] |= 0x20 }
        var rest = Array(packet.bytes[header.payloadRange.lowerBound...])
        if !packet.isPadding, encoder != nil {
            // Before the mark that says which packet it is.
            let layer = frames.indices.contains(packet.frame) ? frames[packet.frame].spatial : 0
            let place = encoder?.coding.isScalable == true ? layer : packet.stream
            rest.insert(contentsOf: repeatElement(0x55, count: weights[place]), at: rest.count - 5)
        }
        if redundancy != nil { rest = redundant(rest, before: packet.number &- 1, parameters.codec.payloadType) }
        // What `NullSecurity` has in the place of a tag.
        return bytes + rest + repeatElement(0, count: 16)
    }
}
