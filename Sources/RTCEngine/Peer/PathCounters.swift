internal import RTCWire

/// What has gone over each pair of addresses, ICE's own checks not counted (W3C webrtc-stats §8.11).
struct PathCounters {
    struct Path {
        let route: ICERoute
        var packetsSent: UInt64 = 0
        var bytesSent: UInt64 = 0
        var packetsReceived: UInt64 = 0
        var bytesReceived: UInt64 = 0
        var lastSentAt: Instant?
        var lastReceivedAt: Instant?

        var lastUsedAt: Instant { max(lastSentAt ?? .zero, lastReceivedAt ?? .zero) }
    }

    /// The path that the last packet took: the next one is likely to take it too, and it lies here and not elsewhere.
    private var recent: Path?
    private var others: [Path] = []
    /// A peer may wander; the path that has been quiet longest is forgotten for a new one.
    static let maximumPaths = 64

    subscript(route: ICERoute) -> Path? { recent?.route == route ? recent : others.first { $0.route == route } }

    mutating func sent(_ count: Int, on route: ICERoute, at now: Instant) {
        if recent?.route != route { turn(to: route) }
        recent?.packetsSent += 1
        recent?.bytesSent += UInt64(count)
        recent?.lastSentAt = now
    }

    mutating func received(_ count: Int, on route: ICERoute, at now: Instant) {
        if recent?.route != route { turn(to: route) }
        recent?.packetsReceived += 1
        recent?.bytesReceived += UInt64(count)
        recent?.lastReceivedAt = now
    }

    private mutating func turn(to route: ICERoute) {
        let found = others.firstIndex { $0.route == route }.map { others.remove(at: $0) }
        if let recent { others.append(recent) }
        recent = found ?? Path(route: route)
        guard others.count >= Self.maximumPaths,
            let quietest = others.indices.min(by: { others[$0].lastUsedAt < others[$1].lastUsedAt })
        else { return }
        others.remove(at: quietest)
    }
}
