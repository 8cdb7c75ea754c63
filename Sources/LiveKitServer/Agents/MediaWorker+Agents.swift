internal import LiveKitCore

/// What becomes of the agents that its rooms have asked for.
extension MediaWorker {
    func agentJobChanged(_ job: String, _ change: AgentJobChange, inRoom name: String) {
        guard let room = room(named: name) else { return }
        withRoom(room) { machine, now in machine.agentJobChanged(job, change, at: now) }
    }

    func agentsCame(_ kind: AgentKind) {
        for room in hostedRooms where room.machine.hasDispatch(of: kind) {
            withRoom(room) { machine, _ in machine.agentsCame(kind) }
        }
    }
}
