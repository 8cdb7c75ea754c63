import LiveKitProtocol
import Testing

@testable import LiveKitClient

/// The wire's dialogue of a worker with a server.
struct AgentWorkerMachineTests {
    @Test func `a worker registers, is asked, is given the job, and says how it came out`() {
        let worker = WorkerDialogue()
        #expect(worker.begin() == ["! open"])
        #expect(worker.open() == ["> register clerk"])
        #expect(worker.register() == ["* Registered as AW_1.", "> available with 0, load 0 %"])
        #expect(worker.offer("AJ_1") == ["! ask about AJ_1"])
        let agent = AgentIdentity(identity: "the clerk", name: "Clerk")
        #expect(
            worker.answer("AJ_1", .accept(agent)) == ["> AJ_1: yes, as the clerk", "> available with 1, load 30 %"])
        #expect(
            worker.assign("AJ_1") == [
                "> AJ_1 jsRunning", "* Job AJ_1 in room lounge has begun.",
                "! start AJ_1 in lounge at ours with token of AJ_1",
            ])
        #expect(
            worker.end("AJ_1") == [
                "> AJ_1 jsSuccess", "* Job AJ_1 in room lounge is done.", "> available with 0, load 0 %",
            ])
        worker.run("AJ_2")
        #expect(
            worker.end("AJ_2", error: "no voice") == [
                "> AJ_2 jsFailed: no voice", "* Job AJ_2 in room lounge has failed: no voice",
                "> available with 0, load 0 %",
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
        #expect(worker.answer("AJ_1", .accept()) == ["> AJ_1: yes, as agent-AJ_1", "> full with 1, load 100 %"])
        // A server that is not told why takes the refusal for the last word.
        #expect(worker.offer("AJ_2") == ["> AJ_2: no", "> full with 1, load 100 %"])
        _ = worker.assign("AJ_1")
        #expect(worker.offer("AJ_1") == ["> AJ_1: no"])
        #expect(worker.end("AJ_1").last == "> available with 0, load 0 %")
    }

    @Test func `a busy machine makes a worker full, and what is no news is not said`() {
        let worker = WorkerDialogue.registered()
        #expect(worker.load(0.25) == ["> available with 0, load 15 %"])
        #expect(worker.load(0.25).isEmpty)
        #expect(worker.load(7) == ["> full with 0, load 100 %"])
        #expect(worker.load(.nan).isEmpty)
        #expect(worker.offer("AJ_1") == ["> AJ_1: no", "> full with 0, load 100 %"])
        #expect(worker.load(-1) == ["> available with 0, load 0 %"])
        worker.run("AJ_1")
        #expect(worker.load(0.3).isEmpty)
        #expect(worker.load(0.75) == ["> available with 1, load 45 %"])
        // LiveKit's server gives nothing to a worker above 0.7: what is not full is below.
        #expect(worker.load(0.99) == ["> available with 1, load 59 %"])
    }

    @Test func `who does not answer for eight seconds has refused the job, and has room for others`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        _ = worker.offer("AJ_1")
        #expect(worker.pass(8) == ["! forget question 1", "> AJ_1: no"])
        #expect(worker.answer("AJ_1", .accept()).isEmpty)
        // An answer to the first question is none to the second one.
        let late = worker.offer("AJ_1")
        #expect(late == ["! ask about AJ_1"])
        #expect(worker.answer("AJ_1", .accept(), number: 1).isEmpty)
        #expect(worker.answer("AJ_1", .accept()).first == "> AJ_1: yes, as agent-AJ_1")
    }

    @Test func `a job that is not given within ten seconds is somebody else's, and fails where it comes later`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        _ = worker.offer("AJ_1") + worker.answer("AJ_1", .accept())
        #expect(worker.pass(10) == ["> available with 0, load 0 %", "> ping"])
        #expect(worker.assign("AJ_1") == ["> AJ_1 jsFailed: the worker does not wait for this job any more"])
        worker.run("AJ_2")
        #expect(worker.assign("AJ_2").isEmpty)
    }

    @Test func `a job is called off before it has begun, and while it is done`() {
        let worker = WorkerDialogue.registered()
        _ = worker.offer("AJ_1")
        #expect(worker.terminate("AJ_1").first == "! forget question 1")
        _ = worker.offer("AJ_2") + worker.answer("AJ_2", .accept())
        #expect(worker.terminate("AJ_2") == ["> available with 0, load 0 %"])
        worker.run("AJ_3")
        #expect(
            worker.terminate("AJ_3") == ["* Job AJ_3 in room lounge is called off.", "! leave the room of AJ_3"])
        #expect(worker.terminate("AJ_3").isEmpty)
        // Without its room it may throw: that says nothing of the job.
        #expect(worker.end("AJ_3", error: "not connected").first == "> AJ_3 jsSuccess")
        #expect(worker.terminate("AJ_4").isEmpty)
    }

    @Test func `who does not come to an end is cancelled, and then nobody waits for it`() {
        let worker = WorkerDialogue.registered(maximumJobs: 1)
        worker.run("AJ_1")
        _ = worker.terminate("AJ_1")
        #expect(worker.pass(9.9).isEmpty)
        #expect(worker.pass(0.1) == ["! cancel AJ_1", "> ping"])
        _ = worker.pong()
        #expect(
            worker.pass(10) == [
                "! abandon AJ_1", "> AJ_1 jsFailed: it did not end when it was called off",
                "* Job AJ_1 in room lounge has failed: it did not end when it was called off",
                "> available with 0, load 0 %", "> ping",
            ])
        #expect(worker.end("AJ_1").isEmpty)
        #expect(worker.offer("AJ_2") == ["! ask about AJ_2"])
    }

    @Test func `a connection that is lost is made anew, and jobs go on meanwhile`() {
        let worker = WorkerDialogue.registered(maximumJobs: 5)
        worker.run("AJ_1")
        worker.run("AJ_2")
        _ = worker.offer("AJ_3")
        _ = worker.offer("AJ_4") + worker.answer("AJ_4", .accept())
        #expect(
            worker.lose() == [
                "! forget question 3", "! close", "* There is no connection to the server: gone. Trying again.",
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
                "* Registered as AW_2.", "> mine: AJ_1, AJ_2", "> AJ_1 jsSuccess", "> available with 1, load 12 %",
            ])
    }

    @Test func `what may have been said into a dead connection is said again, and what was heard is not`() {
        let worker = WorkerDialogue.registered()
        worker.run("AJ_1")
        worker.run("AJ_2")
        #expect(worker.end("AJ_1").first == "> AJ_1 jsSuccess")
        #expect(worker.pong().isEmpty)
        #expect(worker.end("AJ_2", error: "no voice").first == "> AJ_2 jsFailed: no voice")
        _ = worker.lose() + worker.pass(0) + worker.open()
        #expect(
            worker.register() == [
                "* Registered as AW_1.", "> mine: AJ_2", "> AJ_2 jsFailed: no voice", "> available with 0, load 0 %",
            ])
        _ = worker.pong() + worker.lose() + worker.pass(10) + worker.open()
        #expect(worker.register() == ["* Registered as AW_1.", "> available with 0, load 0 %"])
    }

    @Test func `what a function throws is told within bounds`() {
        let worker = WorkerDialogue.registered()
        worker.run("AJ_1")
        let said = worker.end("AJ_1", error: String(repeating: "no", count: 1_000_000)).first
        #expect(said?.count == "> AJ_1 jsFailed: ".count + 1_000)
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

    @Test func `a server that takes connections and says nothing is tried again`() {
        let worker = WorkerDialogue()
        _ = worker.begin()
        // For how long it is waited is the socket's to know.
        #expect(worker.pass(60).isEmpty)
        #expect(
            worker.lose(.unreachable("no answer from there")) + worker.pass(0) == [
                "! close", "* There is no connection to the server: no answer from there. Trying again.", "! open",
            ])
    }

    @Test func `a server that registers and closes is not asked without end at once`() {
        let worker = WorkerDialogue.registered()
        #expect(worker.lose().last?.hasSuffix("Trying again.") == true)
        for wait in [2, 4, 6, 8, 10, 10] {
            _ = worker.pass(10) + worker.open() + worker.register()
            #expect(worker.lose().last?.hasSuffix("Trying again in \(wait) s.") == true)
        }
        // One that lasts is another matter.
        _ = worker.pass(10) + worker.open() + worker.register() + worker.pass(10)
        #expect(worker.lose().last?.hasSuffix("Trying again.") == true)
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
                "* No more jobs are taken.", "! forget question 3", "> AJ_3: no", "> full with 2, load 100 %",
            ])
        #expect(worker.drain().isEmpty)
        #expect(worker.offer("AJ_4") == ["> AJ_4: no", "> full with 2, load 100 %"])
        // What it had said yes to it does.
        #expect(worker.assign("AJ_2").last == "! start AJ_2 in lounge at ours with token of AJ_2")
        #expect(worker.end("AJ_2").last == "> full with 1, load 100 %")
        #expect(
            worker.end("AJ_1") == [
                "> AJ_1 jsSuccess", "* Job AJ_1 in room lounge is done.", "* It has ended.",
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
                "* Registered as AW_1.", "> mine: AJ_1", "> AJ_1 jsFailed: no voice", "* It has ended.",
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
        // But for as long as its jobs go on.
        let busy = WorkerDialogue.registered()
        busy.run("AJ_1")
        _ = busy.drain() + busy.lose()
        for _ in 0..<100 {
            #expect(busy.pass(10) == ["! open"])
            #expect(busy.lose().last != "* It has ended.")
        }
        _ = busy.end("AJ_1") + busy.pass(10)
        #expect(busy.lose().last == "* It has ended.")
        // With nothing to do and nothing to say there is nothing to wait for.
        let idle = WorkerDialogue.registered()
        _ = idle.lose()
        #expect(idle.drain() == ["* No more jobs are taken.", "* It has ended."])
    }

    @Test func `a worker that is stopped cancels its jobs, and somebody else is to do them`() {
        let worker = WorkerDialogue.registered(maximumJobs: 5)
        worker.run("AJ_1")
        worker.run("AJ_2")
        _ = worker.offer("AJ_3") + worker.offer("AJ_4") + worker.answer("AJ_4", .accept())
        let said = worker.stop()
        #expect(said.suffix(2) == ["* No more jobs are taken.", "> full with 2, load 100 %"])
        #expect(
            Set(said.dropLast(2)) == ["! cancel AJ_1", "! cancel AJ_2", "! forget question 3", "> AJ_3: no"])
        #expect(worker.stop().isEmpty)
        // It had returned before it was cancelled.
        #expect(worker.end("AJ_1").first == "> AJ_1 jsSuccess")
        #expect(
            worker.end("AJ_2", wasCancelled: true) == [
                "> AJ_2 jsFailed: its worker was stopped",
                "* Job AJ_2 in room lounge has failed: its worker was stopped", "* It has ended.",
            ])
    }

    @Test func `a worker that is stopped ends soon, whatever its jobs and its server do`() {
        let worker = WorkerDialogue.registered()
        worker.run("AJ_1")
        _ = worker.stop()
        #expect(
            worker.pass(10) == [
                "! abandon AJ_1", "> AJ_1 jsFailed: its worker was stopped",
                "* Job AJ_1 in room lounge has failed: its worker was stopped", "* It has ended.",
            ])
        let lost = WorkerDialogue.registered()
        lost.run("AJ_1")
        _ = lost.lose() + lost.stop() + lost.end("AJ_1", wasCancelled: true)
        var lines: [String] = []
        for _ in 0..<10 {
            lines += lost.pass(1)
            if lines.last == "! open" { lines += lost.lose() }
        }
        #expect(lines.last == "* It has ended.")
        let idle = WorkerDialogue()
        _ = idle.begin()
        #expect(idle.stop() == ["* No more jobs are taken.", "* It has ended."])
    }
}
