public import RTCEngine

/// Decides which packets of a publication a subscriber gets: which simulcast stream, and which layers inside it.
///
/// The allocator sets what is wanted, a `LayerTarget`. It cannot be had at every packet: the stream is changed at a key
/// frame, and layers inside a stream where the publisher marks that they can be joined. Until then the present layers
/// go on, and `keyFrameWish` says of which stream a key frame is needed.
public struct LayerSelector: Sendable {
    public enum Verdict: Sendable, Hashable {
        /// - endsPicture: the last packet of the picture for this subscriber.
        case forward(endsPicture: Bool)
        case leaveOut
    }

    /// A request for a key frame is repeated after so long without one.
    static let wishInterval = Interval.milliseconds(500)

    /// The layers that are wanted; nil for none.
    public var target: LayerTarget?
    /// The stream that is forwarded; nil until a key frame has come.
    public private(set) var current: UInt8?
    /// How the packets of the forwarded stream say which layers they are of.
    private var scheme = VideoDescriptor.Scheme.none
    private var temporal = TemporalSelector()
    private var lastWish: (layer: UInt8, at: Instant)?
    private var activeTargets: UInt32 = .max
    private var vp9 = VP9Selector()
    private var dependency = DependencySelector()

    public init(target: LayerTarget? = .highest) { self.target = target }

    // MARK: Streams

    /// The stream to switch to: the highest that comes and is wanted; without one the lowest that comes; nil when none
    /// does.
    private mutating func goal(of track: borrowing PublishedTrack) -> UInt8? {
        let live = track.bitrates.live
        guard let target, live != 0 else { return nil }
        if case .scalable(let stream) = track.arrangement { return stream }
        let wanted = live & UInt8(truncatingIfNeeded: (2 << UInt16(min(target.spatial, 7))) - 1)
        return UInt8(wanted.highestSetBit ?? live.trailingZeroBitCount)
    }

    /// Whether the subscriber may be switched to this packet's stream at this packet: it has to start a key frame, and
    /// its stream has to be nearer to the goal than the present one. Where nothing is forwarded yet, any stream up to
    /// the goal will do.
    public mutating func canBegin(_ packet: PublishedPacket, of track: borrowing PublishedTrack) -> Bool {
        guard packet.video.startsKeyFrame, let goal = goal(of: track) else { return false }
        guard let current else { return packet.layer <= goal }
        guard packet.layer != current else { return false }
        return current < goal ? (current + 1...goal).contains(packet.layer) : (goal..<current).contains(packet.layer)
    }

    /// Switches to the stream of this packet, from this packet on.
    public mutating func begin(_ packet: PublishedPacket) {
        current = packet.layer
        beginScheme(packet.video.scheme)
    }

    private mutating func beginScheme(_ scheme: VideoDescriptor.Scheme) {
        self.scheme = scheme
        temporal = TemporalSelector()
        vp9 = VP9Selector()
        dependency = DependencySelector()
    }

    /// Forgets the present stream, which cannot go on: it was paused, or the publisher has begun anew.
    public mutating func end() { current = nil }

    // MARK: Layers of a stream

    /// The layers that are wanted inside the forwarded stream.
    private mutating func wanted(of track: borrowing PublishedTrack) -> LayerTarget {
        guard let target, let current else { return .lowest }
        switch track.arrangement {
        case .scalable: return target
        // While a higher stream is waited for, the lower one is forwarded with all its temporal layers.
        case .simulcast:
            return current < target.spatial ? .highest : LayerTarget(spatial: 7, temporal: Int(target.temporal))
        }
    }

    /// Whether the packet's layers are known, as the stream's others are. Where a descriptor cannot be understood, most
    /// often the packet before it is missing, which began a key frame and had another structure. At a key frame nothing
    /// of before has to be known.
    mutating func canJudge(_ packet: PublishedPacket) -> Bool {
        packet.video.scheme == scheme || packet.video.startsKeyFrame
    }

    /// Decides about the next packet of the stream, for which `canJudge` is true.
    ///
    /// - Parameter followsGap: packets before it are missing.
    public mutating func judge(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, followsGap: Bool
    ) -> Verdict {
        let video = packet.video
        let wanted = wanted(of: track)
        if video.scheme != scheme { beginScheme(video.scheme) }
        switch scheme {
        case .none, .vp8:
            let keeps = temporal.keeps(video, timestamp: packet.timestamp, wanted: wanted.temporal)
            return keeps ? .forward(endsPicture: packet.marker || video.endsFrame) : .leaveOut
        case .vp9:
            let keeps = vp9.keeps(video, timestamp: packet.timestamp, followsGap: followsGap, wanted: wanted)
            return keeps ? .forward(endsPicture: packet.marker || vp9.endsPicture(video)) : .leaveOut
        case .dependency:
            guard let table = track.dependencyTable(of: Int(packet.layer)) else { return .leaveOut }
            activeTargets = video.dependency.activeTargets
            let keeps = dependency.keeps(video, table, wanted: wanted)
            return keeps ? .forward(endsPicture: packet.marker || dependency.endsPicture(video, table)) : .leaveOut
        }
    }

    /// The layers that the subscriber gets now, in a form that `admits` takes for packets that come late.
    public var admission: StreamRewriter.Admission {
        mutating get {
            switch scheme {
            case .none, .vp8: temporal.admission
            case .vp9: vp9.admission
            case .dependency: dependency.admission
            }
        }
    }

    /// Whether a late packet is of the layers that the subscriber got when its place was kept.
    public func admits(_ packet: PublishedPacket, under admission: StreamRewriter.Admission) -> Bool {
        guard packet.video.scheme == scheme else { return false }
        return switch scheme {
        case .none, .vp8: TemporalSelector.admits(packet.video, under: admission)
        case .vp9: VP9Selector.admits(packet.video, under: admission)
        case .dependency: DependencySelector.admits(packet.video, under: admission)
        }
    }

    /// Whether such a late packet is the last of its picture for this subscriber.
    func endsPicture(
        _ packet: PublishedPacket, of track: borrowing PublishedTrack, under admission: StreamRewriter.Admission
    ) -> Bool {
        guard !packet.marker, packet.video.endsFrame else { return packet.marker }
        switch packet.video.scheme {
        case .none, .vp8: return true
        case .vp9: return packet.video.spatialLayer == VP9Selector.highestLayer(under: admission)
        case .dependency:
            guard admission < 32, let table = track.dependencyTable(of: Int(packet.layer)) else { return false }
            return packet.video.spatialLayer == table.spatialLayer(of: Int(admission))
        }
    }

    /// A late packet is sent: a later switch of layers may need its frame.
    mutating func filled(_ packet: PublishedPacket) {
        if packet.video.scheme == .dependency, packet.layer == current { dependency.filled(packet.video) }
    }

    /// The layers that are forwarded now; nil when nothing is.
    public func forwarded(of track: borrowing PublishedTrack) -> LayerTarget? {
        guard let current else { return nil }
        let inside: LayerTarget
        switch scheme {
        case .none, .vp8: inside = LayerTarget(spatial: 0, temporal: Int(temporal.limit))
        case .vp9:
            let highest = track.bitrates.live.highestSetBit ?? 0
            inside = LayerTarget(spatial: min(Int(vp9.spatialLimit), highest), temporal: Int(vp9.temporalLimit))
        case .dependency:
            guard let table = track.dependencyTable(of: Int(current)), let target = dependency.target else {
                return nil
            }
            inside = LayerTarget(
                spatial: Int(table.spatialLayer(of: target)), temporal: Int(table.temporalLayer(of: target)))
        }
        switch track.arrangement {
        case .scalable: return inside
        case .simulcast: return LayerTarget(spatial: Int(current), temporal: Int(inside.temporal))
        }
    }

    // MARK: Key frames

    /// The stream of which a key frame is needed for what is wanted; nil when none is needed.
    public mutating func neededKeyFrame(of track: borrowing PublishedTrack) -> UInt8? {
        guard let goal = goal(of: track) else { return nil }
        guard current == goal else { return goal }
        let wanted = wanted(of: track)
        switch scheme {
        case .none, .vp8: return nil
        case .vp9:
            // Which layers come inside one of several simulcast streams is not known.
            guard track.arrangement != .simulcast else { return vp9.isBroken ? goal : nil }
            let highest = UInt8(track.bitrates.live.highestSetBit ?? 0)
            return vp9.needsKeyPicture(wanted: wanted, highest: highest) ? goal : nil
        case .dependency:
            guard let table = track.dependencyTable(of: Int(goal)) else { return nil }
            return dependency.needsKeyFrame(table, active: activeTargets, wanted: wanted) ? goal : nil
        }
    }

    /// As `neededKeyFrame`, but only when it is time to ask: at once, and then once in each `wishInterval`.
    public mutating func keyFrameWish(of track: borrowing PublishedTrack, at now: Instant) -> UInt8? {
        guard let layer = neededKeyFrame(of: track) else {
            lastWish = nil
            return nil
        }
        if let lastWish, lastWish.layer == layer, now - lastWish.at < Self.wishInterval { return nil }
        lastWish = (layer, now)
        return layer
    }
}
