/// Which events belong to which connection. The engine's events and its answers come by different ways, so an event may
/// come before the answer of its connection, and after the end of it.
///
/// It says nothing about what is shown, so two of them are equal: a test of an app that compares states need not know
/// it.
struct ConnectionLedger: Sendable {
    /// Far more than happens while answers are on their way; the oldest give way.
    static let earlyLimit = 256
    /// How many connections that are over are remembered: as long as an event may wait in the stream.
    static let formerLimit = 64

    /// Who is being disconnected, until their next connection: its offer waits. The oldest give way, for they have
    /// gone.
    private var leaving: [(userId: String, task: Task<Void, Never>)] = []
    private(set) var early: [WebRTCEvent] = []
    private(set) var former: [WebRTCConnectionID] = []

    /// Keeps an event for the answer that may come, unless its connection is over.
    mutating func keep(_ event: WebRTCEvent) {
        guard !former.contains(event.connection) else { return }
        early.append(event)
        if early.count > Self.earlyLimit { early.removeFirst() }
    }

    /// The answer of a connection is told: hands out what waited for it. What else is there of the same peer is of
    /// connections that are over.
    mutating func begin(_ connection: WebRTCConnectionID) -> [WebRTCEvent] {
        let waited = early.filter { $0.connection == connection }
        early.removeAll { $0.connection.userId == connection.userId }
        former.removeAll { $0 == connection }
        leaving.removeAll { $0.userId == connection.userId }
        return waited
    }

    /// Somebody is being disconnected.
    mutating func leave(_ userId: String, _ task: Task<Void, Never>) {
        leaving.removeAll { $0.userId == userId }
        leaving.append((userId, task))
        if leaving.count > Self.formerLimit { leaving.removeFirst() }
    }

    /// What an offer of somebody waits for.
    func leaving(of userId: String) -> Task<Void, Never>? { leaving.first { $0.userId == userId }?.task }

    /// Whether a connection is known to be over. Where answers name no session, as in previews, nobody can tell.
    func isOver(_ connection: WebRTCConnectionID) -> Bool {
        !connection.session.isEmpty && former.contains(connection)
    }

    /// A connection is over.
    mutating func end(_ connection: WebRTCConnectionID) {
        early.removeAll { $0.connection.userId == connection.userId }
        guard !former.contains(connection) else { return }
        former.append(connection)
        if former.count > Self.formerLimit { former.removeFirst() }
    }
}

extension ConnectionLedger: Equatable {
    static func == (left: Self, right: Self) -> Bool { true }
}
