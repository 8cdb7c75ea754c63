import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What a worker of agents may say and what it may not, and what comes of either.
@Suite struct AgentConductTests {
    @Test func `one that says nothing, or something else first, is sent away`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.connect(), hall.connect())
        hall.say(bea, .updateWorker(.init()))
        #expect(hall.take() == ["bea closed: a worker registers first"])
        hall.pass(.seconds(Int64(11)))
        #expect(hall.take() == ["ada closed: no worker has registered in time"])
        hall.say(ada, .register(.init()))
        #expect(hall.take().isEmpty && hall.pool.workers.isEmpty)
    }

    @Test func `it registers once, for work that there is`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.say(ada, .register(.with { $0.agentName = "clerk" }))
        let bea = hall.connect()
        hall.say(bea, .register(.with { $0.type = .UNRECOGNIZED(7) }))
        let cia = hall.connect()
        hall.say(cia, .register(.with { $0.deployment = "not_so" }))
        let dia = hall.connect()
        hall.say(dia, .register(.with { $0.agentName = String(repeating: "n", count: 257) }))
        #expect(
            hall.take() == [
                "ada closed: this worker has registered already", "bea closed: unknown job type",
                "cia closed: a deployment's name is too long, or has white space or _ in it",
                "dia closed: the name is longer than 256 bytes",
            ])
        #expect(hall.pool.kinds.isEmpty)
    }

    @Test func `what a worker says of its agent is not more than a room takes of anybody`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        let long = String(repeating: "n", count: 257)
        let faults: [(inout LiveKitAvailabilityResponse) -> Void] = [
            { $0.participantIdentity = long }, { $0.participantName = long },
            { $0.participantMetadata = String(repeating: "m", count: 512 << 10 + 1) },
            { $0.participantAttributes = ["key": String(repeating: "a", count: 64 << 10)] },
        ]
        for (number, fault) in faults.enumerated() {
            hall.launch("J\(number)", "robot")
            hall.accept("J\(number)", by: ada, fault)
            #expect(hall.take().last?.hasPrefix("J\(number) failed: the ") == true)
        }
        hall.launch("J9", "robot")
        hall.accept("J9", by: ada)
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J9"; $0.status = .jsFailed; $0.error = String(repeating: "e", count: 9_000)
                }))
        #expect(hall.states.last?.error.count == 1_000)
    }

    @Test func `nobody speaks for a job that is somebody else's`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.launch("J1", "robot")
        hall.accept("J1", by: ada)
        let bea = hall.register("robot")
        let cia = hall.register("clerk")
        hall.take()
        hall.say(
            bea,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed
                }))
        hall.say(
            bea,
            .availability(
                .with {
                    $0.jobID = "J1"; $0.available = true
                }))
        hall.say(cia, .migrateJob(.with { $0.jobIds = ["J1"] }))
        hall.vanish(ada)
        hall.say(cia, .migrateJob(.with { $0.jobIds = ["J1"] }))
        hall.say(
            cia,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed
                }))
        #expect(hall.take().isEmpty)
        #expect(hall.pool.runningCount == 1)
    }

    @Test func `a worker is answered with the time, registered or not`() {
        let hall = AgentHall()
        let ada = hall.connect()
        hall.say(ada, .ping(.with { $0.timestamp = 42 }))
        #expect(hall.take() == ["ada < pong 42, 1700000001000"])
    }

    @Test func `a worker tries a job of its own, of which no room hears`() {
        let hall = AgentHall()
        let (ada, _) = (hall.register("robot"), hall.register("robot"))
        hall.take()
        hall.say(ada, .simulateJob(.with { $0.room = .with { $0.name = "test room" } }))
        let asked = hall.take()
        let job = hall.pool.jobs.keys.first ?? ""
        #expect(asked == ["ada < available? \(job) for test room"])
        hall.accept(job, by: ada)
        #expect(hall.take() == ["ada < assigned \(job)"])
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = job; $0.status = .jsSuccess
                }))
        #expect(hall.take().isEmpty && hall.pool.jobs.isEmpty)
        for _ in 0..<10 { hall.say(ada, .simulateJob(.with { $0.room = .with { $0.name = "test room" } })) }
        #expect(hall.pool.jobs.count == 5)
        hall.vanish(ada)
        hall.take()
        #expect(hall.pool.jobs.isEmpty)
    }
}
