public import RTCEngine
public import RTCWire

/// What the server keeps of one publication for all its subscribers: the last packets of each stream, and what is known
/// of its layers.
///
/// It cannot be copied: each access could make a copy otherwise, and count references to all that it holds.
public struct PublishedTrack: ~Copyable, Sendable {
    private struct Stream: Sendable {
        var parser: VideoDescriptorParser
        var history: PacketHistory
        var highest: Int64?
        /// The packets from the first to the last that came while the track was muted.
        var muted: ClosedRange<Int64>?
        var isMuted = false
        /// The first packet that came after the track was last unmuted.
        var heardFrom = Int64.min
        /// Whether the track was muted since the last packet, even if none came while it was.
        var wasMuted = false
        /// The SSRC of the source that sends now.
        var ssrc: UInt32?
        /// The number that confirms a jump: it is believed when the next packet continues from there (RFC 3550 §A.1).
        var expectedAfterJump: UInt16?
        /// Set where the source is known to number its packets anew from about here on, until one of those is kept.
        var startsAnewAt: UInt16?

        /// Notes whether the track is muted, at a packet that is newer than all before.
        mutating func noteMute(_ isMuted: Bool, at sequence: Int64) {
            if isMuted { muted = (self.isMuted ? muted?.lowerBound ?? sequence : sequence)...sequence }
            if !isMuted, self.isMuted || wasMuted {
                heardFrom = sequence
                wasMuted = false
            }
            self.isMuted = isMuted
        }

        /// How many more packets may be read again. Each packet that comes adds `rereadsForEach`, up to
        /// `maximumRereads`, as many as are kept. Without this bound a publisher could send a structure with every
        /// packet, and have all kept packets read again each time.
        var rereads = Self.maximumRereads
        /// How many were read again, in all.
        var reread = 0
        static let rereadsForEach = 4
        static let maximumRereads = 1_024

        /// Reads packets again that came before the structure to which they refer. In their order, since the active
        /// targets of one hold for those after it.
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

    /// RFC 3550 §A.1 has 3,000 for gaps and 100 for late packets. At the rate of video retransmissions are later than
    /// that.
    private static let maximumDropout = 3_000
    private static let maximumMisorder = 2_000

    /// The temporal layer as which redundant sound is counted in `bitrates`.
    static let redundancyLayer = LayerBitrates.maximumTemporalLayers - 1

    public let format: PayloadFormat
    /// Whether each layer is a stream of its own, or all are inside one.
    public private(set) var arrangement: LayerArrangement
    /// Whether layers are compared by their rates of pictures (`StarvedLayers`).
    private let prefersMotion: Bool
    /// Which streams have come, a bit each.
    private var heard: UInt8 = 0
    /// The clock of each stream, by its sender reports.
    public private(set) var clocks: [LayerClock]
    public var bitrates = LayerBitrates()
    private var streams: [Stream]

    /// - Parameters:
    ///   - streams: how many simulcast layers there may be, lowest first; 1 without simulcast.
    ///   - arrangement: as the publisher has it.
    ///   - prefersMotion: whether a layer with hardly any pictures is given up for a smaller one: not for a shared
    ///     screen, which is to be read.
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

    /// The track is muted. `receive` is told with each packet too, but none may come before it is unmuted.
    public mutating func mute() {
        for index in streams.indices { streams[index].wasMuted = true }
    }

    /// The track is unmuted.
    public mutating func unmute(at now: Instant) { bitrates.resume(at: now) }

    /// Takes note of a packet that is not kept, for example one of another codec.
    ///
    /// - Parameter startsAnew: whether the source is known to number its packets anew from this one on. Then the next
    ///   one that is kept is of those, however many are passed over before it.
    mutating func passOver(_ number: UInt16, startsAnew: Bool, layer: Int) {
        guard streams.indices.contains(layer), streams[layer].highest != nil else { return }
        if startsAnew || continuesAnew(number, layer: layer) { streams[layer].startsAnewAt = number }
    }

    /// Takes a decrypted packet of a stream, in any order, sent again or not.
    ///
    /// - Parameters:
    ///   - isMuted: its content must not be forwarded, now or later. It counts as padding, which is sent at the places
    ///     that were kept for it in the subscribers' streams.
    ///   - redundancy: what a packet with redundancy carries (RFC 2198).
    ///   - startsAnew: whether the source is known to number its packets anew from this one on. Otherwise a jump is
    ///     believed when a second packet confirms it, and the first one is lost. A packet with this was held back until
    ///     the next one came: if the track was muted since the packet before it, it counts as one of then.
    /// - Returns: the packet as forwarding sees it; nil if it is not kept: it was here before, is older than those that
    ///   are kept, or cannot be read.
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
        // A packet of when the track was muted may be sent again and come when it no longer is.
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
            // Redundant sound is counted as a layer above, since subscribers without redundancy do not get it.
            if earlier > 0 { bitrates.receive(bytes: earlier, spatial: 0, temporal: Self.redundancyLayer, at: now) }
        }
        return published
    }

    /// Finds out how layers are arranged. Clients that announce several encodings of VP9 or AV1 may send a single
    /// stream with the layers inside, as libwebrtc does where no scalability mode is named. That is known when only one
    /// stream comes, and it has spatial layers.
    private mutating func arrange(by video: VideoDescriptor, ofStream layer: Int, at now: Instant) {
        guard streams.count > 1, format == .vp9 || format == .av1 else { return }
        heard |= 1 << UInt8(layer)
        if heard != 1 << UInt8(layer) {
            // Several streams have come, so each is a layer, from now on and for good.
            guard arrangement != .simulcast else { return }
            arrangement = .simulcast
            // Bitrates were counted by the layers inside a stream, and are counted by streams now. Below it is the
            // other way round.
            bitrates = LayerBitrates(live: heard, at: now)
        } else {
            guard video.spatialLayer > 0, arrangement == .simulcast else { return }
            arrangement = .scalable(stream: UInt8(layer))
            bitrates = LayerBitrates(live: UInt8(truncatingIfNeeded: (2 << UInt16(video.spatialLayer)) - 1), at: now)
        }
    }

    /// The sequence number, extended so that it does not wrap; nil for a jump that no second packet has confirmed.
    private mutating func unwrap(_ number: UInt16, of ssrc: UInt32, startsAnew: Bool, layer: Int) -> Int64? {
        guard let highest = streams[layer].highest else {
            streams[layer].ssrc = ssrc
            streams[layer].highest = Int64(number) + 0x1_0000
            return streams[layer].highest
        }
        guard streams[layer].ssrc == ssrc else {
            // The numbers of another source do not continue those before.
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
        // The source goes on with its old numbers after all. A late packet does not tell that.
        if step > 0 { streams[layer].startsAnewAt = nil }
        return highest + Int64(step)
    }

    /// Whether a number belongs to those that begin anew at `startsAnewAt`.
    private func continuesAnew(_ number: UInt16, layer: Int) -> Bool {
        guard let beginning = streams[layer].startsAnewAt else { return false }
        return (0...Self.maximumDropout).contains(SequenceNumber.distance(from: beginning, to: number))
    }

    /// The extended number of a new beginning: more than a whole cycle ahead, so that it meets none of before.
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

    /// The packet of this number, if it is still kept.
    public func packet(layer: Int, sequence: Int64, at now: Instant) -> PublishedPacket? {
        streams.indices.contains(layer) ? streams[layer].history.packet(sequence, at: now) : nil
    }

    /// Likewise, by the low bits of its number.
    func packet(layer: Int, low: UInt32, at now: Instant) -> PublishedPacket? {
        guard streams.indices.contains(layer), let highest = streams[layer].history.highest else { return nil }
        let step = Int32(bitPattern: low &- UInt32(truncatingIfNeeded: highest))
        return streams[layer].history.packet(highest + Int64(step), at: now)
    }

    /// Calls `body` with the bytes of a packet, header included, if it is still kept. A closure is needed, since a span
    /// may not outlive the access to the array of streams.
    public func withBytes(of packet: PublishedPacket, _ body: (RawSpan) -> Void) {
        // Through spans: access through the array, or by the history's own method, would copy the history and count
        // references.
        let streams = streams.span
        guard streams.indices.contains(Int(packet.layer)) else { return }
        let range = streams[Int(packet.layer)].history.range(of: packet.sequence)
        if !range.isEmpty { body(streams[Int(packet.layer)].history.ring.span.bytes.extracting(range)) }
    }
}
