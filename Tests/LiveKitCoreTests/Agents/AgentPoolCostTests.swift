import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What a word of a worker's costs where many wait: looks at jobs, not time.
@Suite struct AgentPoolCostTests {
    @Test func `however many jobs wait, for a word of a worker's one of them is looked at, or none`() {
        var crowd = AgentCrowd(workers: 100, jobs: 2_000)
        let full = crowd.looks { for worker in $0.workers { $0.fare(worker, isFull: true) } }
        #expect(full == 0)
        let available = crowd.looks { for worker in $0.workers { $0.fare(worker) } }
        #expect(available == 100)
        #expect(Set(crowd.asked.values) == Set((0..<100).map { "J\($0)" }))
        let refused = crowd.looks { for worker in $0.workers { $0.refuse(worker) } }
        #expect(refused == 100)
        #expect(Set(crowd.asked.values) == Set((100..<200).map { "J\($0)" }))
        // Each has refused one, which it may be asked for once more.
        let again = crowd.looks { for worker in $0.workers { $0.fare(worker) } }
        #expect(again == 100)
        #expect(crowd.pool.waitingCount == 2_000)
    }

    @Test func `what a worker has refused is not looked at again until it says that it has room`() {
        var crowd = AgentCrowd(workers: 1, jobs: 1_000)
        let worker = crowd.workers[0]
        crowd.fare(worker)
        // For each the next one, and after the last one once all that it has refused.
        let all = crowd.looks { for _ in 0..<1_000 { $0.refuse(worker) } }
        #expect(all == 999 + 1_000)
        let later = crowd.looks {
            for number in 0..<10 {
                $0.launch("K\(number)")
                $0.refuse(worker)
            }
        }
        #expect(later == 2 * 10)
        let heard = crowd.looks { $0.fare(worker) }
        #expect(heard == 1_010 + 1)
        #expect(crowd.asked[worker] == "J0")
    }

    @Test func `when a worker goes its own jobs are looked at, and those that somebody has refused for good`() {
        var crowd = AgentCrowd(workers: 100, jobs: 2_000)
        let idle = crowd.looks { $0.vanish($0.workers[0]) }
        #expect(idle == 0)
        crowd.fare(crowd.workers[1])
        #expect(crowd.asked[crowd.workers[1]] == "J0")
        let busy = crowd.looks { $0.vanish($0.workers[1]) }
        #expect(busy == 1)
        // It refuses the one that is the oldest now, without a word of its room for ten seconds.
        crowd.fare(crowd.workers[2])
        crowd.refuse(crowd.workers[2])
        crowd.pass(.seconds(Int64(11)))
        let refused = crowd.looks { $0.vanish($0.workers[3]) }
        #expect(refused == 1)
        #expect(crowd.pool.waitingCount == 2_000)
    }

    @Test func `what falls due comes once, by the last that was said of it`() {
        var (schedule, plain, random) = (AgentSchedule(), [String: Instant](), EngineRandom.seeded(5))
        var faults = 0
        for step in 0..<5_000 {
            let (key, isNever, delay) = ("J\(random.next() % 50)", random.next() % 5 == 0, random.next() % 1_000)
            let due = isNever ? nil : Instant(nanoseconds: Int64(step) + Int64(delay))
            schedule.set(.job(key), to: due)
            plain[key] = due
            if schedule.next != plain.values.min() { faults += 1 }
            guard step % 7 == 0 else { continue }
            let now = Instant(nanoseconds: Int64(step) + 100)
            let expected = plain.filter { $0.value <= now }.keys.sorted()
            if schedule.take(at: now).jobs != expected { faults += 1 }
            for key in expected { plain[key] = nil }
        }
        #expect(faults == 0)
    }
}

/// Workers that are full, and jobs that wait for them.
private struct AgentCrowd {
    private(set) var pool = AgentPool(
        server: ServerDescription().info, limits: RoomLimits(), random: .seeded(7), wallClockOffset: .zero)
    private(set) var workers: [AgentWorkerID] = []
    /// For which job each was asked last.
    private(set) var asked: [AgentWorkerID: String] = [:]
    private var now = Instant.zero + .seconds(Int64(1))

    init(workers count: Int, jobs: Int) {
        for _ in 0..<count {
            let worker = pool.connect(key: "key", at: now)
            workers.append(worker)
            say(.register(.with { $0.agentName = "robot" }), by: worker)
            fare(worker, isFull: true)
        }
        for number in 0..<jobs { launch("J\(number)") }
    }

    /// At waiting jobs, while this is done.
    mutating func looks(_ body: (inout AgentCrowd) -> Void) -> Int {
        let before = pool.looks
        body(&self)
        return pool.looks - before
    }

    mutating func launch(_ id: String) {
        let job = LiveKitJob.with {
            $0.id = id
            $0.agentName = "robot"
        }
        pool.take(.launch(job, isResumed: false), at: now)
        drain()
    }

    mutating func fare(_ worker: AgentWorkerID, isFull: Bool = false) {
        say(.updateWorker(.with { $0.status = isFull ? .wsFull : .wsAvailable }), by: worker)
    }

    mutating func pass(_ time: Interval) {
        now += time
        while let wake = pool.nextWake, wake <= now { pool.tick(at: now) }
        drain()
    }

    mutating func vanish(_ worker: AgentWorkerID) {
        pool.disconnect(worker, at: now)
        drain()
    }

    mutating func refuse(_ worker: AgentWorkerID) {
        let job = asked.removeValue(forKey: worker) ?? ""
        say(.availability(.with { $0.jobID = job }), by: worker)
    }

    private mutating func say(_ message: LiveKitWorkerMessage.OneOf_Message, by worker: AgentWorkerID) {
        pool.receive(.with { $0.message = message }, from: worker, at: now)
        drain()
    }

    private mutating func drain() {
        while let output = pool.pollOutput() {
            guard case .send(let worker, let message) = output,
                case .availability(let request)? = message.message
            else { continue }
            asked[worker] = request.job.id
        }
    }
}
