internal import LiveKitCore

/// A worker, or one room, that is to become empty.
extension MediaWorker {
    /// Takes no new rooms from now on, for good. Those that there are go on as ever, and whoever has a token comes in.
    func drain() {
        isDraining = true
        publish()
    }

    /// A room takes nobody new from now on, for good, and ends when the last one has left: `RoomMachine.drain`. False
    /// when there is no such room.
    @discardableResult
    func drain(room name: String) -> Bool {
        guard let room = room(named: name) else { return false }
        withRoom(room) { machine, now in machine.drain(at: now) }
        return true
    }

    /// How many are in its rooms, but for recorders and agents, which go with the others. A room whose last one may
    /// still come back counts as one.
    var peopleCount: Int {
        hostedRooms.reduce(0) { $0 + max($1.machine.peopleCount, $1.machine.isAwaited ? 1 : 0) }
    }
}
