/// What a `MediaWorker` has done, and what is on it now.
package struct MediaWorkerStatistics: Sendable, Equatable {
    package var rooms = 0
    package var peers = 0
    /// TCP connections.
    package var tcpConnections = 0
    /// TCP connections that were closed at once, for there were too many.
    package var tcpConnectionsRefused = 0
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
    /// Datagrams that the system dropped since the worker had not read those before them.
    package var datagramsOverrun = 0
    /// It takes no new rooms; not summed.
    package var isDraining = false
    /// Datagrams that were nobody's.
    package var drops = Drops()

    package init() {}

    /// Datagrams that were nobody's, by reason.
    package struct Drops: Sendable, Equatable {
        var unknownFragments = 0
        var unknownAddresses = 0

        subscript(reason: Demultiplexer<MediaPeer>.DropReason) -> Int {
            get {
                switch reason {
                case .unknownFragment: unknownFragments
                case .unknownAddress: unknownAddresses
                }
            }
            set {
                switch reason {
                case .unknownFragment: unknownFragments = newValue
                case .unknownAddress: unknownAddresses = newValue
                }
            }
        }

        /// All of them.
        package var byReason: [(reason: String, count: Int)] {
            Demultiplexer<MediaPeer>.DropReason.allCases.map { ($0.rawValue, self[$0]) }
        }
    }

    /// Whether anything else has happened since than that datagrams came and went.
    func hasNews(since former: Self) -> Bool {
        rooms != former.rooms || peers != former.peers || tcpConnections != former.tcpConnections
            || signals != former.signals || roomsMade != former.roomsMade || joins != former.joins
            || isDraining != former.isDraining
    }

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.rooms += right.rooms
        sum.peers += right.peers
        sum.tcpConnections += right.tcpConnections
        sum.tcpConnectionsRefused += right.tcpConnectionsRefused
        sum.signals += right.signals
        sum.roomsMade += right.roomsMade
        sum.joins += right.joins
        sum.datagramsReceived += right.datagramsReceived
        sum.bytesReceived += right.bytesReceived
        sum.datagramsSent += right.datagramsSent
        sum.bytesSent += right.bytesSent
        sum.datagramsUnsent += right.datagramsUnsent
        sum.datagramsOverrun += right.datagramsOverrun
        sum.drops.unknownFragments += right.drops.unknownFragments
        sum.drops.unknownAddresses += right.drops.unknownAddresses
        return sum
    }
}
