public import RTCEngine
import RTCWire

/// Forwards a video publication to one subscriber: chooses packets (`LayerSelector`) and numbers them
/// (`StreamRewriter`).
///
/// The owner calls `receive` with every packet of the publication once it is in the track's histories, and after each
/// with the packets that `nextMissed` names: they came before it was known that they are wanted.
public struct VideoForwarder: Sendable {
    /// When a key frame of another stream comes in the middle of a picture, the rest of the picture is waited for
    /// before the switch, but no longer than this.
    static let patienceWithPicture = Interval.milliseconds(30)
    /// No switch is made to a key frame that began more than so many packets ago, for all packets since would be sent
    /// in one burst.
    static let mostMissed: Int64 = 200

    /// Whether the last packet that was sent was not the last of its picture.
    private var isInsidePicture = false
    private var lastTimestamp: UInt32 = 0
    /// The start of a key frame of another stream, to which to switch when the present picture has ended.
    private var waiting: (layer: UInt8, sequence: Int64, since: Instant)?
    /// Packets of the forwarded stream that came before the switch to it, and are still to be forwarded.
    private var missed: (layer: UInt8, next: Int64, last: Int64)?
    public private(set) var rewriter: StreamRewriter
    public private(set) var selector: LayerSelector

    public init(selector: LayerSelector, rewriter: StreamRewriter) {
        self.selector = selector
        self.rewriter = rewriter
    }

    /// The layers to forward; nil pauses.
    public var target: LayerTarget? {
        get { selector.target }
        set {
            selector.target = newValue
            if newValue == nil { stop() }
        }
    }

    /// Ends what is forwarded. It can begin again only at a key frame.
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
            // The publisher has begun its numbers anew. The subscriber goes on at the next key frame, perhaps this one.
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

    /// Prefetches the memory that the next packet needs. `mutating`, because a call through the optional that holds it
    /// would copy it otherwise.
    mutating func prefetch() { rewriter.prefetch() }

    private mutating func forward(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        // The picture's end has not come, and the next picture has begun or the patience is over, so the switch is
        // made. No places are kept for missing packets from here on: they could be of a picture after the key frame's.
        if let waiting, packet.timestamp != lastTimestamp || now - waiting.since > Self.patienceWithPicture,
            goToWaiting(of: track, at: now)
        {
            return nil
        }
        guard packet.isPadding || selector.canJudge(packet) else {
            // It goes on at the next key frame: or at the one that this packet is of, when that one's first packet
            // comes.
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

    /// Considers a switch at a packet of a stream that is not forwarded, or of before it was.
    private mutating func consider(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, at now: Instant
    ) -> OutgoingPacket? {
        if let waiting, now - waiting.since > Self.patienceWithPicture, goToWaiting(of: track, at: now) { return nil }
        guard selector.canBegin(packet, of: track) else { return nil }
        let newest = track.highestSequence(of: Int(packet.layer)) ?? packet.sequence
        guard newest - packet.sequence < Self.mostMissed else { return nil }
        if isInsidePicture {
            // In place of an earlier key frame that waits: the newer one will do.
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

    /// Switches to the key frame that waits, if it is still wanted and in the history.
    ///
    /// - Returns: whether it does.
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

    /// A padding packet to send while the stream is paused; nil otherwise.
    mutating func insertPadding(at now: Instant) -> OutgoingPacket? {
        target == nil ? rewriter.insertPadding(at: now) : nil
    }

    /// The stream of which a key frame is needed now, if one is.
    public mutating func keyFrameWish(of track: borrowing PublishedTrack, at now: Instant) -> Int? {
        selector.keyFrameWish(of: track, at: now).map { Int($0) }
    }

    // MARK: Repair

    /// Answers a subscriber's request for a lost packet (RFC 4585 §6.2.1).
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
