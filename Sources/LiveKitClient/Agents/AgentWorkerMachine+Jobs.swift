internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// One job after the other: offered, accepted, given, done.
extension AgentWorkerMachine {
    // MARK: From the server

    mutating func offered(_ request: LiveKitAvailabilityRequest, at now: Instant) {
        let job = AgentJob(request.job, isResumed: request.resuming)
        guard jobs[job.id] == nil else { return refuse(job.id) }
        guard !isFull else {
            refuse(job.id)
            // That it is for want of room, which a server learns by this: else it would take the refusal for the last
            // word.
            toldStatus = nil
            return tellStatus()
        }
        lastQuestion += 1
        jobs[job.id] = Place(job: job, standing: .asked(number: lastQuestion, until: now + Self.answerTime))
        put(.ask(job, number: lastQuestion))
    }

    /// Not here: others are asked.
    mutating func refuse(_ id: String) { put(.send(.availability(.with { $0.jobID = id }))) }

    mutating func assigned(_ assignment: LiveKitJobAssignment, at now: Instant) {
        let id = assignment.job.id
        guard let place = jobs[id], case .accepted = place.standing else {
            // It came too late, or was never offered: somebody else is to do it. Of one that runs, nothing is new.
            guard jobs[id] == nil else { return }
            return say(id, error: "the worker does not wait for this job any more", at: now)
        }
        jobs[id]?.standing = .running
        put(
            .send(
                .updateJob(
                    .with {
                        $0.jobID = id
                        $0.status = .jsRunning
                    })))
        put(.tell(.jobStarted(place.job)))
        put(.start(place.job, url: assignment.url.isEmpty ? nil : assignment.url, token: assignment.token))
    }

    mutating func terminated(_ id: String, at now: Instant) {
        guard let place = jobs[id] else { return }
        switch place.standing {
        case .asked, .accepted:
            remove(id)
            changed()
        case .running:
            jobs[id]?.standing = .ending(until: now + options.shutdownTime, isCancelled: false)
            put(.tell(.jobCalledOff(place.job)))
            put(.leave(jobID: id))
        case .ending: return
        }
    }

    // MARK: From the owner

    /// What it says to a question.
    mutating func answer(_ id: String, number: Int, _ answer: AgentJobAnswer, at now: Instant) {
        guard let place = jobs[id], case .asked(number, _) = place.standing else { return }
        var response = LiveKitAvailabilityResponse()
        response.jobID = id
        switch answer {
        case .accept(let agent):
            response.available = true
            response.participantIdentity = (agent.identity ?? ParticipantIdentity("agent-\(id)")).rawValue
            response.participantName = agent.name
            response.participantMetadata = agent.metadata
            response.participantAttributes = agent.attributes
            jobs[id]?.standing = .accepted(until: now + Self.assignmentTime)
        case .decline: jobs[id] = nil
        case .dismiss:
            response.terminate = true
            jobs[id] = nil
        }
        put(.send(.availability(response)))
        changed()
    }

    /// Its function has ended. What it throws makes it a failed one, which may bring another agent; not once it is
    /// called off, when whatever happens says nothing of it.
    mutating func ended(_ id: String, _ outcome: Outcome, at now: Instant) {
        guard let place = jobs[id], place.isUnderWay else { return }
        var error = outcome.error
        if case .ending = place.standing {
            if stopBy == nil {
                error = nil
            } else if outcome.wasCancelled {
                error = Self.stopped
            }
        }
        over(place.job, error: error, at: now)
    }

    private static let stopped = "its worker was stopped"

    private mutating func over(_ job: AgentJob, error: String?, at now: Instant) {
        jobs[job.id] = nil
        say(job.id, error: error, at: now)
        put(.tell(.jobEnded(job, error: error)))
        changed()
    }

    // MARK: Time

    mutating func due(_ id: String, _ place: Place, at now: Instant) {
        switch place.standing {
        case .asked:
            remove(id)
            refuse(id)
            changed()
        case .accepted:
            remove(id)
            changed()
        case .ending(_, false):
            jobs[id]?.standing = .ending(until: now + options.shutdownTime, isCancelled: true)
            put(.cancel(jobID: id))
        case .ending(_, true):
            put(.abandon(jobID: id))
            over(place.job, error: stopBy == nil ? "it did not end when it was called off" : Self.stopped, at: now)
        case .running: return
        }
    }

    // MARK: Parts

    /// Says how a job came out, now and, if that may not have been heard, on the next connection.
    mutating func say(_ id: String, error: String?, at now: Instant) {
        let update = LiveKitUpdateJobStatus.with {
            $0.jobID = id
            $0.status = error == nil ? .jsSuccess : .jsFailed
            $0.error = String((error ?? "").prefix(Self.errorLimit))
        }
        if verdicts.count == Self.verdictLimit { verdicts.removeFirst() }
        verdicts.append(Verdict(update: update, saidAt: Self.milliseconds(now)))
        if phase == .registered { put(.send(.updateJob(update))) }
    }
}
