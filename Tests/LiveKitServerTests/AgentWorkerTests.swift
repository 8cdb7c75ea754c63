import Foundation
import LiveKitProtocol
import RTCWire
import Testing

@testable import LiveKitClient
@testable import LiveKitServer

/// Our worker of agents and our server, over real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct AgentWorkerTests {
    /// A worker that runs, what it has reported, and what it is sent for.
    private final class Crew: Sendable {
        let worker: AgentWorker
        let reports: AsyncStream<AgentWorkerEvent>
        private let running: Task<Result<Void, AgentWorkerError>, Never>

        init(
            _ server: TestServer, secret: String = "a secret that is long enough for anybody",
            _ change: (inout AgentWorker.Options) -> Void = { _ in }, job: @escaping AgentWorker.Job
        ) throws {
            var options = AgentWorker.Options()
            options.agentName = "clerk"
            let (reports, source) = AsyncStream.makeStream(of: AgentWorkerEvent.self)
            options.onEvent = { source.yield($0) }
            change(&options)
            let worker = try AgentWorker(
                url: "ws://127.0.0.1:\(server.port)", apiKey: "test", apiSecret: secret, options: options, job: job)
            self.worker = worker
            self.reports = reports
            running = Task {
                do throws(AgentWorkerError) {
                    try await worker.run()
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }

        func stop() { running.cancel() }

        func end() async throws { try await running.value.get() }

        func next(_ isWanted: (AgentWorkerEvent) -> Bool) async -> AgentWorkerEvent? {
            await reports.first(where: isWanted)
        }

        func isRegistered() async { _ = await next { if case .registered = $0 { true } else { false } } }
    }

    /// Has an agent sent for, and says what the server knows of its jobs.
    private static func dispatch(_ server: TestServer, metadata: String = "") async throws {
        let token = try TestServer.serviceToken {
            $0.roomAdmin = true
            $0.room = "kitchen"
        }
        let answer = try await ask(
            server, "CreateDispatch", #"{"agent_name":"clerk","room":"kitchen","metadata":"\#(metadata)"}"#, token)
        #expect(answer.status == 200)
    }

    private static func dispatches(_ server: TestServer) async throws -> String {
        let token = try TestServer.serviceToken {
            $0.roomAdmin = true
            $0.room = "kitchen"
        }
        return try await ask(server, "ListDispatch", #"{"room":"kitchen"}"#, token).body
    }

    private static func statuses(_ server: TestServer) async throws -> [String] {
        try await dispatches(server).matches(of: /"status":\s*"(JS_[A-Z]+)"/).map { String($0.1) }
    }

    private static func ask(
        _ server: TestServer, _ method: String, _ body: String, _ token: String
    ) async throws -> (status: Int, headers: String, body: String) {
        try await server.ask(
            "/twirp/livekit.AgentDispatchService/\(method)", method: "POST",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"], body: Array(body.utf8))
    }

    @Test func `an agent is sent for, meets who is there, answers, and has done its job when its function returns`()
        async throws
    {
        try await TestServer.run { server in
            let crew = try Crew(server) {
                $0.answer = { _ in .accept(AgentIdentity(identity: "the clerk", name: "Clerk", metadata: "of tin")) }
            } job: { context in
                #expect(context.job.metadata == "be kind" && context.job.roomName == "kitchen")
                let events = context.room.events
                try await context.connect()
                let met = await context.waitForParticipant()
                #expect(met?.identity == "ann" && context.job.participant == nil)
                for await event in events {
                    guard case .dataReceived(let message) = event else { continue }
                    if message.payload == [0] {
                        await context.room.disconnect()
                        #expect(await context.waitForParticipant() == nil)
                        return
                    }
                    try await context.room.publish(data: message.payload.reversed(), topic: "again")
                }
            }
            await crew.isRegistered()
            let ann = Room()
            let events = ann.events
            try await ann.connect(url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token())
            try await Self.dispatch(server, metadata: "be kind")
            loop: for await event in events {
                switch event {
                case .participantConnected(let agent):
                    #expect(agent.identity == "the clerk" && agent.name == "Clerk" && agent.metadata == "of tin")
                    #expect(agent.kind == .agent)
                    try await ann.publish(data: [1, 2, 3])
                case .dataReceived(let message):
                    #expect(message.payload == [3, 2, 1] && message.topic == "again")
                    try await ann.publish(data: [0])
                case .participantDisconnected: break loop
                default: continue
                }
            }
            let ended = await crew.next { if case .jobEnded = $0 { true } else { false } }
            if case .jobEnded(let job, let error) = ended { #expect(job.agentName == "clerk" && error == nil) }
            try await until("the job is done") { try await Self.statuses(server) == ["JS_SUCCESS"] }
            crew.worker.drain()
            try await crew.end()
            await ann.disconnect()
        }
    }

    @Test func `a job whose function throws has failed, and is done once more`() async throws {
        struct Unable: Error, CustomStringConvertible { let description = "no voice" }
        try await TestServer.run { server in
            let crew = try Crew(server) { context in
                try await context.connect()
                throw Unable()
            }
            await crew.isRegistered()
            let ann = Room()
            try await ann.connect(url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token())
            try await Self.dispatch(server)
            for _ in 0..<2 {
                let ended = await crew.next { if case .jobEnded = $0 { true } else { false } }
                guard case .jobEnded(_, let error) = ended else { break }
                #expect(error == "no voice")
            }
            crew.worker.drain()
            try await crew.end()
            await ann.disconnect()
        }
    }

    @Test func `a job for which a worker has no room waits until it has`() async throws {
        try await TestServer.run { server in
            let (goodbyes, goodbye) = AsyncStream.makeStream(of: Void.self)
            let crew = try Crew(server) {
                $0.maximumJobs = 1
            } job: { context in
                try await context.connect()
                if context.job.metadata == "first" { for await _ in goodbyes {} }
            }
            await crew.isRegistered()
            let ann = Room()
            try await ann.connect(url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token())
            try await Self.dispatch(server, metadata: "first")
            _ = await crew.next { if case .jobStarted = $0 { true } else { false } }
            try await Self.dispatch(server, metadata: "second")
            // A job is pending from its beginning; this is said once nobody has room for it. How long it may take is
            // the business of `AgentPoolTests`.
            try await until("the second job waits for room") {
                try await Self.dispatches(server).contains("JSR_NO_CAPACITY")
            }
            #expect(try await Self.statuses(server) == ["JS_RUNNING", "JS_PENDING"])
            goodbye.finish()
            let begun = await crew.next { if case .jobStarted = $0 { true } else { false } }
            guard case .jobStarted(let job) = begun else { throw TestServer.Unusable() }
            #expect(job.metadata == "second")
            try await until("both jobs are done") {
                try await Self.statuses(server) == ["JS_SUCCESS", "JS_SUCCESS"]
            }
            crew.worker.drain()
            try await crew.end()
            await ann.disconnect()
        }
    }

    @Test func `a worker that is stopped has its jobs cancelled, and another one does them`() async throws {
        try await TestServer.run { server in
            let url = "ws://127.0.0.1:\(server.port)"
            let job: AgentWorker.Job = { context in
                let events = context.room.events
                try await context.connect()
                for await _ in events {}
            }
            let first = try Crew(server, job: job)
            await first.isRegistered()
            let ann = Room()
            let events = ann.events
            try await ann.connect(url: url, token: try TestServer.token())
            try await Self.dispatch(server)
            let arrived: (RoomEvent) -> Bool = { if case .participantConnected = $0 { true } else { false } }
            _ = await events.first(where: arrived)
            let second = try Crew(server, job: job)
            await second.isRegistered()
            first.stop()
            try await first.end()
            _ = await events.first(where: arrived)
            #expect(try await Self.statuses(server) == ["JS_FAILED", "JS_RUNNING"])
            // It ends with the room, for whose end the events do.
            await ann.disconnect()
            second.worker.drain()
            second.stop()
            try await second.end()
        }
    }

    @Test func `a worker with a wrong secret is told so, and a worker runs once`() async throws {
        try await TestServer.run { server in
            let stranger = try Crew(server, secret: "another") { _ in }
            await #expect(throws: AgentWorkerError.refused(status: 401)) { try await stranger.end() }
            await #expect(throws: AgentWorkerError.alreadyRun) { try await stranger.worker.run() }
            #expect(throws: AgentWorkerError.missingVariable("LIVEKIT_API_SECRET")) {
                try AgentWorker(environment: ["LIVEKIT_URL": "ws://127.0.0.1", "LIVEKIT_API_KEY": "test"]) { _ in }
            }
            #expect(throws: AgentWorkerError.invalidKey) {
                try AgentWorker(url: "ws://127.0.0.1", apiKey: "", apiSecret: "") { _ in }
            }
        }
    }
}
