/// What a `MediaWorker` has done, and what is on it now.
package struct MediaWorkerStatistics: Sendable, Equatable {
    package var rooms = 0
    package var peers = 0
    /// TCP connections.
    package var streams = 0
    /// Signaling connections.
    package var signals = 0
    package var roomsMade = 0
    package var joins = 0
    package var datagramsReceived = 0
    package var bytesReceived = 0
    package var datagramsSent = 0
    package var bytesSent = 0
    /// Datagrams that the system did not take, of those that were sent.
    package var datagramsUnsent = 0
    /// It takes no new rooms.
    package var isDraining = false
    /// Datagrams that were nobody's, by reason.
    package var drops: [String: Int] = [:]

    package init() {}

    /// All that `drops` may have.
    package static var dropReasons: [String] { Demultiplexer<MediaPeer>.Drop.allCases.map(\.rawValue) }

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.rooms += right.rooms
        sum.peers += right.peers
        sum.streams += right.streams
        sum.signals += right.signals
        sum.roomsMade += right.roomsMade
        sum.joins += right.joins
        sum.datagramsReceived += right.datagramsReceived
        sum.bytesReceived += right.bytesReceived
        sum.datagramsSent += right.datagramsSent
        sum.bytesSent += right.bytesSent
        sum.datagramsUnsent += right.datagramsUnsent
        sum.isDraining = left.isDraining && right.isDraining
        sum.drops.merge(right.drops, uniquingKeysWith: +)
        return sum
    }
}
