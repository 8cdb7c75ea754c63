import RTCEngine
import RTCWire
import SFUModels

@testable import SFUCore

/// A publication and one who receives it, packet by packet; tests read what goes out as words.
final class Subscriber {
    var now = Instant.zero + .seconds(Int64(10))
    var track: PublishedTrack
    var forwarder: VideoForwarder
    /// What was sent of each number.
    var wire: [UInt16: [UInt8]] = [:]

    init(
        _ format: PayloadFormat = .vp8, streams: Int = 1, target: LayerTarget = .highest,
        firstSequenceNumber: UInt16 = 100, arrangement: LayerArrangement = .simulcast
    ) {
        track = PublishedTrack(format: format, streams: streams, arrangement: arrangement)
        forwarder = VideoForwarder(
            selector: LayerSelector(target: target),
            rewriter: .forVideo(firstSequenceNumber: firstSequenceNumber))
    }

    /// A packet comes from the publisher.
    ///
    /// - Returns: what went out, a line a packet.
    func publish(_ bytes: [UInt8], layer: Int = 0, startsAnew: Bool = false) -> [String] {
        guard let header = try? RTPHeader(parsing: bytes.span.bytes),
            let packet = track.receive(
                header, bytes.span.bytes, layer: layer, extensions: Packet.extensions, startsAnew: startsAnew,
                at: now)
        else { return [] }
        var lines: [String] = []
        if let out = forwarder.receive(packet, of: track, at: now) { lines.append(send(out, packet)) }
        while let (layer, sequence) = forwarder.nextMissed() {
            guard let packet = track.packet(layer: Int(layer), sequence: sequence, at: now) else { continue }
            if let out = forwarder.receive(packet, of: track, at: now) { lines.append(send(out, packet)) }
        }
        return lines
    }

    func vp8(
        _ number: UInt16, _ timestamp: UInt32, layer: Int = 0, marker: Bool = true, _ payload: VP8Payload
    ) -> [String] {
        publish(Packet.rtp(number, timestamp: timestamp, marker: marker, payload.bytes), layer: layer)
    }

    /// The whole packet that a subscriber gets.
    func written(_ out: OutgoingPacket, _ packet: PublishedPacket) -> [UInt8] {
        var bytes: [UInt8] = []
        track.withBytes(of: packet) { bytes = (try? out.written($0, of: packet)) ?? [] }
        return bytes
    }

    private func send(_ out: OutgoingPacket, _ packet: PublishedPacket) -> String {
        wire[out.sequenceNumber] = written(out, packet)
        return Self.words(wire[out.sequenceNumber] ?? [], track.format)
    }

    /// The subscriber asks for a packet.
    func ask(_ number: UInt16, roundTrip: Interval = .milliseconds(50)) -> [UInt8]? {
        forwarder.repair(number, of: track, roundTrip: roundTrip, at: now).map { written($0.out, $0.packet) }
    }

    func wishes() -> Int? { forwarder.keyFrameWish(of: track, at: now) }

    func wait(_ interval: Interval) { now += interval }

    /// A packet in words: number, timestamp, what its descriptor says; a dot at a picture's end.
    static func words(_ bytes: [UInt8], _ format: PayloadFormat) -> String {
        let span = bytes.span.bytes
        guard let header = try? RTPHeader(parsing: span) else { return "broken" }
        var words = "\(header.sequenceNumber) @\(header.timestamp)"
        guard !header.payloadRange.isEmpty else { return words + " padding" }
        if format == .vp8, let video = read(header, span, format) {
            let numbers = video.numbers
            if video.startsKeyFrame { words += " key" }
            if numbers.pictureIDPlace > 0 { words += " pid \(numbers.pictureID)" }
            if numbers.temporalBasePlace > 0 { words += " tl0 \(numbers.temporalBase)" }
            if numbers.keyIndexPlace > 0 { words += " k \(numbers.keyIndex)" }
            words += " t\(video.temporalLayer)"
        } else if format == .vp9, let video = read(header, span, format) {
            if video.startsKeyFrame { words += " key" }
            words += " pid \(video.numbers.pictureID) s\(video.spatialLayer)t\(video.temporalLayer)"
        }
        return words + (header.marker ? "." : "")
    }

    private static func read(_ header: RTPHeader, _ span: RawSpan, _ format: PayloadFormat) -> VideoDescriptor? {
        var parser = VideoDescriptorParser(format: format)
        return parser.read(header, span, at: 0, dependencyDescriptor: nil)
    }
}
