public import RTCEngine

/// Decides which packets of a publication a subscriber gets: which simulcast stream, and which layers inside it.
///
/// What is wanted is a `LayerTarget`, which the allocator sets. What can be had is another matter: streams are changed
/// at key frames, layers inside a stream where the publisher says that they can be joined. Until then what there is
/// goes on, and `keyFrameWish` says of which stream a key frame is needed.
public struct LayerSelector: Sendable {
    public enum Verdict: Sendable, Hashable {
        /// - endsPicture: the last packet of the picture for this subscriber.
        case forward(endsPicture: Bool)
        case leaveOut
    }

    /// A request for a key frame is repeated after so long without one.
    static let wishInterval = Interval.milliseconds(500)

    /// What is wanted; nil: nothing.
    public var target: LayerTarget?
    /// The stream that is forwarded; nil until a key frame has come.
    public private(set) var current: UInt8?
    /// What tells the layers of the stream that is forwarded.
    private var scheme = VideoDescriptor.Scheme.none
    private var temporal = TemporalSelector()
    private var lastWish: (layer: UInt8, at: Instant)?
    private var activeTargets: UInt32 = .max
    private var vp9 = VP9Selector()
    private var dependency = DependencySelector()

    public init(target: LayerTarget? = .highest) { self.target = target }

    // MARK: Streams

    /// The stream to go to: the highest one that is sent and wanted, or the lowest that is sent; nil when none is.
    private func goal(of track: borrowing PublishedTrack) -> UInt8? {
        let live = track.bitrates.live
        guard let target, live != 0 else { return nil }
        if case .scalable(let stream) = track.arrangement { return stream }
        let wanted = live & UInt8(truncatingIfNeeded: (2 << UInt16(min(target.spatial, 7))) - 1)
        return UInt8(wanted.highestSetBit ?? live.trailingZeroBitCount)
    }

    /// Whether the subscriber may be taken to the stream of this packet, here: it starts a key frame, and the stream is
    /// nearer to the goal than the present one. Without any, whatever is not too much will do for the beginning.
    public func canBegin(_ packet: PublishedPacket, of track: borrowing PublishedTrack) -> Bool {
        guard packet.video.startsKeyFrame, let goal = goal(of: track) else { return false }
        guard let current else { return packet.layer <= goal }
        guard packet.layer != current else { return false }
        return current < goal ? (current + 1...goal).contains(packet.layer) : (goal..<current).contains(packet.layer)
    }

    /// The stream of this packet is forwarded from here.
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

    /// Nothing of what is forwarded can be gone on with: it was paused, or the publisher began anew.
    public mutating func end() { current = nil }

    // MARK: Layers of a stream

    /// What is wanted of the stream that is forwarded.
    private func wanted(of track: borrowing PublishedTrack) -> LayerTarget {
        guard let target, let current else { return .lowest }
        switch track.arrangement {
        case .scalable: return target
        // On the way up all there is of the lower stream; where only a higher one is sent, as smooth as was asked for.
        case .simulcast:
            return current < target.spatial ? .highest : LayerTarget(spatial: 7, temporal: Int(target.temporal))
        }
    }

    /// Whether it can be told what the packet is, and what of those after it can be decoded. A descriptor that cannot
    /// be understood says nothing of its frame; a key frame needs nothing said. Most often the packet before it is
    /// missing, which begins a key frame and brings another structure.
    func canJudge(_ packet: PublishedPacket) -> Bool {
        packet.video.scheme == scheme || packet.video.startsKeyFrame
    }

    /// Decides about the next packet of the stream, which can be judged.
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

    /// What the subscriber gets at present, to judge packets that come late.
    public var admission: StreamRewriter.Admission {
        switch scheme {
        case .none, .vp8: temporal.admission
        case .vp9: vp9.admission
        case .dependency: dependency.admission
        }
    }

    /// Whether a packet that comes late is one of those that the subscriber got then.
    public func admits(_ packet: PublishedPacket, under admission: StreamRewriter.Admission) -> Bool {
        guard packet.video.scheme == scheme else { return false }
        return switch scheme {
        case .none, .vp8: TemporalSelector.admits(packet.video, under: admission)
        case .vp9: VP9Selector.admits(packet.video, under: admission)
        case .dependency: DependencySelector.admits(packet.video, under: admission)
        }
    }

    /// Whether such a packet is the last of its picture for this subscriber.
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

    /// A late packet goes out: later switches may rely on its frame.
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

    /// The stream of which a key frame is needed to get nearer to what is wanted; nil when none is.
    public func neededKeyFrame(of track: borrowing PublishedTrack) -> UInt8? {
        guard let goal = goal(of: track) else { return nil }
        guard current == goal else { return goal }
        let wanted = wanted(of: track)
        switch scheme {
        case .none, .vp8: return nil
        case .vp9:
            // Of the layers inside one of several streams it is not known which come.
            guard track.arrangement != .simulcast else { return vp9.isBroken ? goal : nil }
            let highest = UInt8(track.bitrates.live.highestSetBit ?? 0)
            return vp9.needsKeyPicture(wanted: wanted, highest: highest) ? goal : nil
        case .dependency:
            guard let table = track.dependencyTable(of: Int(goal)) else { return nil }
            return dependency.needsKeyFrame(table, active: activeTargets, wanted: wanted) ? goal : nil
        }
    }

    /// Like `neededKeyFrame`, when it is time to ask: at once, and again after the interval.
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
