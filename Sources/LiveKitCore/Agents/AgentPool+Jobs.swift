import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// How a job goes: from a room's order to its end.
extension AgentPool {
    /// What a room asks for.
    package mutating func take(_ order: AgentOrder, at now: Instant) {
        switch order {
        case .launch(let job, let isResumed):
            let kind = AgentKind(of: job)
            guard members[kind] != nil else {
                return put(.told(room: job.room.name, job: job.id, .noWorker(isResumed: isResumed)))
            }
            add(PooledJob(job, isResumed: isResumed))
            guard queues[kind]?.count ?? 0 < Self.waitingLimit else {
                return end(job.id, .jsFailed, "too many jobs are waiting", .jsrNoCapacity, at: now)
            }
            queue(job.id)
            seek(for: job.id, at: now)
        case .terminate(let id, let reason): terminate(id, because: reason, at: now)
        }
    }

    mutating func take(_ answer: LiveKitAvailabilityResponse, from id: AgentWorkerID, at now: Instant) {
        // Too late, or not asked.
        guard let job = jobs[answer.jobID], case .asked(id, _) = job.phase else { return }
        change(id) {
            $0.asked = nil
            if answer.available, !answer.terminate { $0.noteGiven(at: now) }
        }
        defer { offer(to: id, at: now) }
        guard !answer.terminate else { return end(job.id, .jsSuccess, at: now) }
        guard answer.available else {
            update(job.id) { $0.refuse(id, at: now) }
            change(id) { $0.refused.insert(job.id) }
            return wait(job.id, at: now)
        }
        if let fault = fault(of: answer) { return end(job.id, .jsFailed, "\(fault)", .jsrNoCapacity, at: now) }
        let identity = answer.participantIdentity.isEmpty ? "agent-\(job.id)" : answer.participantIdentity
        forgetRefusals(of: job)
        update(job.id) {
            $0.phase = .running(id)
            $0.refusals = [:]
            $0.job.state.participantIdentity = identity
        }
        guard let assigned = jobs[job.id]?.job, let worker = workers[id] else { return }
        put(.assign(id, assigned, worker.subject(identity, answer, inRoom: assigned.room.name), key: worker.key))
        tell(job.id)
    }

    /// What no room would let in.
    private func fault(of answer: LiveKitAvailabilityResponse) -> RoomServiceError? {
        let longest = max(answer.participantIdentity.utf8.count, answer.participantName.utf8.count)
        if longest > limits.nameBytes { return .nameTooLong(limit: limits.nameBytes) }
        if answer.participantMetadata.utf8.count > limits.metadataBytes {
            return .metadataTooLong(limit: limits.metadataBytes)
        }
        let attributes =
            answer.participantAttributes.byteCount + AgentWorker.nameAttribute.utf8.count + limits.nameBytes
        return attributes > limits.attributesBytes ? .attributesTooLong(limit: limits.attributesBytes) : nil
    }

    /// There is no token for the agent of a job that was to be given away.
    package mutating func assignmentFailed(_ id: String, at now: Instant) {
        end(id, .jsFailed, "there is no token for its agent", .jsrNoCapacity, at: now)
    }

    // MARK: Doing

    /// A worker says what has become of a job of its own; also of one that ended while its connection was gone.
    mutating func take(_ update: LiveKitUpdateJobStatus, from id: AgentWorkerID, at now: Instant) {
        guard let job = jobs[update.jobID], job.isOf(id) || job.isLost && mayClaim(job, id) else { return }
        switch update.status {
        case .jsSuccess, .jsFailed:
            if case .asked = job.phase { return }
            // However well it ended: the room is without its agent.
            if case .leaving(_, _, true) = job.phase { return end(job.id, .jsFailed, Self.cutOff, at: now) }
            end(job.id, update.status, String(update.error.prefix(Self.errorLength)), at: now)
        case .jsRunning, .jsPending, .jsCancelled, .UNRECOGNIZED: break
        }
    }

    private func mayClaim(_ job: PooledJob, _ id: AgentWorkerID) -> Bool { workers[id]?.kind == job.kind }

    /// A worker that has come back says what it is still doing. Its former connection may not be known to be gone.
    mutating func claim(_ ids: Set<String>, by id: AgentWorkerID, at now: Instant) {
        guard let worker = workers[id] else { return }
        let ids = ids.sorted()
        // Over since it went, or of a server before this one: who is to come instead has, and nobody else ends them.
        for unknown in ids where jobs[unknown] == nil && !released.contains(unknown) {
            sendTermination(of: unknown, to: id)
        }
        for job in ids.compactMap({ jobs[$0] }) where mayClaim(job, id) && job.only == nil {
            switch job.phase {
            case .lost, .missing, .running:
                update(job.id) {
                    $0.phase = .running(id)
                    $0.job.state.workerID = worker.sid
                }
                if let reason = job.left { terminate(job.id, because: reason, at: now) }
            case .leaving(_, let end, let wasCutOff):
                update(job.id) { $0.phase = .leaving(id, until: end, wasCutOff: wasCutOff) }
            case .waiting, .asked: break
            }
        }
    }

    /// Whoever develops an agent tries it, in a room that may not be there.
    mutating func simulate(_ request: LiveKitSimulateJobRequest, for id: AgentWorkerID, at now: Instant) {
        guard let worker = workers[id], let kind = worker.kind, worker.tries < Self.simulationLimit else { return }
        let job = LiveKitJob.with {
            $0.id = random.sid("AJ_")
            $0.type = kind.type
            $0.room = request.room
            if request.hasParticipant { $0.participant = request.participant }
            $0.agentName = kind.name
            $0.deployment = kind.deployment
        }
        add(PooledJob(job, isResumed: false, only: id))
        change(id) { $0.tries += 1 }
        queue(job.id)
        seek(for: job.id, at: now)
    }

    // MARK: Ending

    mutating func terminate(_ id: String, because reason: AgentJobEnd, at now: Instant) {
        guard let job = jobs[id] else { return }
        switch job.phase {
        case .waiting: end(id, .jsCancelled, "", reason.stateReason, at: now)
        case .asked(let worker, _):
            // What it answers will be of a job that is no more.
            change(worker) { $0.asked = nil }
            end(id, .jsCancelled, "", reason.stateReason, at: now)
            offer(to: worker, at: now)
        case .running(let worker):
            switch reason {
            // It may have much to do yet: what was said is written down, or sent somewhere.
            case .agentLeft: update(id) { $0.phase = .leaving(worker, until: now + Self.verdictTime, wasCutOff: false) }
            // A process may be left that knows nothing of it.
            case .agentCutOff:
                sendTermination(of: id, to: worker)
                update(id) { $0.phase = .leaving(worker, until: now + Self.endTime, wasCutOff: true) }
            case .agentMissing:
                sendTermination(of: id, to: worker)
                end(id, .jsFailed, "the agent has not come", at: now)
            case .dispatchDeleted, .agentRemoved, .roomEnded, .targetLeft:
                sendTermination(of: id, to: worker)
                end(id, .jsSuccess, "", reason.stateReason, at: now)
            }
        // The worker may come back and say more.
        case .lost where reason.isOfAgent: update(id) { $0.left = reason }
        case .leaving where reason.isOfAgent: break
        case .leaving(let worker, let due, let wasCutOff):
            // With its room gone it still writes down what was said.
            let mayGoOn = !wasCutOff && reason == .roomEnded
            if !mayGoOn { sendTermination(of: id, to: worker) }
            end(id, .jsSuccess, "", reason.stateReason, at: now)
            if mayGoOn { release(id, until: due) }
        case .lost, .missing:
            let hasLeft = if case .agentLeft? = jobs[id]?.left { true } else { false }
            settle(id, as: reason, at: now)
            // As above, of one whose worker is away meanwhile.
            if hasLeft, reason == .roomEnded { release(id, until: now + Self.verdictTime) }
        }
    }

    private mutating func sendTermination(of id: String, to worker: AgentWorkerID) {
        put(.send(worker, .with { $0.termination = .with { $0.jobID = id } }))
    }

    /// Of a job whose worker is gone: how it came out is what its room has seen. A worker that goes down takes its
    /// agents with it, and they may say goodbye.
    mutating func settle(_ id: String, as reason: AgentJobEnd, at now: Instant) {
        let wentDown: Bool =
            switch reason {
            case .agentCutOff, .agentMissing: true
            case .agentLeft(let left):
                jobs[id]?.lostAt.map { left >= $0 && left <= $0 + Self.returnTime } ?? false
            case .agentRemoved, .dispatchDeleted, .roomEnded, .targetLeft: false
            }
        end(
            id, wentDown ? .jsFailed : .jsSuccess, wentDown ? "the worker is gone" : "",
            wentDown ? nil : reason.stateReason, at: now)
        if case .agentLeft = reason { release(id, until: now + Self.verdictTime) }
    }

    mutating func end(
        _ id: String, _ status: LiveKitJobStatus, _ error: String = "", _ reason: LiveKitJobStateReason? = nil,
        at now: Instant
    ) {
        let time = wallClock(now)
        update(id) {
            $0.job.state.status = status
            $0.job.state.error = error
            $0.job.state.reason = reason ?? .jsrUnspecified
            $0.job.state.updatedAt = time
            $0.job.state.endedAt = time
        }
        if status == .jsFailed { ended.failed += 1 } else { ended.others += 1 }
        tell(id)
        forget(id)
    }

    mutating func tell(_ id: String) {
        guard let job = jobs[id], job.only == nil else { return }
        put(.told(room: job.job.room.name, job: id, .state(job.job.state)))
    }

    // MARK: Keeping

    mutating func queue(_ id: String) {
        guard let kind = jobs[id]?.kind else { return }
        lastTicket += 1
        queues[kind, default: AgentQueue()].append(id, ticket: lastTicket)
    }

    mutating func leaveQueue(_ id: String) {
        guard let kind = jobs[id]?.kind else { return }
        queues[kind]?.remove(id)
        if queues[kind]?.isEmpty == true { queues[kind] = nil }
    }

    mutating func forget(_ id: String) {
        leaveQueue(id)
        schedule.set(.job(id), to: nil)
        guard let job = jobs.removeValue(forKey: id) else { return }
        takeOut(job)
        forgetRefusals(of: job)
        if let worker = job.only { change(worker) { $0.tries -= 1 } }
    }

    /// Its worker is not told to end what is over, when it comes back.
    mutating func release(_ id: String, until end: Instant) {
        released.insert(id)
        schedule.set(.job(id), to: end)
    }

    /// Nobody is to be asked for it any more.
    private mutating func forgetRefusals(of job: PooledJob) {
        for worker in job.refusals.keys { change(worker) { $0.refused.remove(job.id) } }
    }

    /// Every change to a job that is there.
    mutating func update(_ id: String, _ change: (inout PooledJob) -> Void) {
        guard var job = jobs.removeValue(forKey: id) else { return }
        takeOut(job)
        change(&job)
        add(job)
    }

    /// With what is kept beside it.
    private mutating func add(_ job: PooledJob) {
        if job.isAsked { askedCount += 1 }
        if job.isRefusedForGood { refusedForGood[job.kind, default: []].insert(job.id) }
        if let holder = job.holder { change(holder) { $0.held.insert(job.id) } }
        schedule.set(.job(job.id), to: job.due)
        jobs[job.id] = job
    }

    /// Of what is kept beside it.
    private mutating func takeOut(_ job: PooledJob) {
        if job.isAsked { askedCount -= 1 }
        if let holder = job.holder { change(holder) { $0.held.remove(job.id) } }
        guard job.isRefusedForGood else { return }
        refusedForGood[job.kind]?.remove(job.id)
        if refusedForGood[job.kind]?.isEmpty == true { refusedForGood[job.kind] = nil }
    }
}

extension AgentJobEnd {
    /// It is the agent that has gone.
    fileprivate var isOfAgent: Bool {
        switch self {
        case .agentLeft, .agentCutOff: true
        case .dispatchDeleted, .targetLeft, .agentRemoved, .agentMissing, .roomEnded: false
        }
    }

    fileprivate var stateReason: LiveKitJobStateReason {
        switch self {
        case .dispatchDeleted: .jsrDispatchDeleted
        case .roomEnded: .jsrRoomClosed
        case .targetLeft, .agentLeft, .agentCutOff, .agentRemoved, .agentMissing: .jsrUnspecified
        }
    }
}
