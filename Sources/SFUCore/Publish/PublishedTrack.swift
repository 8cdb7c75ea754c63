public import RTCEngine
public import RTCWire

/// What a server holds of one publication, shared by all its subscribers: of each of its streams the last packets, and
/// what is known of its layers.
///
/// There is one of it: a copy for each look would count references to all that it holds.
public struct PublishedTrack: ~Copyable, Sendable {
    private struct Stream: Sendable {
        var parser: VideoDescriptorParser
        var history: PacketHistory
        var highest: Int64?
        /// What was sent while the track was muted, as far as it is known: from the first that came then to the last.
        var muted: ClosedRange<Int64>?
        var isMuted = false
        /// The first that came after it was muted last.
        var heardFrom = Int64.min
        /// It has been muted since: whatever of that time came, or did not.
        var wasMuted = false
        /// Of the source that sends now.
        var ssrc: UInt32?
        /// A jump is believed when the next packet continues from there (RFC 3550 §A.1).
        var expectedAfterJump: UInt16?
        /// The source numbers its packets anew from about here on, and none of them has been kept yet.
        var startsAnewAt: UInt16?

        /// A packet has come that is newer than all before.
        mutating func noteMute(_ isMuted: Bool, at sequence: Int64) {
            if isMuted { muted = (self.isMuted ? muted?.lowerBound ?? sequence : sequence)...sequence }
            if !isMuted, self.isMuted || wasMuted {
                heardFrom = sequence
                wasMuted = false
            }
            self.isMuted = isMuted
        }

        /// How many packets may be read again, those that have not come among them: so many for each that comes, and
        /// all that are kept at most, as in the beginning. Else a publisher each of whose packets brings a structure
        /// for those that came before it would have us read them all each time.
        var rereads = Self.maximumRereads
        /// How many were.
        var reread = 0
        static let rereadsForEach = 4
        static let maximumRereads = 1_024

        /// Packets that came before the structure to which they refer are understood now. In their order, for what one
        /// says of the active targets holds for those after it.
        mutating func readAgain(after sequence: Int64, _ extensions: HeaderExtensionIDs) {
            guard let highest else { return }
            var next = max(sequence + 1, highest - Int64(Self.maximumRereads) + 1)
            while next <= highest, rereads > 0 {
                rereads -= 1
                reread += 1
                readAgain(next, extensions)
                next += 1
            }
        }

        private mutating func readAgain(_ sequence: Int64, _ extensions: HeaderExtensionIDs) {
            var video: VideoDescriptor?
            var parser = parser
            history.withBytes(sequence) { bytes in
                guard let header = try? RTPHeader(parsing: bytes), !header.payloadRange.isEmpty else { return }
                video = parser.read(
                    header, bytes, at: sequence, dependencyDescriptor: extensions.dependencyDescriptor)
            }
            self.parser = parser
            if let video { history.set(video, of: sequence) }
        }
    }

    /// RFC 3550 §A.1 has 3,000, and 100 for packets that come late; retransmissions come later than that at a video's
    /// rate.
    private static let maximumDropout = 3_000
    private static let maximumMisorder = 2_000

    /// As which temporal layer the sound of earlier packets is counted.
    static let redundancyLayer = LayerBitrates.maximumTemporalLayers - 1

    public let format: PayloadFormat
    /// Whether layers are streams of their own or lie inside one.
    public private(set) var arrangement: LayerArrangement
    /// Layers are compared by their pictures.
    private let prefersMotion: Bool
    /// Which streams have come, a bit each.
    private var heard: UInt8 = 0
    /// Of each stream, by its sender reports.
    public private(set) var clocks: [LayerClock]
    public var bitrates = LayerBitrates()
    private var streams: [Stream]

    /// - Parameters:
    ///   - streams: how many simulcast layers there may be, lowest first; 1 without simulcast.
    ///   - arrangement: as the publisher has it.
    ///   - prefersMotion: a layer with hardly any pictures is left for a smaller one. Of a screen, which is to be read,
    ///     it is not.
    public init(
        format: PayloadFormat, streams count: Int = 1, arrangement: LayerArrangement = .simulcast,
        prefersMotion: Bool = true
    ) {
        self.format = format
        self.arrangement = arrangement
        self.prefersMotion = prefersMotion
        let count = min(max(count, 1), LayerBitrates.maximumSpatialLayers)
        clocks = Array(repeating: LayerClock(clockRate: format.clockRate), count: count)
        streams = (0..<count).map { _ in
            Stream(
                parser: VideoDescriptorParser(format: format), history: format.isVideo ? .forVideo() : .forAudio())
        }
    }

    public var streamCount: Int { streams.count }

    /// Nothing is to be heard or seen from now on; told beside each packet, for none may come before it is again.
    public mutating func mute() {
        for index in streams.indices { streams[index].wasMuted = true }
    }

    /// It is heard or seen again.
    public mutating func unmute(at now: Instant) { bitrates.resume(at: now) }

    /// A packet has come that cannot be kept, as one of another codec.
    ///
    /// - Parameter startsAnew: whoever received it knows that the source numbers its packets anew from this one on. The
    ///   next one that is kept is known to be of those, however many are passed over before it.
    mutating func passOver(_ number: UInt16, startsAnew: Bool, layer: Int) {
        guard streams.indices.contains(layer), streams[layer].highest != nil else { return }
        if startsAnew || continuesAnew(number, layer: layer) { streams[layer].startsAnewAt = number }
    }

    /// A plain packet of a stream has come, in whatever order, by retransmission or not.
    ///
    /// - Parameter isMuted: nothing of it is to be heard or seen, now or later: it counts as padding, which takes the
    ///   places that subscribers' streams have kept for it.
    ///   - redundancy: what a packet of redundancy carries (RFC 2198).
    ///   - startsAnew: whoever received it knows that the source numbers its packets anew from this one on; else a jump
    ///     is believed when a second packet confirms it, and the first one is lost. It was held back until the next
    ///     one came, so where the track has been muted since the one before, it counts as sent while it was.
    /// - Returns: what forwarding sees of it, when it is kept; nil for a packet that was here before, that is older
    ///   than those that are kept, or that nobody can use.
    public mutating func receive(
        _ header: RTPHeader, _ packet: RawSpan, layer: Int, extensions: HeaderExtensionIDs, isMuted: Bool = false,
        redundancy: RedundantSound? = nil, startsAnew: Bool = false, at now: Instant
    ) -> PublishedPacket? {
        guard streams.indices.contains(layer) else { return nil }
        let highest = streams[layer].highest
        guard let sequence = unwrap(header.sequenceNumber, of: header.ssrc, startsAnew: startsAnew, layer: layer),
            !streams[layer].history.contains(sequence)
        else { return nil }
        let isMuted = isMuted || startsAnew && (streams[layer].isMuted || streams[layer].wasMuted)
        let isNewest = sequence > highest ?? .min
        if isNewest { streams[layer].noteMute(isMuted, at: sequence) }
        // A retransmission may come when the track is no longer muted.
        let isSilent = isMuted || streams[layer].muted?.contains(sequence) ?? false
        var published = PublishedPacket(
            layer: layer, sequence: sequence, timestamp: header.timestamp, marker: header.marker,
            isPadding: isSilent || header.payloadRange.isEmpty)
        published.isNewest = isNewest
        if let redundancy {
            published.primaryOffset = redundancy.primaryOffset
            published.isPadding = isSilent || header.payloadRange.count <= Int(redundancy.primaryOffset)
            published.hidesEarlierSound = sequence - Int64(redundancy.earlierPackets) < streams[layer].heardFrom
        }
        if format.isVideo, !published.isPadding {
            guard
                let video = streams[layer].parser.read(
                    header, packet, at: sequence, dependencyDescriptor: extensions.dependencyDescriptor)
            else { return nil }
            published.video = video
            arrange(by: video, ofStream: layer, at: now)
            streams[layer].rereads = min(streams[layer].rereads + Stream.rereadsForEach, Stream.maximumRereads)
        }
        guard streams[layer].history.insert(published, packet, at: now) else { return nil }
        if published.video.traits.contains(.bringsStructure) {
            streams[layer].readAgain(after: sequence, extensions)
        }
        if !published.isPadding {
            let earlier = Int(max(published.primaryOffset, 1)) - 1
            let isSimulcast = streams.count > 1 && arrangement == .simulcast
            bitrates.receive(
                bytes: packet.byteCount - earlier,
                spatial: isSimulcast ? layer : Int(published.video.spatialLayer),
                temporal: Int(published.video.temporalLayer),
                endsPicture: isSimulcast && prefersMotion && header.marker, at: now)
            // A layer above: those who take the sound alone are not sent it.
            if earlier > 0 { bitrates.receive(bytes: earlier, spatial: 0, temporal: Self.redundancyLayer, at: now) }
        }
        return published
    }

    /// Clients that announce several encodings of VP9 or AV1 may send one stream with the layers inside, as libwebrtc
    /// where no scalability mode is named. That is seen when they come: the only stream there is has spatial layers.
    private mutating func arrange(by video: VideoDescriptor, ofStream layer: Int, at now: Instant) {
        guard streams.count > 1, format == .vp9 || format == .av1 else { return }
        heard |= 1 << UInt8(layer)
        if heard != 1 << UInt8(layer) {
            // Several have come: each is a layer, for good.
            guard arrangement != .simulcast else { return }
            arrangement = .simulcast
            // What was counted by layers is counted by streams from here on; below, the other way round.
            bitrates = LayerBitrates(live: heard, at: now)
        } else {
            guard video.spatialLayer > 0, arrangement == .simulcast else { return }
            arrangement = .scalable(stream: UInt8(layer))
            bitrates = LayerBitrates(live: UInt8(truncatingIfNeeded: (2 << UInt16(video.spatialLayer)) - 1), at: now)
        }
    }

    /// The sequence number without its wraps; nil for a jump that no second packet has confirmed.
    private mutating func unwrap(_ number: UInt16, of ssrc: UInt32, startsAnew: Bool, layer: Int) -> Int64? {
        guard let highest = streams[layer].highest else {
            streams[layer].ssrc = ssrc
            streams[layer].highest = Int64(number) + 0x1_0000
            return streams[layer].highest
        }
        guard streams[layer].ssrc == ssrc else {
            // Another source's numbers have nothing to do with those before.
            streams[layer].ssrc = ssrc
            return beginAnew(at: number, after: highest, layer: layer)
        }
        if startsAnew || continuesAnew(number, layer: layer) {
            return beginAnew(at: number, after: highest, layer: layer)
        }
        let step = SequenceNumber.distance(from: UInt16(truncatingIfNeeded: highest), to: number)
        if step > Self.maximumDropout || step < -Self.maximumMisorder {
            guard streams[layer].expectedAfterJump == number else {
                streams[layer].expectedAfterJump = number &+ 1
                return nil
            }
            return beginAnew(at: number, after: highest, layer: layer)
        }
        streams[layer].highest = max(highest, highest + Int64(step))
        streams[layer].expectedAfterJump = nil
        // It goes on as before after all; what comes late says nothing of that.
        if step > 0 { streams[layer].startsAnewAt = nil }
        return highest + Int64(step)
    }

    /// Whether a number is one of those that began anew, of which none has been kept yet.
    private func continuesAnew(_ number: UInt16, layer: Int) -> Bool {
        guard let beginning = streams[layer].startsAnewAt else { return false }
        return (0...Self.maximumDropout).contains(SequenceNumber.distance(from: beginning, to: number))
    }

    /// A new beginning lies a whole cycle ahead, where nothing of before is.
    private mutating func beginAnew(at number: UInt16, after highest: Int64, layer: Int) -> Int64 {
        let cycle = (highest + 0x1_0000) & ~0xffff
        let sequence = cycle + 0x1_0000 + Int64(number)
        streams[layer].highest = sequence
        streams[layer].expectedAfterJump = nil
        streams[layer].startsAnewAt = nil
        return sequence
    }

    /// A sender report of a stream has come (RFC 3550 §6.4.1).
    public mutating func reported(_ report: SenderClock, layer: Int) {
        guard clocks.indices.contains(layer) else { return }
        clocks[layer].reported(report)
    }

    /// The stream's source has changed, and the new one has not reported.
    mutating func forgetClock(of layer: Int) {
        guard clocks.indices.contains(layer), clocks[layer].isKnown else { return }
        clocks[layer] = LayerClock(clockRate: clocks[layer].clockRate)
    }

    public func highestSequence(of layer: Int) -> Int64? {
        streams.indices.contains(layer) ? streams[layer].highest : nil
    }

    /// How many packets of a stream were read again, for a structure that came after them.
    func reread(of layer: Int) -> Int { streams.indices.contains(layer) ? streams[layer].reread : 0 }

    public func dependencyTable(of layer: Int) -> DependencyTable? {
        streams.indices.contains(layer) ? streams[layer].parser.dependencyTable : nil
    }

    /// Whether a packet has not come, or so long ago that it is not remembered.
    func lacks(_ sequence: Int64, layer: Int) -> Bool {
        streams.indices.contains(layer) && !streams[layer].history.contains(sequence)
    }

    /// Whether a packet of this number has been here lately.
    func has(_ number: UInt16, layer: Int) -> Bool {
        guard let highest = highestSequence(of: layer) else { return false }
        let step = SequenceNumber.distance(from: UInt16(truncatingIfNeeded: highest), to: number)
        return !lacks(highest + Int64(step), layer: layer)
    }

    /// A packet that is still kept.
    public func packet(layer: Int, sequence: Int64, at now: Instant) -> PublishedPacket? {
        streams.indices.contains(layer) ? streams[layer].history.packet(sequence, at: now) : nil
    }

    /// Likewise, by the low bits of its sequence.
    func packet(layer: Int, low: UInt32, at now: Instant) -> PublishedPacket? {
        guard streams.indices.contains(layer), let highest = streams[layer].history.highest else { return nil }
        let step = Int32(bitPattern: low &- UInt32(truncatingIfNeeded: highest))
        return streams[layer].history.packet(highest + Int64(step), at: now)
    }

    /// Hands out the bytes of a packet that is still kept, header and all; of one that is not, nothing is called. A
    /// closure, for a span may not outlive its access to the array of streams.
    public func withBytes(of packet: PublishedPacket, _ body: (RawSpan) -> Void) {
        // By the span and by places in the ring: the array, and the history when it hands out bytes, would make a copy
        // and count its references.
        let streams = streams.span
        guard streams.indices.contains(Int(packet.layer)) else { return }
        let range = streams[Int(packet.layer)].history.range(of: packet.sequence)
        if !range.isEmpty { body(streams[Int(packet.layer)].history.ring.span.bytes.extracting(range)) }
    }
}
