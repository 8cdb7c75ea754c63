public import RTCEngine

/// Forwards an audio publication to one subscriber: every packet, and without a gap in the numbers after a pause.
public struct AudioForwarder: Sendable {
    public private(set) var rewriter: StreamRewriter
    /// While it is paused nothing is sent, but padding for packets whose numbers were kept before.
    public var isPaused = false {
        didSet { if isPaused { rewriter.close() } }
    }

    public init(rewriter: StreamRewriter) { self.rewriter = rewriter }

    /// A packet of the publication has come.
    ///
    /// - Returns: what goes out; nil when nothing does.
    public mutating func receive(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        switch rewriter.standing(layer: packet.layer, sequence: packet.sequence) {
        case .next: break
        case .late(let place):
            return packet.isPadding || isPaused
                ? rewriter.pad(place, with: packet) : rewriter.fill(place, with: packet, marker: packet.marker)
        case .past: return nil
        case .outside, .jump:
            // It begins again only with a packet that is newer than all before: others are of before the pause.
            guard !isPaused, !packet.isPadding, packet.isNewest else { return nil }
            rewriter.begin(packet, clocks: track.clocks, at: now)
        }
        rewriter.reach(packet.sequence, admission: 0)
        guard !packet.isPadding else {
            rewriter.skip(packet, leavesOutPicture: false, at: now)
            return nil
        }
        return rewriter.send(packet, marker: packet.marker, admission: 0, at: now)
    }

    /// A silent packet to send while the stream is paused.
    ///
    /// - Returns: nil while it is not paused, and where nothing was sent before.
    mutating func insertSilence(samples: Int, due: Instant) -> OutgoingPacket? {
        isPaused ? rewriter.insert(samples: samples, due: due) : nil
    }

    /// A padding packet to send while the stream is paused; nil otherwise.
    mutating func insertPadding(at now: Instant) -> OutgoingPacket? {
        isPaused ? rewriter.insertPadding(at: now) : nil
    }

    /// Answers a subscriber's request for a lost packet (RFC 4585 §6.2.1): the packet as it was sent, and the published
    /// one; nil when there is nothing to send.
    public mutating func repair(
        _ sequenceNumber: UInt16, of track: borrowing PublishedTrack, roundTrip: Interval, at now: Instant
    ) -> (out: OutgoingPacket, packet: PublishedPacket)? {
        guard let missed = rewriter.missed(sequenceNumber, roundTrip: roundTrip, at: now),
            let packet = track.packet(layer: Int(missed.layer), low: missed.incoming, at: now)
        else { return nil }
        return (rewriter.again(missed, packet), packet)
    }
}
