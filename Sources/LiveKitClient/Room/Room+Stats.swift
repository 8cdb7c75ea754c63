public import RTCEngine

/// Statistics of both peer connections of a room.
public struct SessionStats: Sendable, Hashable {
    /// Of the connection on which we publish, and send messages.
    public var publisher: StatsReport
    /// Of the connection on which we receive.
    public var subscriber: StatsReport
}

extension Room {
    /// Statistics as they stand now (W3C: getStats), of each peer connection. Counters begin anew with each session,
    /// and so after `RoomEvent.reconnected` at times. Nil while there are no connections: outside of a room, and while
    /// a new session is begun.
    public func getStats() async -> SessionStats? {
        guard let media else { return nil }
        return SessionStats(publisher: await media.stats(.publisher), subscriber: await media.stats(.subscriber))
    }
}
