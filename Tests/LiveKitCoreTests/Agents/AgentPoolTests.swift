import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What workers of agents and the server say to each other, line by line: `>` is said by a worker.
@Suite struct AgentPoolTests {
    @Test func `a worker registers, is asked, and is given the job with a token for its agent`() throws {
        let hall = AgentHall()
        let ada = hall.register(
            "robot",
            permission: .with {
                $0.canSubscribe = true
                $0.canPublishData = true
                $0.hidden = true
            })
        hall.launch("J1", "robot", metadata: "be kind")
        hall.accept("J1", by: ada, identity: "tin man") {
            $0.participantName = "Tin Man"
            $0.participantMetadata = "of tin"
            $0.participantAttributes = ["mood": "calm"]
        }
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsSuccess
                }))
        #expect(
            hall.lines == [
                "ada > register robot", "ada < registered 1.13.5, agents 1", "came robot",
                "ada < available? J1 for lounge", "ada > J1 yes", "ada < assigned J1", "J1 running, tin man",
                "ada > J1 succeeded", "J1 succeeded, tin man",
            ])
        let subject = try #require(hall.subjects.first)
        let grants = try #require(subject.claims.video)
        #expect(subject.identity == "tin man" && subject.claims.kind == "agent")
        #expect(subject.claims.name == "Tin Man" && subject.claims.metadata == "of tin")
        #expect(subject.claims.attributes == ["mood": "calm", "lk.agent_name": "robot"])
        #expect(grants.roomJoin && grants.agent && grants.hidden && grants.room == "lounge")
        #expect(grants.maySubscribe && grants.mayPublishData && !grants.mayPublish && !grants.recorder)
        #expect(hall.pool.runningCount == 0 && hall.pool.ended == (failed: 0, others: 1))
    }

    @Test func `a job of a kind for which nobody is there is none`() {
        let hall = AgentHall()
        _ = hall.register("robot", type: .jtPublisher)
        _ = hall.register("robot", deployment: "next")
        hall.take()
        hall.launch("J1", "robot")
        hall.launch("J2", "clerk")
        #expect(hall.take() == ["J1 none", "J2 none"])
    }

    @Test func `who says no is not asked again, the others are, and when all have said no it has failed`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.register("robot"), hall.register("robot"))
        hall.take()
        hall.launch("J1", "robot")
        let first = hall.asked("J1")
        hall.refuse("J1", by: first)
        hall.refuse("J1", by: first == ada ? bea : ada)
        #expect(hall.take().last == "J1 waits")
        hall.pass(.seconds(Int64(6)))
        #expect(hall.take() == ["J1 failed: no worker has taken the job"])
    }

    @Test func `who has said no for want of room is asked once there is room`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        hall.refuse("J1", by: ada)
        hall.pass(.seconds(Int64(2)))
        hall.fare(ada, isFull: true)
        hall.pass(.seconds(Int64(600)))
        #expect(hall.take() == ["ada < available? J1 for lounge", "J1 waits"])
        hall.fare(ada, isFull: false)
        #expect(hall.take() == ["ada < available? J1 for lounge"])
    }

    @Test func `a job for which there is no room waits for a worker, in the order in which jobs came`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.fare(ada, isFull: true)
        hall.take()
        for job in ["J1", "J2"] { hall.launch(job, "robot") }
        hall.pass(.seconds(Int64(3_600)))
        #expect(hall.take() == ["J1 waits", "J2 waits"])
        #expect(hall.pool.waitingCount == 2)
        _ = hall.register("robot")
        #expect(
            hall.take() == [
                "bea < registered 1.13.5, agents 1", "bea < available? J1 for lounge",
                "bea < available? J2 for lounge",
            ])
    }

    @Test func `one refusal for good is everybody's: the worker has said that nobody is to do it`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.register("robot"), hall.register("robot"))
        hall.take()
        hall.launch("J1", "robot")
        let first = hall.asked("J1")
        hall.say(
            first,
            .availability(
                .with {
                    $0.jobID = "J1"; $0.terminate = true
                }))
        #expect(hall.take() == ["J1 succeeded"])
        #expect([ada, bea].contains(first))
    }

    @Test func `who does not answer is passed over, and its answer comes too late`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        hall.pass(.seconds(Int64(11)))
        #expect(hall.take().last == "J1 failed: no worker has taken the job")
        hall.accept("J1", by: ada)
        #expect(hall.take().isEmpty)
    }

    @Test func `whoever has less to do is asked more often`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.register("robot"), hall.register("robot"))
        hall.fare(ada, load: 0.9)
        hall.fare(bea, load: 0.1)
        hall.take()
        for number in 0..<200 { hall.launch("J\(number)", "robot") }
        let asked = (0..<200).map { hall.asked("J\($0)") }
        let ofBea = asked.count { $0 == bea }
        #expect((150..<200).contains(ofBea))
    }

    @Test(arguments: [Float.nan, -1, 2, .infinity])
    func `a load that is none counts as what is next to it`(load: Float) {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.fare(ada, load: load)
        hall.take()
        hall.launch("J1", "robot")
        #expect(hall.take() == [load == -1 ? "ada < available? J1 for lounge" : "J1 waits"])
    }

    // MARK: Losses

    @Test func `a worker that comes back says what it is still doing, and goes on with it`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        hall.accept("J1", by: ada)
        hall.vanish(ada)
        hall.pass(.seconds(Int64(5)))
        let bea = hall.register("robot")
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1", "J9"] }))
        hall.pass(.seconds(Int64(60)))
        hall.take()
        hall.say(
            bea,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed; $0.error = "broken"
                }))
        #expect(hall.take() == ["J1 failed: broken"])
    }

    @Test func `of a worker that does not come back the room is told, which knows whether its agent is there`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        for job in ["J1", "J2"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.take()
        hall.vanish(ada)
        hall.pass(.seconds(Int64(16)))
        #expect(hall.take() == ["J1 lost", "J2 lost"])
        // The agent of the second is in the room, and leaves later.
        hall.terminate("J1", .agentMissing)
        hall.pass(.seconds(Int64(600)))
        hall.terminate("J2", .agentLeft)
        #expect(hall.take() == ["J1 failed: the worker is gone", "J2 failed: the worker is gone"])
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

    // MARK: Ends

    @Test func `a worker whose agent has left has the time that it needs, and says how the job came out`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2", "J3"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
            hall.terminate(job, .agentLeft)
        }
        hall.take()
        hall.pass(.seconds(Int64(600)))
        hall.terminate("J3", .agentLeft)
        #expect(hall.take().isEmpty)
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed; $0.error = "broken"
                }))
        hall.terminate("J2", .roomEnded)
        hall.vanish(ada)
        #expect(hall.take() == ["J1 failed: broken", "J2 succeeded", "J3 succeeded"])
    }

    @Test(arguments: [
        (AgentJobEnd.dispatchDeleted, "jsrDispatchDeleted"), (.roomEnded, "jsrRoomClosed"),
        (.targetLeft, "jsrUnspecified"),
    ])
    func `a job that nobody wants any more is called off, or ended`(end: AgentJobEnd, reason: String) {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        hall.terminate("J1", end)
        #expect(hall.take().last == "J1 cancelled")
        hall.launch("J2", "robot")
        hall.accept("J2", by: ada)
        hall.take()
        hall.terminate("J2", end)
        #expect(hall.take() == ["ada < end J2", "J2 succeeded"])
        #expect(hall.states.suffix(1).map { "\($0.reason)" } == [reason])
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J2"; $0.status = .jsFailed
                }))
        #expect(hall.take().isEmpty)
        #expect(hall.pool.jobs.isEmpty && hall.pool.nextWake == nil)
    }

    // MARK: What a worker may not

    @Test func `one that says nothing, or something else first, is sent away`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.connect(), hall.connect())
        hall.say(bea, .updateWorker(.init()))
        #expect(hall.take() == ["bea closed: a worker registers first"])
        hall.pass(.seconds(Int64(11)))
        #expect(hall.take() == ["ada closed: no worker has registered in time"])
        hall.say(ada, .register(.init()))
        #expect(hall.take().isEmpty && hall.pool.connectionCount == 0)
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
        #expect(
            hall.take() == [
                "ada closed: this worker has registered already", "bea closed: unknown job type",
                "cia closed: a deployment's name has no white space and no _",
            ])
        #expect(hall.pool.kinds.isEmpty)
    }

    @Test func `nobody speaks for a job that is somebody else's`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
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
        hall.say(bea, .migrateJob(.with { $0.jobIds = ["J1"] }))
        hall.say(
            bea,
            .availability(
                .with {
                    $0.jobID = "J1"; $0.available = true
                }))
        hall.vanish(ada)
        hall.say(cia, .migrateJob(.with { $0.jobIds = ["J1"] }))
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
        hall.say(ada, .simulateJob(.with { $0.room = .with { $0.name = "test room" } }))
        hall.vanish(ada)
        hall.take()
        #expect(hall.pool.jobs.isEmpty)
    }
}
