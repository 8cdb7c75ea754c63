import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Which agents a room asks for, and what it makes of what becomes of them.
@Suite struct AgentRoomTests {
    /// An agent's own session, as its token has it.
    private func joinAgent(_ venue: Venue, _ name: String = "tin man") throws -> TestClient {
        try venue.join(
            name,
            grants: { $0.agent = true },
            claims: { $0.kind = "agent" })
    }

    /// Somebody has been gone for so long that they are not about to come back.
    private func passAbsence(_ venue: Venue) { venue.run(for: .seconds(Int64(11))) }

    private func launched(_ venue: Venue) -> [LiveKitJob] {
        venue.agentOrders.compactMap { if case .launch(let job, _) = $0 { job } else { nil } }
    }

    private func ended(_ venue: Venue) -> [String] {
        venue.agentOrders.compactMap {
            if case .terminate(let job, let reason) = $0 { "\(job) \("\(reason)".prefix { $0 != "(" })" } else { nil }
        }
    }

    private func run(_ job: LiveKitJob, as identity: String = "tin man", in venue: Venue) {
        tell(job, .jsRunning, as: identity, in: venue)
    }

    private func tell(
        _ job: LiveKitJob, _ status: LiveKitJobStatus, as identity: String = "tin man", after seconds: Int64 = 0,
        in venue: Venue
    ) {
        let state = LiveKitJobState.with {
            $0.status = status
            $0.participantIdentity = identity
            $0.startedAt = 1_000_000_000
            $0.endedAt = status.isEnded ? (1 + seconds) * 1_000_000_000 : 0
        }
        venue.room.agentJobChanged(job.id, .state(state), at: venue.now)
        venue.drain()
    }

    private func jobs(of dispatch: String = "", in venue: Venue) -> [LiveKitJob] {
        venue.room.dispatches(id: dispatch).flatMap(\.state.jobs)
    }

    @Test func `a room that names no agents asks for those that come by themselves`() throws {
        let venue = Venue(workers: .all)
        #expect(launched(venue).map { "\($0.type) \($0.agentName)." } == ["jtRoom ."])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        #expect(venue.run { launched(venue).count == 3 })
        let orders = launched(venue)
        #expect(orders.map(\.type) == [.jtRoom, .jtParticipant, .jtPublisher])
        #expect(orders.map(\.participant.identity) == ["", "ann", "ann"])
        #expect(orders.allSatisfy { $0.room.name == "lounge" && $0.room.sid == venue.room.sid })
        #expect(orders[2].participant.isPublisher)
        #expect(Set(orders.map(\.dispatchID)).count == 1 && Set(orders.map(\.id)).count == 3)
        // Nobody has taken any of them.
        #expect(jobs(in: venue).isEmpty)
    }

    @Test func `a room asks for the agents that it was made with, and for nobody on behalf of agents and recorders`()
        throws
    {
        let venue = Venue(workers: .all) {
            $0.agents = [
                .with {
                    $0.agentName = "robot"
                    $0.metadata = "be kind"
                    $0.deployment = "next"
                    $0.attributes = ["a": "b"]
                }, .with { $0.agentName = "clerk" },
            ]
        }
        let orders = launched(venue)
        #expect(orders.map(\.agentName) == ["robot", "clerk"])
        #expect(orders[0].metadata == "be kind" && orders[0].deployment == "next" && orders[0].attributes == ["a": "b"])
        _ = try joinAgent(venue)
        #expect(launched(venue).count == 2)
        let dispatches = venue.room.dispatches(id: "")
        #expect(dispatches.map(\.agentName) == ["robot", "clerk"])
        #expect(dispatches.allSatisfy { $0.room == "lounge" && $0.id.hasPrefix("AD_") && $0.state.createdAt > 0 })
        #expect(venue.room.dispatches(id: dispatches[1].id) == [dispatches[1]])
        #expect(venue.room.dispatches(id: "AD_other").isEmpty)
    }

    @Test func `an agent that is asked for later comes for those who are there`() throws {
        let venue = Venue(workers: .all)
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        #expect(venue.run { launched(venue).count == 3 })
        _ = try joinAgent(venue, "other agent")
        let dispatch = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        venue.drain()
        let orders = launched(venue).filter { $0.dispatchID == dispatch.id }
        #expect(orders.map(\.type) == [.jtRoom, .jtParticipant, .jtPublisher])
    }

    @Test func `a named agent that nobody was there for comes when a worker does, and one without a name does not`()
        throws
    {
        let workers = AgentKinds()
        let venue = Venue(workers: workers) {
            $0.agents = [.with { $0.agentName = "robot" }, .init()]
        }
        _ = try venue.join("ann")
        #expect(launched(venue).isEmpty)
        func come(_ kind: AgentKind) {
            workers.kinds?.insert(kind)
            venue.room.agentsCame(kind, at: venue.now)
            venue.drain()
        }
        come(AgentKind(name: "", type: .jtRoom))
        come(AgentKind(name: "clerk", type: .jtRoom))
        come(AgentKind(name: "robot", type: .jtRoom, deployment: "next"))
        #expect(launched(venue).isEmpty)
        come(AgentKind(name: "robot", type: .jtParticipant))
        come(AgentKind(name: "robot", type: .jtRoom))
        // It has asked for that already.
        come(AgentKind(name: "robot", type: .jtRoom))
        #expect(launched(venue).map(\.type) == [.jtParticipant, .jtRoom])
        // Between its being asked for and the pool the last one has gone.
        venue.room.agentJobChanged(launched(venue)[1].id, .noWorker(isResumed: false), at: venue.now)
        come(AgentKind(name: "robot", type: .jtRoom))
        #expect(launched(venue).map(\.type) == [.jtParticipant, .jtRoom, .jtRoom])
    }

    @Test(arguments: ["", "robot"])
    func `who has lost an agent gets another one when a worker comes, also of those that come by themselves`(
        name: String
    ) throws {
        let workers = AgentKinds()
        let kind = AgentKind(name: name, type: .jtRoom)
        workers.kinds = [kind]
        let venue = Venue(workers: workers) {
            $0.agents = [.with { $0.agentName = name }]
        }
        _ = try venue.join("ann")
        workers.kinds = []
        tell(launched(venue)[0], .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(30)))
        #expect(launched(venue).count == 1)
        workers.kinds = [kind]
        venue.room.agentsCame(kind, at: venue.now)
        venue.room.agentsCame(kind, at: venue.now)
        venue.drain()
        #expect(launched(venue).count == 2)
    }

    @Test func `an agent that leaves is told of, one that makes its connection anew is not`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let job = launched(venue)[0]
        run(job, in: venue)
        _ = try joinAgent(venue)
        let again = try joinAgent(venue)
        // LiveKit's SDKs leave first.
        venue.send(.leave(.init()), from: again)
        venue.run(for: .seconds(Int64(5)))
        let back = try joinAgent(venue)
        passAbsence(venue)
        #expect(ended(venue).isEmpty)
        venue.send(.leave(.init()), from: back)
        passAbsence(venue)
        #expect(ended(venue) == ["\(job.id) agentLeft"])
        tell(job, .jsSuccess, in: venue)
        #expect(jobs(in: venue).map(\.state.status).contains(.jsSuccess))
    }

    @Test func `an agent that is cut off, or taken out, is told of as such`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let job = launched(venue)[0]
        run(job, in: venue)
        let agent = try joinAgent(venue)
        venue.cut(agent)
        passAbsence(venue)
        #expect(ended(venue) == ["\(job.id) agentCutOff"])
        tell(job, .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(2)))
        let again = try #require(launched(venue).last)
        run(again, in: venue)
        _ = try joinAgent(venue)
        try venue.room.removeParticipant("tin man", at: venue.now)
        venue.drain()
        #expect(ended(venue).last == "\(again.id) agentRemoved")
    }

    @Test func `whoever has an agent's identity and is none is not taken for it`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        run(launched(venue)[0], in: venue)
        let ann = try venue.join("tin man")
        venue.send(.leave(.init()), from: ann)
        passAbsence(venue)
        #expect(!ended(venue).contains("\(launched(venue)[0].id) agentLeft"))
    }

    @Test(arguments: [(true, "agentLeft"), (false, "agentCutOff")])
    func `an agent whose identity somebody else takes has left, whether it had gone before or makes way`(
        hadGone: Bool, reason: String
    ) throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = launched(venue)[0]
        run(job, in: venue)
        let agent = try joinAgent(venue)
        if hadGone { venue.send(.leave(.init()), from: agent) }
        _ = try venue.join("tin man")
        #expect(ended(venue) == ["\(job.id) \(reason)"])
        passAbsence(venue)
        #expect(ended(venue).count == 1)
    }

    @Test func `who has left is gone when an agent takes their identity`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let tin = try venue.join("tin man")
        let job = try #require(launched(venue).first { $0.type == .jtParticipant })
        tell(job, .jsPending, as: "", in: venue)
        venue.send(.leave(.init()), from: tin)
        _ = try joinAgent(venue)
        #expect(ended(venue) == ["\(job.id) targetLeft"])
    }

    @Test func `a job that still waits for a worker ends with whoever it was for, and comes anew when they do`() throws
    {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let ann = try venue.join("ann")
        let jobs = launched(venue).filter { $0.type == .jtParticipant }
        tell(jobs[0], .jsPending, as: "", in: venue)
        venue.send(.leave(.init()), from: ann)
        passAbsence(venue)
        #expect(ended(venue) == ["\(jobs[0].id) targetLeft"])
        tell(jobs[0], .jsCancelled, as: "", in: venue)
        let again = try venue.join("ann")
        #expect(launched(venue).count { $0.type == .jtParticipant } == 2)
        // Who makes the connection anew keeps the agent, with or without leaving first.
        venue.send(.leave(.init()), from: again)
        _ = try venue.join("ann")
        _ = try venue.join("ann")
        passAbsence(venue)
        #expect(launched(venue).count { $0.type == .jtParticipant } == 2)
    }

    @Test func `of what somebody publishes the first brings an agent, and later ones those that were named since`()
        throws
    {
        let workers = AgentKinds([AgentKind(name: "", type: .jtPublisher)])
        let venue = Venue(workers: workers)
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { venue.room.participants.first?.tracks.count == 1 })
        _ = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        #expect(launched(venue).filter { $0.type == .jtPublisher }.map(\.agentName) == [""])
        workers.kinds?.insert(AgentKind(name: "robot", type: .jtPublisher))
        try ann.publish("voice", .audio)
        #expect(venue.run { venue.room.participants.first?.tracks.count == 2 })
        #expect(launched(venue).filter { $0.type == .jtPublisher }.map(\.agentName) == ["", "robot"])
    }

    @Test func `a dispatch that is deleted ends its jobs, and its agents have three seconds to leave`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = launched(venue)[0]
        run(job, in: venue)
        let agent = try joinAgent(venue)
        _ = try venue.join("ann")
        let id = venue.room.dispatches(id: "")[0].id
        let deleted = try venue.room.deleteDispatch(id, at: venue.now)
        venue.drain()
        #expect(deleted.id == id && deleted.state.deletedAt > 0)
        #expect(ended(venue).first == "\(job.id) dispatchDeleted")
        #expect(venue.room.dispatches(id: "").isEmpty)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.room.participants.count == 2)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.room.participants.map(\.identity) == ["ann"])
        #expect(agent.lines.contains { $0.contains("leave") })
        #expect(throws: RoomServiceError.noSuchDispatch) { try venue.room.deleteDispatch(id, at: venue.now) }
    }

    @Test func `who comes meanwhile under the name of an agent that was to leave is not taken out`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        run(launched(venue)[0], in: venue)
        _ = try joinAgent(venue)
        _ = try venue.room.deleteDispatch(venue.room.dispatches(id: "")[0].id, at: venue.now)
        _ = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        _ = try joinAgent(venue)
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.room.participants.map(\.identity) == ["tin man"])
    }

    @Test func `a room that ends ends its jobs`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = launched(venue)[0]
        run(job, in: venue)
        _ = try joinAgent(venue)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        #expect(ended(venue) == ["\(job.id) roomEnded"])
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtRoom), at: venue.now)
        #expect(launched(venue).count == 1)
    }

    // MARK: Once more

    @Test func `a job that fails is done once more, later each time, five times`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let before = launched(venue).count
        for number in 0..<5 {
            tell(launched(venue).last { $0.type == .jtRoom } ?? .init(), .jsFailed, in: venue)
            venue.run(for: .milliseconds(Int64(1_000 << number) - 600))
            #expect(launched(venue).count == before + number)
            venue.run(for: .milliseconds(1_200))
            #expect(launched(venue).count == before + number + 1)
        }
        tell(launched(venue)[before + 4], .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(120)))
        #expect(launched(venue).count == before + 5)
        #expect(
            venue.agentOrders.allSatisfy {
                if case .launch(let job, let isResumed) = $0 {
                    isResumed == (launched(venue).firstIndex(of: job)! >= before)
                } else {
                    true
                }
            })
        #expect(jobs(in: venue).map(\.state.status) == Array(repeating: .jsFailed, count: 6))
    }

    @Test func `what had gone on for a minute counts anew`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let before = launched(venue).count
        for number in 0..<8 {
            tell(launched(venue).last { $0.type == .jtRoom } ?? .init(), .jsFailed, after: 61, in: venue)
            venue.run(for: .seconds(Int64(2)))
            #expect(launched(venue).count == before + number + 1)
        }
    }

    @Test func `what is never to be done again is not, nor what nobody has taken, nor for somebody who has left`()
        throws
    {
        let venue = Venue(workers: .all) {
            $0.agents = [
                .with {
                    $0.agentName = "robot"
                    $0.restartPolicy = .jrpNever
                }, .with { $0.agentName = "clerk" },
            ]
        }
        let ann = try venue.join("ann")
        let orders = launched(venue)
        func order(_ name: String, _ type: LiveKitJobType) throws -> LiveKitJob {
            try #require(orders.first { $0.agentName == name && $0.type == type })
        }
        tell(try order("robot", .jtRoom), .jsFailed, in: venue)
        let untaken = LiveKitJobState.with {
            $0.status = .jsFailed
            $0.reason = .jsrNoCapacity
        }
        venue.room.agentJobChanged(try order("clerk", .jtRoom).id, .state(untaken), at: venue.now)
        _ = try venue.join("bob")
        venue.send(.leave(.init()), from: ann)
        passAbsence(venue)
        let before = launched(venue).count
        tell(try order("clerk", .jtParticipant), .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(5)))
        #expect(launched(venue).count == before)
    }

    @Test func `an agent whose worker is lost is missed when it is not there`() throws {
        let venue = Venue(workers: .all) {
            $0.agents = [.with { $0.agentName = "robot" }, .with { $0.agentName = "clerk" }]
        }
        let orders = launched(venue)
        run(orders[0], as: "tin man", in: venue)
        run(orders[1], as: "nobody yet", in: venue)
        _ = try joinAgent(venue)
        for job in orders { venue.room.agentJobChanged(job.id, .workerLost, at: venue.now) }
        venue.drain()
        #expect(ended(venue) == ["\(orders[1].id) agentMissing"])
    }

    @Test func `an agent that does not come is missed after a minute, one that has come is not`() throws {
        let venue = Venue(workers: .all) {
            $0.agents = [.with { $0.agentName = "robot" }, .with { $0.agentName = "clerk" }]
        }
        _ = try venue.join("ann")
        let orders = launched(venue).filter { $0.type == .jtRoom }
        run(orders[0], as: "tin man", in: venue)
        run(orders[1], as: "nobody", in: venue)
        _ = try joinAgent(venue)
        venue.run(for: .seconds(Int64(59)))
        #expect(ended(venue).isEmpty)
        venue.run(for: .seconds(Int64(62)))
        #expect(ended(venue) == ["\(orders[1].id) agentMissing"])
    }

    @Test func `a job that nobody could do is done when another worker comes`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let untaken = LiveKitJobState.with {
            $0.status = .jsFailed
            $0.reason = .jsrNoCapacity
        }
        venue.room.agentJobChanged(launched(venue)[0].id, .state(untaken), at: venue.now)
        #expect(launched(venue).count == 1)
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtRoom), at: venue.now)
        venue.drain()
        #expect(launched(venue).count == 2)
    }

    @Test func `whoever makes the connection anew when their agent is to come again gets it`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let ann = try venue.join("ann")
        func orders() -> [LiveKitJob] { launched(venue).filter { $0.type == .jtParticipant } }
        venue.send(.leave(.init()), from: ann)
        tell(orders()[0], .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(3)))
        #expect(orders().count == 1)
        _ = try venue.join("ann")
        #expect(orders().count == 2)
    }

    @Test func `an agent of somebody's last visit that fails does not come again beside the new one`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("bob")
        let ann = try venue.join("ann")
        func orders() -> [LiveKitJob] { launched(venue).filter { $0.participant.identity == "ann" } }
        run(orders()[0], in: venue)
        venue.send(.leave(.init()), from: ann)
        passAbsence(venue)
        _ = try venue.join("ann")
        run(orders()[1], as: "other tin man", in: venue)
        tell(orders()[0], .jsFailed, in: venue)
        venue.run(for: .seconds(Int64(5)))
        #expect(orders().count == 2)
    }

    @Test func `with the room's end an agent that said goodbye before is said to have left`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = launched(venue)[0]
        run(job, in: venue)
        let agent = try joinAgent(venue)
        venue.send(.leave(.init()), from: agent)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        #expect(ended(venue) == ["\(job.id) agentLeft", "\(job.id) roomEnded"])
    }

    // MARK: Limits

    @Test func `what a dispatch says has limits, and so have dispatches`() throws {
        let venue = Venue(workers: .all) {
            $0.limits.agentDispatches = 3
            $0.limits.metadataBytes = 10
            $0.limits.attributesBytes = 10
            $0.limits.nameBytes = 10
        }
        let refused: [(LiveKitRoomAgentDispatch, RoomServiceError)] = [
            (.with { $0.agentName = "eleven char" }, .nameTooLong(limit: 10)),
            (.with { $0.metadata = "eleven char" }, .metadataTooLong(limit: 10)),
            (.with { $0.attributes = ["seven": "seven6"] }, .attributesTooLong(limit: 10)),
            (.with { $0.deployment = "a b" }, .badDeployment), (.with { $0.deployment = "a_b" }, .badDeployment),
        ]
        for (wish, error) in refused {
            #expect(throws: error) { try venue.room.createDispatch(wish, at: venue.now) }
        }
        for _ in 0..<2 { _ = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now) }
        #expect(throws: RoomServiceError.tooManyDispatches(limit: 3)) {
            try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        }
    }

    @Test func `of jobs that are over the last fifty are remembered, and whoever has had one does not get another`()
        throws
    {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        run(launched(venue)[0], in: venue)
        for number in 0..<60 {
            _ = try venue.join("guest \(number)")
            tell(launched(venue).last ?? .init(), .jsSuccess, in: venue)
        }
        #expect(jobs(in: venue).count(where: { $0.state.status.isEnded }) == 50)
        let before = launched(venue).count
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtParticipant), at: venue.now)
        venue.drain()
        #expect(launched(venue).count == before)
    }
}
