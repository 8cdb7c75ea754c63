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
        #expect(subject.claims.agentJob == "J1")
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
        hall.pass(.seconds(Int64(11)))
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
        let bea = hall.register("robot")
        hall.accept("J1", by: bea)
        #expect(
            hall.take() == [
                "bea < registered 1.13.5, agents 1", "came robot", "bea < available? J1 for lounge",
                "bea < assigned J1", "J1 running", "bea < available? J2 for lounge",
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

    @Test func `who does not answer is asked nothing more until it says something, and the job waits`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        hall.pass(.seconds(Int64(600)))
        #expect(hall.take() == ["ada < available? J1 for lounge", "J1 waits"])
        // Another one has come in its place.
        let bea = hall.register("robot")
        hall.accept("J1", by: bea)
        #expect(hall.take().suffix(2) == ["bea < assigned J1", "J1 running"])
        hall.launch("J2", "robot")
        hall.accept("J2", by: bea)
        hall.vanish(bea)
        hall.launch("J3", "robot")
        hall.take()
        // Too late for the first one.
        hall.accept("J1", by: ada)
        #expect(hall.take() == ["ada < available? J3 for lounge"])
    }

    @Test func `whoever has less to do is asked more often`() {
        let hall = AgentHall()
        let (ada, bea) = (hall.register("robot"), hall.register("robot"))
        hall.fare(ada, load: 0.9)
        hall.fare(bea, load: 0.1)
        var ofBea = 0
        for number in 0..<200 {
            hall.launch("J\(number)", "robot")
            if hall.asked("J\(number)") == bea { ofBea += 1 }
            hall.terminate("J\(number)", .roomEnded)
        }
        #expect((150..<200).contains(ofBea))
    }

    @Test func `a worker is asked for one job at a time, and given ten before it has said how it fares`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for number in 0..<30 { hall.launch("J\(number)", "robot") }
        #expect(hall.take().count { $0.contains("available?") } == 1)
        for number in 0..<10 { hall.accept("J\(number)", by: ada) }
        #expect(hall.take().count { $0.contains("available?") } == 9)
        // Its load may follow.
        hall.fare(ada, load: 0.5)
        #expect(hall.take() == ["ada < available? J10 for lounge"])
        for number in 10..<20 { hall.accept("J\(number)", by: ada) }
        hall.take()
        // One that never says how it fares goes on after a while.
        hall.pass(.seconds(Int64(4)))
        #expect(hall.take() == ["ada < available? J20 for lounge"])
    }

    @Test func `who has refused is asked again when it says that it has room, and ten times in all`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.take()
        hall.launch("J1", "robot")
        for _ in 0..<9 {
            hall.refuse("J1", by: ada)
            hall.pass(.seconds(Int64(2)))
            hall.fare(ada, load: 0.5)
            #expect(hall.take().last == "ada < available? J1 for lounge")
        }
        hall.refuse("J1", by: ada)
        #expect(hall.take() == ["J1 failed: no worker has taken the job"])
    }

    @Test(arguments: [false, true])
    func `who says how it fares while somebody else is being asked for what it has refused is heard`(isFull: Bool) {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.launch("J1", "robot")
        let bea = hall.register("robot")
        hall.refuse("J1", by: ada)
        #expect(hall.asked("J1") == bea)
        hall.pass(.seconds(Int64(2)))
        hall.fare(ada, isFull: isFull)
        // It hangs, and goes.
        hall.pass(.seconds(Int64(9)))
        hall.vanish(bea)
        if isFull { hall.fare(ada) }
        #expect(hall.take().last == "ada < available? J1 for lounge")
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

    // MARK: Ends

    @Test func `a worker whose agent has said goodbye has the time that it needs, and may say how the job came out`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2", "J3", "J4"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
            hall.take()
            hall.terminate(job, .agentLeft(at: hall.now))
            #expect(hall.take().isEmpty, "its process is not told to end")
        }
        hall.pass(.seconds(Int64(300)))
        hall.terminate("J3", .agentLeft(at: hall.now))
        #expect(hall.take().isEmpty)
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsFailed; $0.error = "broken"
                }))
        // The room's end leaves it the time, too.
        hall.terminate("J2", .roomEnded)
        #expect(hall.take() == ["J1 failed: broken", "J2 succeeded"])
        // LiveKit's framework for Node never says anything.
        hall.pass(.seconds(Int64(301)))
        #expect(hall.take() == ["J3 succeeded", "J4 succeeded"])
    }

    @Test func `an agent that is cut off has failed, however well its process ends`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        for job in ["J1", "J2"] {
            hall.launch(job, "robot")
            hall.accept(job, by: ada)
        }
        hall.take()
        hall.terminate("J1", .agentCutOff)
        hall.terminate("J2", .agentCutOff)
        hall.say(
            ada,
            .updateJob(
                .with {
                    $0.jobID = "J1"; $0.status = .jsSuccess
                }))
        hall.pass(.seconds(Int64(16)))
        #expect(
            hall.take() == [
                "ada < end J1", "ada < end J2", "J1 failed: the agent was cut off from its room",
                "J2 failed: the agent was cut off from its room",
            ])
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

    @Test func `of a job whose agent never comes the worker is told to end it, and it has failed`() {
        let hall = AgentHall()
        let ada = hall.register("robot")
        hall.launch("J1", "robot")
        hall.accept("J1", by: ada)
        hall.take()
        hall.terminate("J1", .agentMissing)
        #expect(hall.take() == ["ada < end J1", "J1 failed: the agent has not come"])
    }
}
