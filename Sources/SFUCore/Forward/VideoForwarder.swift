public import RTCEngine
import RTCWire

/// One subscriber's part of a publication's pictures: chooses what is forwarded (`LayerSelector`) and numbers it
/// (`StreamRewriter`).
///
/// Whoever owns it gives it every packet of the publication, once it is in the track's histories, and after each of
/// them those that `nextMissed` names, which came before it was known that they are wanted.
public struct VideoForwarder: Sendable {
    /// A key frame's stream is not gone to in the middle of a picture of the one before; the rest of that is waited for
    /// so long.
    static let patienceWithPicture = Interval.milliseconds(30)
    /// A key frame that begins longer ago than so many packets is not gone to any more: what is missed since would come
    /// as one burst.
    static let mostMissed: Int64 = 200

    /// The picture that goes out has not ended.
    private var isInsidePicture = false
    private var lastTimestamp: UInt32 = 0
    /// A key frame that is gone to when the picture has ended.
    private var waiting: (layer: UInt8, sequence: Int64, since: Instant)?
    /// Packets of the forwarded stream that came before it was.
    private var missed: (layer: UInt8, next: Int64, last: Int64)?
    public private(set) var rewriter: StreamRewriter
    public private(set) var selector: LayerSelector

    public init(selector: LayerSelector, rewriter: StreamRewriter) {
        self.selector = selector
        self.rewriter = rewriter
    }

    /// What is wanted; nil pauses.
    public var target: LayerTarget? {
        get { selector.target }
        set {
            selector.target = newValue
            if newValue == nil { stop() }
        }
    }

    /// What can be gone on with only from a key frame.
    private mutating func stop() {
        selector.end()
        rewriter.close()
        waiting = nil
        missed = nil
        isInsidePicture = false
    }

    /// A packet of the publication has come.
    ///
    /// - Returns: what goes out; nil when nothing does.
    public mutating func receive(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        switch rewriter.standing(layer: packet.layer, sequence: packet.sequence) {
        case .next: return forward(packet, of: track, at: now)
        case .late(let place):
            let admission = rewriter.admission(at: place)
            guard !packet.isPadding, selector.admits(packet, under: admission) else {
                return rewriter.pad(place, with: packet)
            }
            selector.filled(packet)
            let marker = selector.endsPicture(packet, of: track, under: admission)
            return rewriter.fill(place, with: packet, marker: marker)
        case .past: return nil
        case .jump:
            // The publisher began anew, and so does the subscriber, with the next key frame; which may be this one.
            stop()
            return consider(packet, of: track, at: now)
        case .outside: return consider(packet, of: track, at: now)
        }
    }

    /// The next packet, by stream and sequence, that came before it was known that it is wanted; nil when there is
    /// none. It is to be looked up in the stream's history and given to `receive`.
    public mutating func nextMissed() -> (layer: UInt8, sequence: Int64)? {
        guard let missed else { return nil }
        self.missed = missed.next < missed.last ? (missed.layer, missed.next + 1, missed.last) : nil
        return (missed.layer, missed.next)
    }

    /// The memory that the next packet takes. `mutating`: a look through the optional in which it lies would copy it.
    mutating func prefetch() { rewriter.prefetch() }

    private mutating func forward(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        // The picture's end is lost, or on its way: the key frame does not wait for it. Places are not kept any more,
        // for what takes them could be of a picture that comes after the key frame's.
        if let waiting, packet.timestamp != lastTimestamp || now - waiting.since > Self.patienceWithPicture,
            goToWaiting(of: track, at: now)
        {
            return nil
        }
        guard packet.isPadding || selector.canJudge(packet) else {
            // It goes on with the next key frame, or the one that this belongs to when that one's first packet comes.
            stop()
            return nil
        }
        let followsGap = rewriter.followsGap(packet.sequence)
        rewriter.reach(packet.sequence, admission: selector.admission)
        guard !packet.isPadding else {
            rewriter.skip(packet, leavesOutPicture: false, at: now)
            return nil
        }
        switch selector.judge(packet, of: track, followsGap: followsGap) {
        case .leaveOut:
            leaveOut(packet, of: track, at: now)
            return nil
        case .forward(let endsPicture):
            isInsidePicture = !endsPicture
            lastTimestamp = packet.timestamp
            let out = rewriter.send(packet, marker: endsPicture, admission: selector.admission, at: now)
            if endsPicture { _ = goToWaiting(of: track, at: now) }
            return out
        }
    }

    private mutating func leaveOut(_ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant) {
        // VP9's group of pictures (RFC 9628 §4.2.1) is counted by picture ids, so those keep theirs.
        rewriter.skip(packet, leavesOutPicture: track.format == .vp8, at: now)
    }

    /// A packet of a stream that is not forwarded, or of before it was.
    private mutating func consider(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        if let waiting, now - waiting.since > Self.patienceWithPicture, goToWaiting(of: track, at: now) { return nil }
        guard selector.canBegin(packet, of: track) else { return nil }
        let newest = track.highestSequence(of: Int(packet.layer)) ?? packet.sequence
        guard newest - packet.sequence < Self.mostMissed else { return nil }
        if isInsidePicture {
            // The latest key frame is as good as the one before.
            waiting = (packet.layer, packet.sequence, now)
            return nil
        }
        waiting = nil
        selector.begin(packet)
        rewriter.begin(packet, clocks: track.clocks, at: now)
        if missed?.layer != packet.layer {
            missed = newest > packet.sequence ? (packet.layer, packet.sequence + 1, newest) : nil
        }
        return forward(packet, of: track, at: now)
    }

    /// Takes up the key frame that waits, if it is still wanted and kept.
    private mutating func goToWaiting(of track: borrowing PublishedTrack, at now: Instant) -> Bool {
        guard let key = waiting else { return false }
        waiting = nil
        let newest = track.highestSequence(of: Int(key.layer)) ?? key.sequence
        guard let packet = track.packet(layer: Int(key.layer), sequence: key.sequence, at: now),
            selector.canBegin(packet, of: track), newest - key.sequence < Self.mostMissed
        else { return false }
        isInsidePicture = false
        missed = (key.layer, key.sequence, newest)
        return true
    }

    /// A packet of padding goes out where nothing is passed on; nil while something is.
    mutating func insertPadding(at now: Instant) -> OutgoingPacket? {
        target == nil ? rewriter.insertPadding(at: now) : nil
    }

    /// The stream of which a key frame is needed now, if one is.
    public mutating func keyFrameWish(of track: borrowing PublishedTrack, at now: Instant) -> Int? {
        selector.keyFrameWish(of: track, at: now).map { Int($0) }
    }

    // MARK: Repair

    /// What a subscriber asks for (RFC 4585 §6.2.1).
    ///
    /// - Returns: the packet as it was sent, and the published one, whose bytes are in the history of its stream; nil
    ///   when there is nothing to send.
    public mutating func repair(
        _ sequenceNumber: UInt16, of track: borrowing PublishedTrack, roundTrip: Interval, at now: Instant
    ) -> (out: OutgoingPacket, packet: PublishedPacket)? {
        guard let missed = rewriter.missed(sequenceNumber, roundTrip: roundTrip, at: now),
            let packet = track.packet(layer: Int(missed.layer), low: missed.incoming, at: now)
        else { return nil }
        return (rewriter.again(missed, packet), packet)
    }
}
