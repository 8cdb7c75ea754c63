import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Workers that come, answer as they like and go, and rooms that ask and change their minds, at random.
@Suite struct AgentPoolSeedsTests {
    @Test func `whatever workers and rooms do, a job is one worker's, has one end, and nothing is kept of it`() {
        for seed in 0..<400 {
            var story = AgentStory(seed: UInt64(seed))
            for _ in 0..<250 {
                story.step()
                story.lookAround()
            }
            story.end()
            #expect(story.faults.isEmpty, "seed \(seed): \(story.faults.first ?? "")")
        }
    }
}

private struct AgentStory {
    private var pool: AgentPool
    private var random: EngineRandom
    private var now = Instant.zero + .seconds(Int64(1))
    private var workers: [AgentWorkerID] = []
    private var gone: Set<AgentWorkerID> = []
    /// They register, and say nothing more.
    private var hung: Set<AgentWorkerID> = []
    /// That each worker was asked for, and has.
    private var asked: [AgentWorkerID: [String]] = [:]
    private var holders: [String: AgentWorkerID] = [:]
    private var wanted: [String] = []
    /// Jobs that workers try by themselves, of which no room hears.
    private var tried: [String] = []
    private var isOver: Set<String> = []
    private var lastJob = 0
    private(set) var faults: [String] = []

    init(seed: UInt64) {
        random = .seeded(seed)
        pool = AgentPool(
            server: ServerDescription().info, limits: RoomLimits(), random: .seeded(seed ^ 99), wallClockOffset: .zero)
    }

    private mutating func number(_ count: Int) -> Int { Int(random.next() >> 33) % count }

    private mutating func any<Value>(of values: [Value]) -> Value? {
        values.isEmpty ? nil : values[number(values.count)]
    }

    mutating func step() {
        now += .milliseconds(Int64(number(3_000)))
        if let wake = pool.nextWake, wake <= now { pool.tick(at: now) }
        drain()
        let isDone = pool.nextWake.map { $0 > now } ?? true
        note(isDone, "what is due is not done")
        let talking = workers.filter { !hung.contains($0) }
        switch number(13) {
        case 0 where workers.count < 6:
            let id = pool.connect(key: "key", at: now)
            workers.append(id)
            let name = ["robot", "clerk"][number(2)]
            if number(8) > 0 { say(id, .register(.with { $0.agentName = name })) }
            if number(5) == 0 { hung.insert(id) }
        case 1, 2, 3:
            lastJob += 1
            let (id, name) = ("J\(lastJob)", ["robot", "clerk"][number(2)])
            wanted.append(id)
            let job = LiveKitJob.with {
                $0.id = id
                $0.agentName = name
            }
            pool.take(.launch(job, isResumed: false), at: now)
        case 4, 5, 6, 7:
            guard let worker = any(of: talking), let job = any(of: asked[worker] ?? []) else { break }
            let answer = number(10)
            say(
                worker,
                .availability(
                    .with {
                        $0.jobID = job
                        $0.available = answer > 2
                        $0.terminate = answer == 0
                        $0.participantIdentity = "agent of \(job)"
                    }))
        case 8:
            guard let worker = any(of: talking) else { break }
            let (isFull, isDraining, load) = (number(3) == 0, number(8) == 0, Float(number(11)) / 10)
            say(
                worker,
                .updateWorker(
                    .with {
                        $0.status = isFull ? .wsFull : .wsAvailable
                        $0.draining = isDraining
                        $0.load = load
                    }))
        case 9:
            guard let job = any(of: holders.keys.sorted() + tried), let worker = any(of: talking) else { break }
            let status: LiveKitJobStatus = number(2) == 0 ? .jsSuccess : .jsFailed
            say(
                worker,
                .updateJob(
                    .with {
                        $0.jobID = job
                        $0.status = status
                    }))
        case 10:
            guard let job = any(of: wanted) else { break }
            let reasons: [AgentJobEnd] = [
                .dispatchDeleted, .targetLeft, .agentLeft(at: now), .agentCutOff, .agentRemoved, .agentMissing,
                .roomEnded,
            ]
            pool.take(.terminate(jobID: job, because: reasons[number(7)]), at: now)
        case 11:
            guard let worker = any(of: talking) else { break }
            say(worker, .simulateJob(.with { $0.room = .with { $0.name = "test room" } }))
        default:
            guard let worker = any(of: workers) else { break }
            if number(3) == 0 {
                vanish(worker)
            } else if !hung.contains(worker) {
                let held = holders.keys.sorted()
                let over = any(of: isOver.sorted()).map { [$0] } ?? []
                say(worker, .migrateJob(.with { $0.jobIds = held + over }))
                for job in held where pool.jobs[job]?.isOf(worker) == true { holders[job] = worker }
            }
        }
        drain()
    }

    /// What is kept beside workers and jobs is as they are, and nobody waits beside somebody who has room.
    mutating func lookAround() {
        let waiting = pool.jobs.values.filter { $0.phase == .waiting }
        for (id, worker) in pool.workers where worker.hasRoom(at: now) {
            let isLeft = waiting.contains { $0.mayAsk(id) && $0.kind == worker.kind }
            note(!isLeft, "a job waits beside a worker that has room")
        }
        note(Set(pool.queues.values.flatMap(\.ids)) == Set(waiting.map(\.id)), "the queues are not those who wait")
        note(pool.askedCount == pool.jobs.values.count(where: \.isAsked), "those asked for are counted wrongly")
        let free = pool.workers.filter { $0.value.kind != nil && $0.value.isFree }.keys
        note(Set(pool.free.values.joined()) == Set(free), "the free are not those who are")
        let areHeld = pool.workers.allSatisfy { id, worker in
            worker.held == Set(pool.jobs.values.filter { $0.isOf(id) }.map(\.id))
        }
        note(areHeld, "what a worker holds is not what is its own")
        let refused = Set(pool.refusedForGood.values.joined())
        note(refused == Set(waiting.filter(\.isRefusedForGood).map(\.id)), "those refused for good are others")
    }

    /// Everybody goes, and nobody wants anything any more.
    mutating func end() {
        for job in wanted { pool.take(.terminate(jobID: job, because: .roomEnded), at: now) }
        drain()
        for worker in workers { vanish(worker) }
        drain()
        // What may be written down after an end has its time.
        while let wake = pool.nextWake, wake <= now + .seconds(Int64(600)) { pool.tick(at: wake) }
        drain()
        let isEmpty = pool.jobs.isEmpty && pool.workers.isEmpty && pool.released.isEmpty && pool.nextWake == nil
        note(isEmpty, "something is kept: \(pool.jobs.keys.sorted())")
        let open = wanted.filter { !isOver.contains($0) }
        note(open.isEmpty, "no end was told of \(open)")
    }

    private mutating func note(_ isRight: Bool, _ text: String) { if !isRight { faults.append(text) } }

    private mutating func say(_ worker: AgentWorkerID, _ message: LiveKitWorkerMessage.OneOf_Message) {
        pool.receive(.with { $0.message = message }, from: worker, at: now)
    }

    private mutating func vanish(_ worker: AgentWorkerID) {
        forget(worker)
        pool.disconnect(worker, at: now)
    }

    private mutating func forget(_ worker: AgentWorkerID) {
        gone.insert(worker)
        workers.removeAll { $0 == worker }
    }

    private static func isTried(_ job: String) -> Bool { job.hasPrefix("AJ_") }

    private mutating func drain() {
        while let output = pool.pollOutput() { take(output) }
    }

    private mutating func take(_ output: AgentPoolOutput) {
        switch output {
        case .send(let worker, let message):
            note(!gone.contains(worker), "said to somebody who is gone")
            switch message.message {
            case .availability(let request):
                note(holders[request.job.id] == nil, "\(request.job.id) is offered while somebody has it")
                note(!isOver.contains(request.job.id), "\(request.job.id) is offered and over")
                if Self.isTried(request.job.id), asked[worker]?.contains(request.job.id) != true {
                    tried.append(request.job.id)
                }
                asked[worker, default: []].append(request.job.id)
            case .termination(let termination):
                let isTheirs = holders[termination.jobID] == worker || isOver.contains(termination.jobID)
                note(isTheirs, "\(termination.jobID) is ended by somebody who has it not")
            case .register, .assignment, .pong, nil: break
            }
        case .assign(let worker, let job, _, _):
            note(asked[worker]?.contains(job.id) == true, "\(job.id) is somebody's who was not asked")
            guard !Self.isTried(job.id) else { break }
            note(holders.updateValue(worker, forKey: job.id) == nil, "\(job.id) is given twice")
        case .close(let worker, _): forget(worker)
        case .told(_, let job, let change):
            note(!isOver.contains(job), "\(job) is told of after its end")
            switch change {
            case .noWorker: isOver.insert(job)
            case .workerLost: note(holders[job].map(gone.contains) == true, "\(job) is not lost")
            case .state(let state) where state.status.isEnded:
                isOver.insert(job)
                holders[job] = nil
            case .state: break
            }
        case .came: break
        }
    }
}
