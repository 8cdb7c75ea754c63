import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What a room does about a job that has failed, or whose agent is missed.
@Suite struct AgentRestartTests {
    @Test func `a job that fails is done once more, later each time, five times`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let before = venue.launched.count
        for number in 0..<5 {
            venue.tell(venue.launched.last { $0.type == .jtRoom } ?? .init(), .jsFailed)
            venue.run(for: .milliseconds(Int64(1_000 << number) - 600))
            #expect(venue.launched.count == before + number)
            venue.run(for: .milliseconds(1_200))
            #expect(venue.launched.count == before + number + 1)
        }
        venue.tell(venue.launched[before + 4], .jsFailed)
        venue.run(for: .seconds(Int64(120)))
        #expect(venue.launched.count == before + 5)
        #expect(
            venue.agentOrders.allSatisfy {
                if case .launch(let job, let isResumed) = $0 {
                    isResumed == (venue.launched.firstIndex(of: job)! >= before)
                } else {
                    true
                }
            })
        #expect(venue.jobs().map(\.state.status) == Array(repeating: .jsFailed, count: 6))
    }

    @Test func `what had gone on for a minute counts anew`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let before = venue.launched.count
        for number in 0..<8 {
            venue.tell(venue.launched.last { $0.type == .jtRoom } ?? .init(), .jsFailed, after: 61)
            venue.run(for: .seconds(Int64(2)))
            #expect(venue.launched.count == before + number + 1)
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
        let orders = venue.launched
        func order(_ name: String, _ type: LiveKitJobType) throws -> LiveKitJob {
            try #require(orders.first { $0.agentName == name && $0.type == type })
        }
        venue.tell(try order("robot", .jtRoom), .jsFailed)
        let untaken = LiveKitJobState.with {
            $0.status = .jsFailed
            $0.reason = .jsrNoCapacity
        }
        venue.room.agentJobChanged(try order("clerk", .jtRoom).id, .state(untaken), at: venue.now)
        _ = try venue.join("bob")
        venue.send(.leave(.init()), from: ann)
        venue.passAbsence()
        let before = venue.launched.count
        venue.tell(try order("clerk", .jtParticipant), .jsFailed)
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.launched.count == before)
    }

    @Test func `an agent whose worker is lost is missed when it is not there`() throws {
        let venue = Venue(workers: .all) {
            $0.agents = [.with { $0.agentName = "robot" }, .with { $0.agentName = "clerk" }]
        }
        let orders = venue.launched
        venue.run(orders[0], as: "tin man")
        venue.run(orders[1], as: "nobody yet")
        _ = try venue.joinAgent()
        for job in orders { venue.room.agentJobChanged(job.id, .workerLost, at: venue.now) }
        venue.drain()
        #expect(venue.ended == ["\(orders[1].id) agentMissing"])
    }

    @Test func `an agent that does not come is missed after a minute, one that has come is not`() throws {
        let venue = Venue(workers: .all) {
            $0.agents = [.with { $0.agentName = "robot" }, .with { $0.agentName = "clerk" }]
        }
        _ = try venue.join("ann")
        let orders = venue.launched.filter { $0.type == .jtRoom }
        venue.run(orders[0], as: "tin man")
        venue.run(orders[1], as: "nobody")
        _ = try venue.joinAgent()
        venue.run(for: .seconds(Int64(59)))
        #expect(venue.ended.isEmpty)
        venue.run(for: .seconds(Int64(62)))
        #expect(venue.ended == ["\(orders[1].id) agentMissing"])
    }

    @Test func `a job that nobody could do is done when another worker comes`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let untaken = LiveKitJobState.with {
            $0.status = .jsFailed
            $0.reason = .jsrNoCapacity
        }
        venue.room.agentJobChanged(venue.launched[0].id, .state(untaken), at: venue.now)
        #expect(venue.launched.count == 1)
        venue.room.agentsCame(AgentKind(name: "robot", type: .jtRoom))
        venue.drain()
        #expect(venue.launched.count == 2)
    }

    @Test func `whoever makes the connection anew when their agent is to come again gets it`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let ann = try venue.join("ann")
        func orders() -> [LiveKitJob] { venue.launched.filter { $0.type == .jtParticipant } }
        venue.send(.leave(.init()), from: ann)
        venue.tell(orders()[0], .jsFailed)
        venue.run(for: .seconds(Int64(3)))
        #expect(orders().count == 1)
        _ = try venue.join("ann")
        #expect(orders().count == 2)
    }

    @Test func `an agent of somebody's last visit that fails does not come again beside the new one`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("bob")
        let ann = try venue.join("ann")
        func orders() -> [LiveKitJob] { venue.launched.filter { $0.participant.identity == "ann" } }
        venue.run(orders()[0])
        venue.send(.leave(.init()), from: ann)
        venue.passAbsence()
        _ = try venue.join("ann")
        venue.run(orders()[1], as: "other tin man")
        venue.tell(orders()[0], .jsFailed)
        venue.run(for: .seconds(Int64(5)))
        #expect(orders().count == 2)
    }

    @Test func `with the room's end an agent that said goodbye before is said to have left`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let job = venue.launched[0]
        venue.run(job)
        let agent = try venue.joinAgent()
        venue.send(.leave(.init()), from: agent)
        venue.room.end(.roomEndApiDelete, at: venue.now)
        venue.drain()
        #expect(venue.ended == ["\(job.id) agentLeft", "\(job.id) roomEnded"])
    }
}
