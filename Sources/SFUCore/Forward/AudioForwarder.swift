public import RTCEngine

/// One subscriber's part of a publication's sound: every packet, without a gap for what was left out while it was
/// paused.
public struct AudioForwarder: Sendable {
    public private(set) var rewriter: StreamRewriter
    /// Nothing goes out while it is, but padding in places that were kept before.
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
            // A packet of before the pause is of no use to anybody any more.
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

    /// A packet of silence goes out in place of what is not passed on.
    ///
    /// - Returns: nil while something is, and where nothing has been.
    mutating func insertSilence(samples: Int, due: Instant) -> OutgoingPacket? {
        isPaused ? rewriter.insert(samples: samples, due: due) : nil
    }

    /// A packet of padding goes out where nothing is passed on; nil while something is.
    mutating func insertPadding(at now: Instant) -> OutgoingPacket? {
        isPaused ? rewriter.insertPadding(at: now) : nil
    }

    /// What a subscriber asks for (RFC 4585 §6.2.1): the packet as it was sent, and the published one.
    public mutating func repair(
        _ sequenceNumber: UInt16, of track: borrowing PublishedTrack, roundTrip: Interval, at now: Instant
    ) -> (out: OutgoingPacket, packet: PublishedPacket)? {
        guard let missed = rewriter.missed(sequenceNumber, roundTrip: roundTrip, at: now),
            let packet = track.packet(layer: Int(missed.layer), low: missed.incoming, at: now)
        else { return nil }
        return (rewriter.again(missed, packet), packet)
    }
}
