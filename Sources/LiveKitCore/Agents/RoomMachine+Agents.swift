package import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// Which agents are to be in the room: what `CreateRoom`, a token and `AgentDispatchService` ask for. Who does it is
/// the server's to say (`AgentPool`).
extension RoomMachine {
    /// So long an agent has to leave by itself when its dispatch is deleted.
    static let agentDepartureTime = Interval.seconds(Int64(3))

    /// What the room was to have from its beginning. Where nothing is named, agents without a name come by themselves.
    func dispatchFirst(at now: Instant) {
        let wishes = configuration.agents.isEmpty ? [LiveKitRoomAgentDispatch()] : configuration.agents
        for wish in wishes.prefix(configuration.limits.agentDispatches) { dispatch(wish, at: now) }
    }

    /// Asks for an agent, in a room that is there: one for the room, and one for each of those who are in it, as
    /// workers of the name want it.
    package func createDispatch(
        _ wish: LiveKitRoomAgentDispatch, at now: Instant
    ) throws(RoomServiceError) -> LiveKitAgentDispatch {
        try wish.check(within: configuration.limits)
        let limit = configuration.limits.agentDispatches
        guard dispatches.count < limit else { throw .tooManyDispatches(limit: limit) }
        return dispatch(wish, at: now).info(room: configuration.name)
    }

    /// Ends a dispatch and its jobs. Agents that do not leave by themselves are taken out.
    package func deleteDispatch(_ id: String, at now: Instant) throws(RoomServiceError) -> LiveKitAgentDispatch {
        guard let place = dispatches.firstIndex(where: { $0.id == id }) else { throw .noSuchDispatch }
        let dispatch = dispatches.remove(at: place)
        for job in dispatch.jobs where !job.isEnded {
            put(.agents(.terminate(jobID: job.info.id, because: .dispatchDeleted)))
            guard !job.info.state.participantIdentity.isEmpty else { continue }
            departingAgents[job.info.state.participantIdentity] = now + Self.agentDepartureTime
        }
        var info = dispatch.info(room: configuration.name)
        info.state.deletedAt = wallClock(now)
        return info
    }

    /// Those of the room; one of them where `id` is not empty.
    package func dispatches(id: String) -> [LiveKitAgentDispatch] {
        dispatches.filter { id.isEmpty || $0.id == id }.map { $0.info(room: configuration.name) }
    }

    @discardableResult
    private func dispatch(_ wish: LiveKitRoomAgentDispatch, at now: Instant) -> AgentDispatch {
        let dispatch = AgentDispatch(id: random.sid("AD_"), wish, createdAt: wallClock(now))
        dispatches.append(dispatch)
        let place = dispatches.count - 1
        launch(dispatches[place].id, for: .room)
        for participant in people { launchAgents(for: participant, of: [dispatch.id]) }
        return dispatches[place]
    }

    // MARK: Jobs

    /// Workers of a kind are there that were not before: rooms that have asked for such agents by name get them.
    package func agentsCame(_ kind: AgentKind, at now: Instant) {
        guard phase == .open, !kind.isAutomatic else { return }
        for dispatch in dispatches
        where dispatch.wish.agentName == kind.name && dispatch.wish.deployment == kind.deployment {
            for target in targets(of: kind.type) where !dispatch.has(target) { launch(dispatch.id, for: target) }
        }
    }

    private func targets(of type: LiveKitJobType) -> [AgentDispatch.Target] {
        switch type {
        case .jtRoom: [.room]
        case .jtParticipant: people.filter { !$0.isDependent }.map { .participant($0.identity) }
        case .jtPublisher: people.filter { !$0.isDependent && $0.isPublisher }.map { .publisher($0.identity) }
        case .UNRECOGNIZED: []
        }
    }

    /// Somebody has come, or publishes for the first time.
    func launchAgents(for participant: Participant, of ids: [String]? = nil) {
        guard !participant.isDependent else { return }
        var targets = [AgentDispatch.Target.participant(participant.identity)]
        if participant.isPublisher { targets.append(.publisher(participant.identity)) }
        for id in ids ?? dispatches.map(\.id) {
            for target in targets { launch(id, for: target) }
        }
    }

    private func launch(_ id: String, for target: AgentDispatch.Target, isResumed: Bool = false) {
        guard phase == .open, let place = dispatches.firstIndex(where: { $0.id == id }) else { return }
        guard isResumed || !dispatches[place].has(target) else { return }
        let wish = dispatches[place].wish
        var job = LiveKitJob.with {
            $0.id = random.sid("AJ_")
            $0.dispatchID = id
            $0.type = target.type
            $0.room = info
            $0.agentName = wish.agentName
            $0.metadata = wish.metadata
            $0.deployment = wish.deployment
            $0.attributes = wish.attributes
        }
        if let identity = target.identity {
            guard let participant = people.first(where: { $0.identity == identity }) else { return }
            job.participant = info(of: participant)
        }
        dispatches[place].add(job, for: target)
        put(.agents(.launch(job, isResumed: isResumed)))
    }

    /// Something has become of a job that was asked for. What is not known any more is passed over.
    package func agentJobChanged(_ id: String, _ change: AgentJobChange, at now: Instant) {
        guard let place = dispatches.firstIndex(where: { $0.jobs.contains { $0.info.id == id } }) else { return }
        switch change {
        case .noWorker: dispatches[place].forget(job: id)
        case .state(let state):
            dispatches[place].update(id, state, at: now)
            nextCheck = min(nextCheck, dispatches[place].restarts.map(\.due).min() ?? nextCheck)
        case .workerLost:
            // An agent that is there goes on, and is missed when it leaves.
            let identity = dispatches[place].jobs.first { $0.info.id == id }?.info.state.participantIdentity ?? ""
            guard !people.contains(where: { $0.identity == identity }) else { return }
            put(.agents(.terminate(jobID: id, because: .agentMissing)))
        }
    }

    /// Somebody has left, who may be an agent, or for whom one was to come.
    func agentsHear(ofLeaving participant: Participant) {
        departingAgents[participant.identity] = nil
        for place in dispatches.indices {
            dispatches[place].left(participant.identity)
            for job in dispatches[place].jobs where !job.isEnded {
                if job.info.state.participantIdentity == participant.identity, participant.isAgent {
                    put(.agents(.terminate(jobID: job.info.id, because: .agentLeft)))
                } else if job.isWaiting, job.target.identity == participant.identity {
                    put(.agents(.terminate(jobID: job.info.id, because: .targetLeft)))
                }
            }
        }
    }

    /// The room is over.
    func endAgents() {
        for job in dispatches.flatMap(\.jobs) where !job.isEnded {
            put(.agents(.terminate(jobID: job.info.id, because: .roomEnded)))
        }
        dispatches = []
        departingAgents = [:]
    }

    // MARK: Time

    func checkAgents(at now: Instant) {
        for (identity, due) in departingAgents where now >= due {
            departingAgents[identity] = nil
            guard let agent = people.first(where: { $0.identity == identity && $0.isAgent }) else { continue }
            remove(agent, because: .participantRemoved, action: .disconnect, at: now)
        }
        for place in dispatches.indices {
            let (id, targets) = (dispatches[place].id, dispatches[place].takeRestarts(at: now))
            for target in targets { launch(id, for: target, isResumed: true) }
        }
    }

    /// When a job is to be done once more, which an empty room would sleep through.
    var nextAgentCheck: Instant? {
        guard !dispatches.isEmpty else { return nil }
        return dispatches.lazy.flatMap(\.restarts).map(\.due).min()
    }
}

extension LiveKitRoomAgentDispatch {
    /// Throws what is too much of it, or not as it should be.
    package func check(within limits: RoomLimits) throws(RoomServiceError) {
        guard agentName.utf8.count <= limits.nameBytes else { throw .nameTooLong(limit: limits.nameBytes) }
        guard metadata.utf8.count <= limits.metadataBytes else { throw .metadataTooLong(limit: limits.metadataBytes) }
        guard attributes.byteCount <= limits.attributesBytes else {
            throw .attributesTooLong(limit: limits.attributesBytes)
        }
        guard deployment.isDeployment, deployment.utf8.count <= limits.nameBytes else { throw .badDeployment }
    }
}

extension String {
    /// Whether it can name a deployment, as LiveKit has it: without white space, control characters and `_`.
    package var isDeployment: Bool {
        utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != 0x7f && $0 != UInt8(ascii: "_") }
    }
}
