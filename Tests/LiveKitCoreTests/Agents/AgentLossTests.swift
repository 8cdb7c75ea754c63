import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What becomes of jobs whose worker's connection goes, line by line.
@Suite struct AgentLossTests {
    @Test func `a worker that comes back says what it is still doing, and goes on with it`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2", "J3"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.vanish(ada)
        hall.pass(.seconds(Int64(5)))
        // What has ended meanwhile it says first.
        let bea = hall.register("robot")
        hall.take()
        hall.say(
            bea,
            .updateJob(
                .with {
                    $0.jobID = "J3"; $0.status = .jsSuccess
                }))
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1", "J2", "J9"] }))
        hall.pass(.seconds(Int64(60)))
        hall.say(
            bea,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed; $0.error = "broken"
                }))
        #expect(hall.take() == ["J3 succeeded", "bea < end J9", "J1 failed: broken"])
        // Its former connection may hang, and end later.
        let cia = hall.register("robot")
        hall.say(cia, .migrateJob(.with { $0.jobIds = ["J2"] }))
        hall.vanish(bea)
        hall.pass(.seconds(Int64(60)))
        hall.take()
        hall.say(
            cia,
            .updateJob(
                .with {
                    $0.jobID = "J2"; $0.status = .jsSuccess
                }))
        #expect(hall.take() == ["J2 succeeded"])
    }

    @Test func `a worker that comes back is told to end what is over, but not what its agent still writes down`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        let jobs = ["J1", "J2", "J3", "J4", "J5"]
        for job in jobs {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.terminate("J1", .agentLeft(at: hall.now))
        hall.terminate("J1", .roomEnded)
        hall.terminate("J2", .agentLeft(at: hall.now))
        hall.vanish(ada)
        hall.terminate("J3", .dispatchDeleted)
        hall.pass(.seconds(Int64(16)))
        hall.terminate("J4", .agentLeft(at: hall.now))
        hall.terminate("J5", .agentCutOff)
        let bea = hall.register("robot")
        hall.take()
        // The last one is of a server before this one.
        hall.say(bea, .migrateJob(.with { $0.jobIds = jobs + ["J0"] }))
        #expect(hall.take() == ["bea < end J0", "bea < end J3", "bea < end J5"])
        hall.pass(.seconds(Int64(601)))
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1", "J2", "J4"] }))
        #expect(hall.take() == ["bea < end J1", "bea < end J2", "bea < end J4"])
        #expect(hall.pool.nextWake == nil && hall.pool.released.isEmpty)
    }

    @Test func `who is away while its agent says goodbye and the room ends writes down what was said all the same`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.launch("J1", "robot")
        hall.accept("J1", by: ada)
        hall.vanish(ada)
        hall.pass(.seconds(Int64(1)))
        hall.terminate("J1", .agentLeft(at: hall.now))
        hall.terminate("J1", .roomEnded)
        let bea = hall.register("robot")
        hall.take()
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1"] }))
        #expect(hall.take().isEmpty)
        hall.pass(.seconds(Int64(601)))
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1"] }))
        #expect(hall.take() == ["bea < end J1"])
    }

    @Test func `an agent that leaves while its worker is away is judged when that is back, or does not come back`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2", "J3"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.vanish(ada)
        hall.take()
        hall.terminate("J1", .agentLeft(at: hall.now))
        hall.terminate("J2", .agentLeft(at: hall.now))
        hall.terminate("J3", .agentCutOff)
        let bea = hall.register("robot")
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1"] }))
        hall.say(
            bea,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed; $0.error = "broken"
                }))
        hall.pass(.seconds(Int64(16)))
        #expect(
            hall.take().filter { $0.hasPrefix("J") } == [
                "J1 failed: broken", "J2 failed: the worker is gone", "J3 failed: the worker is gone",
            ])
        hall.pass(.seconds(Int64(601)))
        #expect(hall.pool.released.isEmpty)
    }

    @Test func `of a worker that does not come back the room is told, which knows whether its agent is there`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2", "J3"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.take()
        hall.vanish(ada)
        hall.pass(.seconds(Int64(16)))
        #expect(hall.take() == ["J1 lost", "J2 lost", "J3 lost"])
        // The agents of the others are in the room, and leave later.
        hall.terminate("J1", .agentMissing)
        hall.pass(.seconds(Int64(600)))
        hall.terminate("J2", .agentCutOff)
        hall.terminate("J3", .agentLeft(at: hall.now))
        #expect(
            hall.take() == ["J1 failed: the worker is gone", "J2 failed: the worker is gone", "J3 succeeded"])
    }

    @Test func `who had not refused is gone: the others have, for good`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        let bea = hall.register("robot")
        hall.fare(bea, isFull: true)
        hall.launch("J1", "robot")
        hall.refuse("J1", by: ada)
        hall.pass(.seconds(Int64(11)))
        #expect(hall.take().last == "J1 waits")
        hall.vanish(bea)
        #expect(hall.take() == ["J1 failed: no worker has taken the job"])
    }

    @Test func `what a worker has refused is forgotten when it goes`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        let bea = hall.register("robot")
        hall.fare(bea, isFull: true)
        hall.launch("J1", "robot")
        hall.refuse("J1", by: ada)
        hall.pass(.seconds(Int64(11)))
        #expect(hall.pool.jobs["J1"]?.refusals.count == 1)
        hall.take()
        hall.vanish(ada)
        #expect(hall.take().isEmpty && hall.pool.jobs["J1"]?.refusals.isEmpty == true)
    }

    @Test func `somebody else is asked when a worker goes before it answers`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.register("robot"), hall.register("robot"))
        hall.take()
        hall.launch("J1", "robot")
        let first = hall.asked("J1")
        hall.vanish(first)
        #expect(hall.asked("J1") == (first == ada ? bea : ada))
    }

    @Test func `who said goodbye before the worker went has succeeded, and who did with it has not`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        let left = hall.now
        hall.pass(.seconds(Int64(1)))
        hall.vanish(ada)
        hall.pass(.seconds(Int64(9)))
        hall.take()
        // The room has waited whether they come back.
        hall.terminate("J1", .agentLeft(at: left))
        hall.pass(.seconds(Int64(7)))
        hall.terminate("J2", .agentLeft(at: left + .seconds(Int64(7))))
        #expect(hall.take() == ["J1 succeeded", "J2 lost", "J2 failed: the worker is gone"])
    }
}
