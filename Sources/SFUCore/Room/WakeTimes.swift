import RTCEngine

/// When each peer of a room is next wanted, side by side: the room looks for the earliest after everything that comes,
/// and in the peers themselves it would wait for the memory of each.
struct WakeTimes {
    private static let never = Instant(nanoseconds: .max)

    private var peers: [RoomPeer] = []
    /// Of the peer at the same place.
    private var times: [Instant] = []

    /// Nil when nobody waits for anything.
    var earliest: Instant? {
        var earliest = Self.never
        for time in times where time < earliest { earliest = time }
        return earliest == Self.never ? nil : earliest
    }

    /// A peer that waits for nothing yet.
    mutating func add(_ peer: RoomPeer) {
        peer.wakePlace = peers.count
        peers.append(peer)
        times.append(Self.never)
    }

    mutating func remove(_ peer: RoomPeer) {
        guard let place = peer.wakePlace else { return }
        peers.swapAt(place, peers.count - 1)
        times.swapAt(place, times.count - 1)
        peers[place].wakePlace = place
        peers.removeLast()
        times.removeLast()
        peer.wakePlace = nil
    }

    /// - Parameter time: nil when it waits for nothing any more.
    mutating func set(_ time: Instant?, of peer: RoomPeer) {
        guard let place = peer.wakePlace else { return }
        times[place] = time ?? Self.never
    }

    /// Calls `body` with each peer whose time has come; the times stay until they are set.
    func forEachDue(at now: Instant, _ body: (RoomPeer) -> Void) {
        for place in times.indices where times[place] <= now { body(peers[place]) }
    }
}
