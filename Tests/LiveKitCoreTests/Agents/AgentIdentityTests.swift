import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Whose agent it is where several come under one identity, which workers may ask for.
@Suite struct AgentIdentityTests {
    /// A room with a person, and with an agent that has done the first job so far.
    private func begin() throws -> (venue: Venue, job: LiveKitJob, agent: TestClient) {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        _ = try venue.join("ann")
        let job = venue.launched[0]
        venue.run(job)
        return (venue, job, try venue.joinAgent())
    }

    /// One more job, which a worker takes under the same identity.
    private func addJob(in venue: Venue) throws -> LiveKitJob {
        _ = try venue.room.createDispatch(.with { $0.agentName = "clerk" }, at: venue.now)
        venue.drain()
        let job = try #require(venue.launched.first { $0.agentName == "clerk" && $0.type == .jtRoom })
        venue.run(job)
        return job
    }

    @Test
    func `a job that is done once more goes on while its agent is on its way, however long the first one is gone`()
        throws
    {
        let (venue, first, agent) = try begin()
        venue.cut(agent)
        venue.tell(first, .jsFailed)
        venue.run(for: .seconds(Int64(2)))
        let second = try #require(venue.launched.last)
        #expect(second.id != first.id)
        venue.run(second)
        venue.run(for: .seconds(Int64(30)))
        #expect(venue.ended.isEmpty)
        _ = try venue.joinAgent()
        venue.run(for: .seconds(Int64(60)))
        #expect(venue.ended.isEmpty)
    }

    @Test(arguments: [(true, "agentLeft"), (false, "agentCutOff")])
    func `an agent whose identity another job's takes has left, whether it had gone before or makes way`(
        hadGone: Bool, reason: String
    ) throws {
        let (venue, first, agent) = try begin()
        _ = try addJob(in: venue)
        if hadGone { venue.send(.leave(.init()), from: agent) }
        #expect(venue.ended.isEmpty)
        _ = try venue.joinAgent()
        #expect(venue.ended == ["\(first.id) \(reason)"])
        venue.run(for: .seconds(Int64(62)))
        #expect(venue.ended.count == 1)
    }

    @Test func `who has left is gone when a recorder takes their identity`() throws {
        let venue = Venue(workers: .all) { $0.agents = [.with { $0.agentName = "robot" }] }
        let ann = try venue.join("ann")
        let job = try #require(venue.launched.first { $0.type == .jtParticipant })
        venue.tell(job, .jsPending, as: "")
        venue.send(.leave(.init()), from: ann)
        _ = try venue.join("ann", grants: { $0.recorder = true })
        #expect(venue.ended == ["\(job.id) targetLeft"])
    }

    /// A room whose two jobs are given away under one identity before an agent of either comes.
    private func beginTwo(reversed: Bool) throws -> (venue: Venue, first: LiveKitJob, second: LiveKitJob) {
        let venue = Venue(workers: .all) {
            $0.agents = [.with { $0.agentName = "robot" }, .with { $0.agentName = "clerk" }]
        }
        _ = try venue.join("ann")
        let jobs = venue.launched.filter { $0.type == .jtRoom }
        try #require(jobs.count == 2)
        for job in jobs { venue.run(job) }
        return reversed ? (venue, jobs[1], jobs[0]) : (venue, jobs[0], jobs[1])
    }

    @Test(arguments: [false, true])
    func `of two jobs that were asked for together the one is over whose agent makes way for the other's`(
        reversed: Bool
    ) throws {
        let (venue, first, second) = try beginTwo(reversed: reversed)
        _ = try venue.joinAgent(for: first)
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.ended.isEmpty)
        let agent = try venue.joinAgent(for: second)
        #expect(venue.ended == ["\(first.id) agentCutOff"])
        venue.send(.leave(.init()), from: agent)
        venue.passAbsence()
        #expect(venue.ended == ["\(first.id) agentCutOff", "\(second.id) agentLeft"])
    }

    @Test(arguments: [false, true])
    func `an agent that makes its connection anew is not the one of another job that is on its way`(
        reversed: Bool
    ) throws {
        let (venue, first, second) = try beginTwo(reversed: reversed)
        let agent = try venue.joinAgent(for: first)
        venue.send(.leave(.init()), from: agent)
        _ = try venue.joinAgent(for: first)
        #expect(venue.ended.isEmpty)
        venue.run(for: .seconds(Int64(62)))
        #expect(venue.ended == ["\(second.id) agentMissing"])
    }

    @Test func `with a job whose agent is on its way another one's under the same identity does not go`() throws {
        let (venue, _, _) = try begin()
        let second = try addJob(in: venue)
        _ = try venue.room.deleteDispatch(second.dispatchID, at: venue.now)
        venue.run(for: .seconds(Int64(5)))
        #expect(venue.ended.first == "\(second.id) dispatchDeleted")
        #expect(venue.room.participants.contains { $0.identity == "tin man" })
    }
}
