package import RTCEngine

/// A room that is to become empty.
extension RoomMachine {
    /// Takes nobody new from now on, for good, but recorders and agents, which are there for the others. Who is in it
    /// stays, and may come back, by resuming or by a new session. When the last of them has had the time to, the room
    /// ends; one that nobody has come to, at once.
    package func drain(at now: Instant) {
        guard phase == .open, !isDraining else { return }
        isDraining = true
        mayReturn = Set(people.map(\.identity))
        nextCheck = now
    }

    /// Whether somebody of this identity is in it.
    package func isIn(_ identity: String) -> Bool { people.contains { $0.identity == identity } }

    /// How many are in it whom it is for: recorders and agents are not waited for.
    package var peopleCount: Int { people.count { !$0.isDependent } }

    /// All have left, perhaps by a connection that they make anew: there is still time to come back.
    package var isAwaited: Bool { phase == .open && hasHadPeople && emptySince != nil }
}
