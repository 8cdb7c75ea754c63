import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Which agents a room asks for, and what it makes of what becomes of them.
@Suite struct AgentRoomTests {
    @Test func `a room that names no agents asks for those that come by themselves`() throws {
        let venue = Venue(workers: .all)
        #expect(venue.launched.map { "\($0.type) \($0.agentName)." } == ["jtRoom ."])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("voice", .audio)
        #expect(venue.run { venue.launched.count == 3 })
        let orders = venue.launched
        #expect(orders.map(\.type) == [.jtRoom, .jtParticipant, .jtPublisher])
        #expect(orders.map(\.participant.identity) == ["", "ann", "ann"])
        #expect(orders.allSatisfy { $0.room.name == "lounge" && $0.room.sid == venue.room.sid })
        #expect(orders[2].participant.isPublisher)
        #expect(Set(orders.map(\.dispatchID)).count == 1 && Set(orders.map(\.id)).count == 3)
        // Nobody has taken any of them.
        #expect(venue.jobs().isEmpty)
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
        let orders = venue.launched
        #expect(orders.map(\.agentName) == ["robot", "clerk"])
        #expect(orders[0].metadata == "be kind" && orders[0].deployment == "next" && orders[0].attributes == ["a": "b"])
        _ = try venue.joinAgent()
        #expect(venue.launched.count == 2)
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
        #expect(venue.run { venue.launched.count == 3 })
        _ = try venue.joinAgent("other agent")
        let dispatch = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        venue.drain()
        let orders = venue.launched.filter { $0.dispatchID == dispatch.id }
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
        #expect(venue.launched.isEmpty)
        func come(_ kind: AgentKind) {
            workers.kinds?.insert(kind)
            venue.room.agentsCame(kind)
            venue.drain()
        }
        come(AgentKind(name: "", type: .jtRoom))
        come(AgentKind(name: "clerk", type: .jtRoom))
        come(AgentKind(name: "robot", type: .jtRoom, deployment: "next"))
        #expect(venue.launched.isEmpty)
        come(AgentKind(name: "robot", type: .jtParticipant))
        come(AgentKind(name: "robot", type: .jtRoom))
        // It has asked for that already.
        come(AgentKind(name: "robot", type: .jtRoom))
        #expect(venue.launched.map(\.type) == [.jtParticipant, .jtRoom])
        // Between its being asked for and the pool the last one has gone.
        venue.room.agentJobChanged(venue.launched[1].id, .noWorker(isResumed: false), at: venue.now)
        come(AgentKind(name: "robot", type: .jtRoom))
        #expect(venue.launched.map(\.type) == [.jtParticipant, .jtRoom, .jtRoom])
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
        venue.tell(venue.launched[0], .jsFailed)
        venue.run(for: .seconds(Int64(30)))
        #expect(venue.launched.count == 1)
        workers.kinds = [kind]
        venue.room.agentsCame(kind)
        venue.room.agentsCame(kind)
        venue.drain()
        #expect(venue.launched.count == 2)
    }

    @Test func `an agent that leaves is told of, one that makes its connection anew is not`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let job = venue.launched[0]
        venue.run(job)
        _ = try venue.joinAgent()
        let again = try venue.joinAgent()
        // LiveKit's SDKs leave first.
        venue.send(.leave(.init()), from: again)
        venue.run(for: .seconds(Int64(5)))
        let back = try venue.joinAgent()
        venue.passAbsence()
        #expect(venue.ended.isEmpty)
        venue.send(.leave(.init()), from: back)
        venue.passAbsence()
        #expect(venue.ended == ["\(job.id) agentLeft"])
        venue.tell(job, .jsSuccess)
        #expect(venue.jobs().map(\.state.status).contains(.jsSuccess))
    }

    @Test func `an agent that is cut off, or taken out, is told of as such`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let job = venue.launched[0]
        venue.run(job)
        let agent = try venue.joinAgent()
        venue.cut(agent)
        venue.passAbsence()
        #expect(venue.ended == ["\(job.id) agentCutOff"])
        venue.tell(job, .jsFailed)
        venue.run(for: .seconds(Int64(2)))
        let again = try #require(venue.launched.last)
        venue.run(again)
        _ = try venue.joinAgent()
        try venue.room.removeParticipant("tin man", at: venue.now)
        venue.drain()
        #expect(venue.ended.last == "\(again.id) agentRemoved")
    }

    @Test func `whoever has an agent's identity and is none is not taken for it`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        venue.run(venue.launched[0])
        let ann = try venue.join("tin man")
        venue.send(.leave(.init()), from: ann)
        venue.passAbsence()
        #expect(!venue.ended.contains("\(venue.launched[0].id) agentLeft"))
    }

    @Test(arguments: [(true, "agentLeft"), (false, "agentCutOff")])
    func `an agent whose identity somebody else takes has left, whether it had gone before or makes way`(
        hadGone: Bool, reason: String
    ) throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = venue.launched[0]
        venue.run(job)
        let agent = try venue.joinAgent()
        if hadGone { venue.send(.leave(.init()), from: agent) }
        _ = try venue.join("tin man")
        #expect(venue.ended == ["\(job.id) \(reason)"])
        venue.passAbsence()
        #expect(venue.ended.count == 1)
    }

    @Test func `who has left is gone when an agent takes their identity`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let tin = try venue.join("tin man")
        let job = try #require(venue.launched.first { $0.type == .jtParticipant })
        venue.tell(job, .jsPending, as: "")
        venue.send(.leave(.init()), from: tin)
        _ = try venue.joinAgent()
        #expect(venue.ended == ["\(job.id) targetLeft"])
    }

    @Test func `a job that still waits for a worker ends with whoever it was for, and comes anew when they do`() throws
    {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let ann = try venue.join("ann")
        let jobs = venue.launched.filter { $0.type == .jtParticipant }
        venue.tell(jobs[0], .jsPending, as: "")
        venue.send(.leave(.init()), from: ann)
        venue.passAbsence()
        #expect(venue.ended == ["\(jobs[0].id) targetLeft"])
        venue.tell(jobs[0], .jsCancelled, as: "")
        let again = try venue.join("ann")
        #expect(venue.launched.count { $0.type == .jtParticipant } == 2)
        // Who makes the connection anew keeps the agent, with or without leaving first.
        venue.send(.leave(.init()), from: again)
        _ = try venue.join("ann")
        _ = try venue.join("ann")
        venue.passAbsence()
        #expect(venue.launched.count { $0.type == .jtParticipant } == 2)
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
        #expect(venue.launched.filter { $0.type == .jtPublisher }.map(\.agentName) == [""])
        workers.kinds?.insert(AgentKind(name: "robot", type: .jtPublisher))
        try ann.publish("voice", .audio)
        #expect(venue.run { venue.room.participants.first?.tracks.count == 2 })
        #expect(venue.launched.filter { $0.type == .jtPublisher }.map(\.agentName) == ["", "robot"])
    }

    @Test func `a dispatch that is deleted ends its jobs, and its agents have three seconds to leave`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = venue.launched[0]
        venue.run(job)
        let agent = try venue.joinAgent()
        _ = try venue.join("ann")
        let id = venue.room.dispatches(id: "")[0].id
        let deleted = try venue.room.deleteDispatch(id, at: venue.now)
        venue.drain()
        #expect(deleted.id == id && deleted.state.deletedAt > 0)
        #expect(venue.ended.first == "\(job.id) dispatchDeleted")
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
        venue.run(venue.launched[0])
        _ = try venue.joinAgent()
        _ = try venue.room.deleteDispatch(venue.room.dispatches(id: "")[0].id, at: venue.now)
        _ = try venue.room.createDispatch(.with { $0.agentName = "robot" }, at: venue.now)
        _ = try venue.joinAgent()
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.room.participants.map(\.identity) == ["tin man"])
    }

    @Test func `a room that ends ends its jobs`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = venue.launched[0]
        venue.run(job)
        _ = try venue.joinAgent()
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        #expect(venue.ended == ["\(job.id) roomEnded"])
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtRoom))
        #expect(venue.launched.count == 1)
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
        venue.run(venue.launched[0])
        for number in 0..<60 {
            _ = try venue.join("guest \(number)")
            venue.tell(venue.launched.last ?? .init(), .jsSuccess)
        }
        #expect(venue.jobs().count(where: { $0.state.status.isEnded }) == 50)
        let before = venue.launched.count
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtParticipant))
        venue.drain()
        #expect(venue.launched.count == before)
    }
}
