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

    private var paths: [Path] = []
    /// Where the last packet was counted: the next one is likely of the same path.
    private var recent = 0
    /// A peer may wander; the path that has been quiet longest is forgotten for a new one.
    static let maximumPaths = 64

    subscript(route: ICERoute) -> Path? { paths.first { $0.route == route } }

    mutating func sent(_ count: Int, from base: TransportAddress, to remote: TransportAddress, at now: Instant) {
        let place = place(of: ICERoute(base: base, remote: remote))
        paths[place].packetsSent += 1
        paths[place].bytesSent += UInt64(count)
        paths[place].lastSentAt = now
    }

    mutating func received(_ count: Int, from remote: TransportAddress, to base: TransportAddress, at now: Instant) {
        let place = place(of: ICERoute(base: base, remote: remote))
        paths[place].packetsReceived += 1
        paths[place].bytesReceived += UInt64(count)
        paths[place].lastReceivedAt = now
    }

    private mutating func place(of route: ICERoute) -> Int {
        if paths.indices.contains(recent), paths[recent].route == route { return recent }
        if let place = paths.firstIndex(where: { $0.route == route }) {
            recent = place
        } else if paths.count < Self.maximumPaths {
            recent = paths.count
            paths.append(Path(route: route))
        } else {
            recent = paths.indices.min { paths[$0].lastUsedAt < paths[$1].lastUsedAt } ?? 0
            paths[recent] = Path(route: route)
        }
        return recent
    }
}
