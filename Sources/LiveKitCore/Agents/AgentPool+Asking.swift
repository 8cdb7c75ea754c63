import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// Who is asked for a job that waits, and what comes of a refusal.
extension AgentPool {
    /// A worker may have gained room: it is asked for the oldest job that it can have.
    ///
    /// - Returns: whether it was.
    @discardableResult
    mutating func offer(to id: AgentWorkerID, at now: Instant) -> Bool {
        guard let worker = workers[id], let kind = worker.kind, worker.hasRoom(at: now) else { return false }
        var passed = worker.passed
        defer { change(id) { $0.passed = passed } }
        while let next = queues[kind]?.first(after: passed) {
            looks += 1
            if jobs[next.id]?.mayAsk(id) == true {
                ask(id, for: next.id, at: now)
                return true
            }
            passed = next.ticket
        }
        return false
    }

    /// A job begins to wait: somebody who has room is asked for it, or for one that is older.
    mutating func seek(for id: String, at now: Instant) {
        while let job = jobs[id], job.phase == .waiting, let worker = choose(for: job, at: now) {
            // It had passed the job: that it may be asked for it was to be noted where it came about.
            guard offer(to: worker, at: now) else { break }
        }
        giveUp(id, at: now)
    }

    private mutating func ask(_ worker: AgentWorkerID, for id: String, at now: Instant) {
        let (time, sid) = (wallClock(now), workers[worker]?.sid ?? "")
        change(worker) { $0.asked = id }
        leaveQueue(id)
        update(id) {
            $0.phase = .asked(worker, until: now + Self.answerTime)
            $0.job.state = .with {
                $0.status = .jsRunning
                $0.workerID = sid
                $0.startedAt = time
                $0.updatedAt = time
            }
        }
        guard let asked = jobs[id] else { return }
        put(
            .send(
                worker,
                .with {
                    $0.availability = .with {
                        $0.job = asked.job
                        $0.resuming = asked.isResumed
                    }
                }))
    }

    /// The less one has to do, the likelier it is chosen, as by LiveKit's server: jobs that come at once are spread
    /// before anybody has told of a load.
    private mutating func choose(for job: PooledJob, at now: Instant) -> AgentWorkerID? {
        let all = (free[job.kind] ?? []).filter { workers[$0]?.hasRoom(at: now) == true && job.mayAsk($0) }
            .sorted { $0.rawValue < $1.rawValue }
        let sum = all.reduce(0) { $0 + room(of: $1) }
        guard sum > 0 else { return nil }
        var rest = Float(random.next() >> 40) / Float(1 << 24) * sum
        for id in all {
            rest -= room(of: id)
            if rest < 0 { return id }
        }
        return all.last
    }

    private func room(of id: AgentWorkerID) -> Float { workers[id]?.room ?? 0 }

    /// Nobody can be asked now: the job waits, or it fails if nobody can be asked later either.
    mutating func giveUp(_ id: String, at now: Instant) {
        guard var job = jobs[id], job.phase == .waiting else { return }
        // Those of workers that are gone say nothing any more.
        let refusals = job.refusals.filter { workers[$0.key] != nil }
        if refusals.count < job.refusals.count {
            job.refusals = refusals
            update(id) { $0.refusals = refusals }
        }
        guard !isRefusedByAll(job) else {
            return end(id, .jsFailed, "no worker has taken the job", .jsrNoCapacity, at: now)
        }
        guard !job.isSaidToWait else { return }
        let time = wallClock(now)
        update(id) {
            $0.isSaidToWait = true
            $0.job.state = .with {
                $0.status = .jsPending
                $0.reason = .jsrNoCapacity
                $0.updatedAt = time
            }
        }
        tell(id)
    }

    /// Whoever is there for it has refused it for good. Where nobody is there, somebody may come.
    private func isRefusedByAll(_ job: PooledJob) -> Bool {
        guard job.refusals.values.contains(where: \.isFinal), let members = members[job.kind] else { return false }
        return members.allSatisfy { job.hasFinallyRefused($0) || job.only != nil && job.only != $0 }
    }

    /// A worker has said how it fares: what it has refused it is perhaps asked for once more.
    mutating func hear(of id: AgentWorkerID) {
        guard let worker = workers[id], let kind = worker.kind else { return }
        for job in worker.refused {
            looks += 1
            // That is what it is being asked now.
            if case .asked(id, _)? = jobs[job]?.phase { continue }
            // Also while somebody else is being asked for it: when it waits again that is judged by what was said.
            update(job) { $0.hear(of: id, isFull: worker.isFull) }
            let isKept = jobs[job]?.refusals[id]?.isFinal == false
            let ticket = queues[kind]?.ticket(of: job)
            change(id) {
                if !isKept { $0.refused.remove(job) }
                if let ticket, isKept || worker.isFull { $0.passed = min($0.passed, ticket - 1) }
            }
        }
    }

    /// Whoever was asked does not do it.
    mutating func wait(_ id: String, at now: Instant) {
        update(id) {
            $0.phase = .waiting
            $0.isSaidToWait = false
            $0.judge(at: now)
        }
        queue(id)
        seek(for: id, at: now)
    }
}
