package import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// Which agents are to be in the room: what `CreateRoom`, a token and `AgentDispatchService` ask for. Who does it is
/// the server's to say (`AgentPool`).
extension RoomMachine {
    /// So long an agent has to leave by itself when its dispatch is deleted.
    static let agentDepartureTime = Interval.seconds(Int64(3))

    /// Who has left may be about to make the connection anew: LiveKit's SDKs leave first.
    static let absenceTime = Interval.seconds(Int64(10))
    /// So long the agent of a job that a worker has taken may be on its way.
    static let arrivalTime = Interval.seconds(Int64(60))

    /// What the room was to have from its beginning. Where nothing is named, agents without a name come by themselves.
    func dispatchFirst() {
        let wishes = configuration.agents ?? [LiveKitRoomAgentDispatch()]
        for wish in wishes.prefix(configuration.limits.agentDispatches) { dispatch(wish, at: createdAt) }
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
            guard let agent = agent(of: job) else { continue }
            departingAgents[agent.sid] = now + Self.agentDepartureTime
            noteAgentDue(now + Self.agentDepartureTime)
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
        launch(place, for: .room, nil)
        for participant in people { launchAgents(for: participant, of: place) }
        return dispatches[place]
    }

    // MARK: Jobs

    /// Whether `agentsCame` may matter to it.
    package func hasDispatch(of kind: AgentKind) -> Bool {
        dispatches.contains { $0.wish.agentName == kind.name && $0.wish.deployment == kind.deployment }
    }

    /// A worker of a kind has come: rooms that have asked for such agents by name get them, and those that had lost
    /// theirs.
    package func agentsCame(_ kind: AgentKind) {
        guard phase == .open else { return }
        for place in dispatches.indices where dispatches[place].kind(of: .room).name == kind.name {
            for (target, participant) in targets(of: kind.type) where dispatches[place].kind(of: target) == kind {
                let isOwed = dispatches[place].owed.contains(target)
                guard isOwed || !kind.isAutomatic else { continue }
                launch(place, for: target, participant, isResumed: isOwed)
            }
        }
    }

    private func targets(of type: LiveKitJobType) -> [(AgentDispatch.Target, Participant?)] {
        switch type {
        case .jtRoom: [(.room, nil)]
        case .jtParticipant: people.filter { !$0.isDependent }.map { (.participant($0.identity), $0) }
        case .jtPublisher:
            people.filter { !$0.isDependent && $0.isPublisher }.map { (.publisher($0.identity), $0) }
        case .UNRECOGNIZED: []
        }
    }

    /// Somebody has come.
    func launchAgents(for participant: Participant) {
        let identity = participant.identity
        if let absence = absences.removeValue(forKey: identity) {
            // Not who has left, who does not come back under this identity any more: somebody of another kind, or the
            // agent of another job.
            let isNew = dispatches.contains { $0.awaits(participant) }
            let isAlike = absence.agentJob == participant.agentJob && absence.wasDependent == participant.isDependent
            if isNew || !isAlike {
                hasLeft(identity, agentJob: absence.agentJob, because: absence.reason)
            }
        }
        if participant.isAgent {
            for place in dispatches.indices { dispatches[place].noteAgent(participant) }
        }
        for place in dispatches.indices { launchAgents(for: participant, of: place) }
    }

    /// Somebody publishes. Agents that come by themselves come for the first time of it.
    func launchPublisherAgents(for participant: Participant) {
        guard !participant.isDependent else { return }
        for place in dispatches.indices
        where !participant.hasPublished || !dispatches[place].kind(of: .room).isAutomatic {
            launch(place, for: .publisher(participant.identity), participant)
        }
        participant.hasPublished = true
    }

    private func launchAgents(for participant: Participant, of place: Int) {
        guard !participant.isDependent else { return }
        launch(place, for: .participant(participant.identity), participant)
        if participant.isPublisher { launch(place, for: .publisher(participant.identity), participant) }
    }

    private func launch(
        _ place: Int, for target: AgentDispatch.Target, _ participant: Participant?, isResumed: Bool = false
    ) {
        let isResumed = isResumed || dispatches[place].owed.contains(target)
        guard phase == .open, isResumed || !dispatches[place].serves(target) else { return }
        guard offersAgents(dispatches[place].kind(of: target)) else {
            return dispatches[place].noteNobody(for: target, isOwed: isResumed)
        }
        let (id, wish) = (dispatches[place].id, dispatches[place].wish)
        let job = LiveKitJob.with {
            $0.id = random.sid("AJ_")
            $0.dispatchID = id
            $0.type = target.type
            $0.room = info
            if let participant { $0.participant = info(of: participant) }
            $0.agentName = wish.agentName
            $0.metadata = wish.metadata
            $0.deployment = wish.deployment
            $0.attributes = wish.attributes
        }
        dispatches[place].add(job, for: target, besides: Set(people.lazy.filter(\.isAgent).map(\.sid)))
        put(.agents(.launch(job, isResumed: isResumed)))
    }

    /// Something has become of a job that was asked for. What is not known any more is passed over.
    package func agentJobChanged(_ id: String, _ change: AgentJobChange, at now: Instant) {
        guard let place = dispatches.firstIndex(where: { $0.jobs.contains { $0.info.id == id } }),
            let job = dispatches[place].jobs.first(where: { $0.info.id == id })
        else { return }
        switch change {
        case .noWorker(let isResumed): dispatches[place].forget(job: id, isOwed: isResumed)
        case .state(let state):
            dispatches[place].update(id, state, at: now)
            // One that was quick may be there already. Who was there when the job was asked for is another's.
            if let agent = people.first(where: { $0.identity == state.participantIdentity }),
                !job.earlierAgents.contains(agent.sid)
            {
                dispatches[place].noteAgent(agent)
            }
            noteAgentDue(dispatches[place].nextDue(after: Self.arrivalTime))
        case .workerLost:
            // An agent that is there goes on, and is missed when it leaves.
            let identity = job.info.state.participantIdentity
            guard agent(of: job) == nil, !job.isDone(by: identity, absences[identity]?.agentJob) else { return }
            put(.agents(.terminate(jobID: id, because: .agentMissing)))
        }
    }

    private func agent(of job: AgentDispatch.Job) -> Participant? {
        // Whoever is there while its own is on its way is another's.
        job.awaitedSince == nil ? people.first(where: { job.isDone(by: $0) }) : nil
    }

    // MARK: Comings and goings

    /// Somebody is out, who may be an agent, or for whom one has come.
    func agentsHear(ofLeaving participant: Participant, because reason: LiveKitDisconnectReason, at now: Instant) {
        let identity = participant.identity
        departingAgents[participant.sid] = nil
        guard phase == .open, dispatches.contains(where: { $0.concerns(identity) }) else { return }
        switch reason {
        case .participantRemoved: hasLeft(identity, agentJob: participant.agentJob, because: .agentRemoved)
        // Also of who makes way for somebody, who comes in next and may be the same or somebody else.
        default:
            let saidGoodbye = [.clientInitiated, .userUnavailable, .userRejected].contains(reason)
            absences[identity] = Absence(
                agentJob: participant.agentJob, wasDependent: participant.isDependent,
                reason: saidGoodbye ? .agentLeft(at: now) : .agentCutOff, due: now + Self.absenceTime)
            noteAgentDue(now + Self.absenceTime)
        }
    }

    /// - Parameter agentJob: `Participant.agentJob` of who has.
    private func hasLeft(_ identity: String, agentJob: String?, because reason: AgentJobEnd) {
        for place in dispatches.indices {
            for job in dispatches[place].jobs where !job.isEnded {
                // One whose agent is still on its way is another's.
                if job.awaitedSince == nil, job.isDone(by: identity, agentJob) {
                    put(.agents(.terminate(jobID: job.info.id, because: reason)))
                } else if job.isWaiting, job.target.identity == identity {
                    put(.agents(.terminate(jobID: job.info.id, because: .targetLeft)))
                }
            }
            dispatches[place].left(identity)
        }
    }

    /// The room is over.
    func endAgents() {
        // Who has said goodbye has its time all the same.
        for (identity, absence) in absences where absence.agentJob != nil {
            hasLeft(identity, agentJob: absence.agentJob, because: absence.reason)
        }
        for job in dispatches.flatMap(\.jobs) where !job.isEnded {
            put(.agents(.terminate(jobID: job.info.id, because: .roomEnded)))
        }
        dispatches = []
        departingAgents = [:]
        absences = [:]
    }

    // MARK: Time

    func checkAgents(at now: Instant) {
        guard let nextAgentCheck, now >= nextAgentCheck else { return }
        for (sid, due) in departingAgents where now >= due {
            departingAgents[sid] = nil
            guard let agent = people.first(where: { $0.sid == sid }) else { continue }
            remove(agent, because: .participantRemoved, action: .disconnect, at: now)
        }
        for (identity, absence) in absences where now >= absence.due {
            absences[identity] = nil
            hasLeft(identity, agentJob: absence.agentJob, because: absence.reason)
        }
        for place in dispatches.indices {
            for id in dispatches[place].takeMissing(at: now, after: Self.arrivalTime) {
                put(.agents(.terminate(jobID: id, because: .agentMissing)))
            }
            for target in dispatches[place].takeRestarts(at: now) {
                let participant = people.first { $0.identity == target.identity && !$0.isDependent }
                if target == .room || participant != nil {
                    launch(place, for: target, participant, isResumed: true)
                } else {
                    // They may come back.
                    dispatches[place].noteNobody(for: target, isOwed: true)
                }
            }
        }
        let dues = dispatches.compactMap { $0.nextDue(after: Self.arrivalTime) } + absences.values.map(\.due)
        self.nextAgentCheck = (dues + departingAgents.values).min()
    }

    /// Something of agents falls due then, which an empty room would sleep through.
    private func noteAgentDue(_ due: Instant?) {
        guard let due else { return }
        nextAgentCheck = nextAgentCheck.map { min($0, due) } ?? due
        nextCheck = min(nextCheck, due)
    }
}

/// Somebody has left, and may be about to come back.
struct Absence {
    /// `Participant.agentJob`.
    let agentJob: String?
    /// An agent or a recorder, for whom no agents come.
    let wasDependent: Bool
    /// How, if it was an agent.
    let reason: AgentJobEnd
    let due: Instant
}

extension LiveKitRoomAgentDispatch {
    /// Throws what is too much of it, or not as it should be.
    package func check(within limits: RoomLimits) throws(RoomServiceError) {
        guard agentName.utf8.count <= limits.nameBytes else { throw .nameTooLong(limit: limits.nameBytes) }
        guard metadata.utf8.count <= limits.metadataBytes else { throw .metadataTooLong(limit: limits.metadataBytes) }
        guard attributes.byteCount <= limits.attributesBytes else {
            throw .attributesTooLong(limit: limits.attributesBytes)
        }
        guard deployment.isDeployment else { throw .badDeployment }
    }

    package func isPossible(within limits: RoomLimits) -> Bool { (try? check(within: limits)) != nil }
}

extension String {
    /// Whether it can name a deployment, as LiveKit has it: 64 bytes without white space, control characters and `_`.
    var isDeployment: Bool {
        utf8.count <= 64 && utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != 0x7f && $0 != UInt8(ascii: "_") }
    }
}
