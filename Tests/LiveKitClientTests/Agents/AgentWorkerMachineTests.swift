import LiveKitProtocol
import Testing

@testable import LiveKitClient

/// The wire's dialogue of a worker with a server.
struct AgentWorkerMachineTests {
    @Test func `a worker registers, is asked, is given the job, and says how it came out`() {
        let worker = WorkerDialogue()
        #expect(worker.begin() == ["! open"])
        #expect(worker.open() == ["> register clerk"])
        #expect(worker.register() == ["* Registered as AW_1.", "> available with 0, load 0.0"])
        #expect(worker.offer("AJ_1") == ["! ask about AJ_1"])
        let agent = AgentIdentity(identity: "the clerk", name: "Clerk")
        #expect(
            worker.answer("AJ_1", .accept(agent)) == ["> AJ_1: yes, as the clerk", "> available with 1, load 0.5"])
        #expect(
            worker.assign("AJ_1") == [
                "> AJ_1 jsRunning", "* Job AJ_1 in room lounge has begun.",
                "! start AJ_1 in lounge at ours with token of AJ_1",
            ])
        #expect(
            worker.end("AJ_1") == [
                "> AJ_1 jsSuccess", "* Job AJ_1 in room lounge is done.", "> available with 0, load 0.0",
            ])
        worker.run("AJ_2")
        #expect(
            worker.end("AJ_2", error: "no voice") == [
                "> AJ_2 jsFailed: no voice", "* Job AJ_2 in room lounge has failed: no voice",
                "> available with 0, load 0.0",
            ])
    }

    @Test func `an agent without an identity is called after its job, and connects where the server says`() {
        let worker = WorkerDialogue.registered()
        #expect(worker.offer("AJ_1", resuming: true) == ["! ask about AJ_1, resumed"])
        #expect(worker.answer("AJ_1", .accept()).first == "> AJ_1: yes, as agent-AJ_1")
        #expect(
            worker.assign("AJ_1", url: "wss://elsewhere").last
                == "! start AJ_1 in lounge at wss://elsewhere with token of AJ_1")
    }

    @Test func `who does not want a job says so, for itself or for everybody`() {
        let worker = WorkerDialogue.registered()
        _ = worker.offer("AJ_1")
        #expect(worker.answer("AJ_1", .decline) == ["> AJ_1: no"])
        _ = worker.offer("AJ_2")
        #expect(worker.answer("AJ_2", .dismiss) == ["> AJ_2: nobody is to"])
        #expect(worker.answer("AJ_2", .accept()).isEmpty)
    }

    @Test func `a full worker says so, and refuses what it is asked all the same`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        _ = worker.offer("AJ_1")
        #expect(worker.answer("AJ_1", .accept()) == ["> AJ_1: yes, as agent-AJ_1", "> full with 1, load 1.0"])
        #expect(worker.offer("AJ_2") == ["> AJ_2: no"])
        _ = worker.assign("AJ_1")
        #expect(worker.offer("AJ_1") == ["> AJ_1: no"])
        #expect(worker.end("AJ_1").last == "> available with 0, load 0.0")
    }

    @Test func `a busy machine makes a worker full, and what is no news is not said`() {
        let worker = WorkerDialogue.registered()
        #expect(worker.load(0.25) == ["> available with 0, load 0.25"])
        #expect(worker.load(0.25).isEmpty)
        #expect(worker.load(7) == ["> full with 0, load 1.0"])
        #expect(worker.load(.nan).isEmpty)
        #expect(worker.load(-1) == ["> available with 0, load 0.0"])
        worker.run("AJ_1")
        #expect(worker.load(0.3).isEmpty)
        #expect(worker.load(0.75) == ["> available with 1, load 0.75"])
    }

    @Test func `who does not answer for ten seconds has lost the job, and has room for others`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        _ = worker.offer("AJ_1")
        #expect(worker.pass(10) == ["! forget AJ_1", "> ping"])
        #expect(worker.answer("AJ_1", .accept()).isEmpty)
        #expect(worker.offer("AJ_2") == ["! ask about AJ_2"])
    }

    @Test func `a job that is not given within ten seconds is somebody else's, and fails where it comes later`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        _ = worker.offer("AJ_1") + worker.answer("AJ_1", .accept())
        #expect(worker.pass(10).contains("> available with 0, load 0.0"))
        #expect(worker.assign("AJ_1") == ["> AJ_1 jsFailed: the worker does not wait for this job any more"])
        worker.run("AJ_2")
        #expect(worker.assign("AJ_2").isEmpty)
    }

    @Test func `a job is called off before it has begun, and while it is done`() {
        let worker = WorkerDialogue.registered()
        _ = worker.offer("AJ_1")
        #expect(worker.terminate("AJ_1").first == "! forget AJ_1")
        _ = worker.offer("AJ_2") + worker.answer("AJ_2", .accept())
        #expect(worker.terminate("AJ_2") == ["> available with 0, load 0.0"])
        worker.run("AJ_3")
        #expect(worker.terminate("AJ_3") == ["! cancel AJ_3"])
        #expect(worker.end("AJ_3").first == "> AJ_3 jsSuccess")
        #expect(worker.terminate("AJ_4").isEmpty)
    }

    @Test func `a connection that is lost is made anew, and jobs go on meanwhile`() {
        let worker = WorkerDialogue.registered(maximumJobs: 5)
        worker.run("AJ_1")
        worker.run("AJ_2")
        _ = worker.offer("AJ_3")
        _ = worker.offer("AJ_4") + worker.answer("AJ_4", .accept())
        #expect(
            worker.lose() == [
                "! forget AJ_3", "! close", "* There is no connection to the server: gone. Trying again.",
            ])
        // What ends meanwhile is said later.
        #expect(worker.end("AJ_1") == ["* Job AJ_1 in room lounge is done."])
        #expect(worker.pass(0) == ["! open"])
        #expect(
            worker.lose(.refused(status: 502)) == [
                "! close",
                "* There is no connection to the server: the server answered with status 502. Trying again in 2 s.",
            ])
        #expect(worker.pass(1.9).isEmpty)
        #expect(worker.pass(0.2) == ["! open"])
        #expect(worker.open() == ["> register clerk"])
        #expect(
            worker.register("AW_2") == [
                "* Registered as AW_2.", "> mine: AJ_2", "> AJ_1 jsSuccess", "> available with 1, load 0.2",
            ])
    }

    @Test func `a server that is silent is gone, and one that answers is not`() {
        let worker = WorkerDialogue.registered()
        #expect(worker.pass(10) == ["> ping"])
        #expect(worker.server(.pong(.init())).isEmpty)
        #expect(worker.pass(29) == ["> ping", "> ping"])
        let lines = worker.pass(1)
        #expect(lines.contains("* There is no connection to the server: the server did not answer. Trying again."))
        #expect(lines.last == "! open")
    }

    @Test func `a server that does not answer to register is tried again`() {
        let worker = WorkerDialogue()
        _ = worker.begin() + worker.open()
        #expect(worker.pass(9.9).isEmpty)
        #expect(
            worker.pass(0.1) == [
                "! close", "* There is no connection to the server: the server did not answer. Trying again.", "! open",
            ])
    }

    @Test func `a key that the server does not know ends it, and so does a URL that is none`() {
        for (failure, sentence) in [
            (RoomError.refused(status: 401), AgentWorkerError.refused(status: 401)),
            (.refused(status: 404), .refused(status: 404)), (.invalidURL("chat"), .invalidURL("chat")),
        ] {
            let worker = WorkerDialogue()
            _ = worker.begin()
            #expect(worker.lose(failure) == ["* \(sentence)"])
            #expect(worker.pass(100).isEmpty)
        }
        // A server that has known it before is being started anew, perhaps.
        let known = WorkerDialogue.registered()
        #expect(known.lose(.refused(status: 401)).last?.hasSuffix("Trying again.") == true)
    }

    @Test func `a server that was never there is given up, and one that was is waited for`() {
        let worker = WorkerDialogue()
        _ = worker.begin()
        var attempts = 1
        while worker.lose().last != "* There is no connection to the server after 16 attempts: gone.", attempts < 99 {
            attempts += 1
            #expect(worker.pass(10) == ["! open"])
        }
        #expect(attempts == 16)
        let known = WorkerDialogue.registered()
        for _ in 0..<200 {
            #expect(known.lose().last?.hasPrefix("* There is no connection to the server: gone.") == true)
            #expect(known.pass(10) == ["! open"])
        }
        #expect(known.open() + known.register() != [])
    }

    @Test func `a worker that drains takes nothing more and ends with its last job`() {
        let worker = WorkerDialogue.registered(maximumJobs: 5)
        worker.run("AJ_1")
        _ = worker.offer("AJ_2") + worker.answer("AJ_2", .accept())
        _ = worker.offer("AJ_3")
        #expect(
            worker.drain() == [
                "* No more jobs are taken.", "! forget AJ_3", "> AJ_3: no", "> full with 2, load 0.4",
            ])
        #expect(worker.drain().isEmpty)
        #expect(worker.offer("AJ_4") == ["> AJ_4: no"])
        // What it had said yes to it does.
        #expect(worker.assign("AJ_2").last == "! start AJ_2 in lounge at ours with token of AJ_2")
        #expect(worker.end("AJ_2").last == "> full with 1, load 0.2")
        #expect(
            worker.end("AJ_1") == [
                "> AJ_1 jsSuccess", "* Job AJ_1 in room lounge is done.", "! close", "* It has ended.",
            ])
        #expect(worker.pass(100).isEmpty)
    }

    @Test func `a worker that drains without a connection still says how its jobs came out`() {
        let worker = WorkerDialogue.registered()
        worker.run("AJ_1")
        _ = worker.lose()
        #expect(worker.drain() == ["* No more jobs are taken."])
        #expect(worker.end("AJ_1", error: "no voice").count == 1)
        #expect(worker.pass(0) == ["! open"])
        #expect(worker.open() == ["> register clerk"])
        #expect(
            worker.register() == [
                "* Registered as AW_1.", "> AJ_1 jsFailed: no voice", "! close", "* It has ended.",
            ])
        // Without a server it does not wait for ever.
        let lost = WorkerDialogue.registered()
        lost.run("AJ_1")
        _ = lost.drain() + lost.lose() + lost.end("AJ_1")
        var attempts = 1
        while attempts < 99 {
            #expect(lost.pass(10) == ["! open"])
            attempts += 1
            if lost.lose().last == "* It has ended." { break }
        }
        #expect(attempts == 16)
        // With nothing to do and nothing to say there is nothing to wait for.
        let idle = WorkerDialogue.registered()
        _ = idle.lose()
        #expect(idle.drain() == ["* No more jobs are taken.", "! close", "* It has ended."])
    }
}
