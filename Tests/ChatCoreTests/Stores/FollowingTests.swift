import ChatModel
import Testing

@testable import ChatCore

/// Who may see what, for those who pass events on.
@Suite struct FollowingTests {
    @Test(arguments: TestDatabase.allCases)
    func `somebody's place is their role, their channels, and whether they hide`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        _ = try await world.run { try $0.createWorkspace(name: "Other", slug: nil, by: company.mia) }
        let mia = ChatTransaction.Presence(role: .member, channels: [company.general, crew], isHidden: false)
        #expect(try await world.look { try $0.presence(of: company.mia, in: company.workspace) } == mia)
        _ = try await world.run { try $0.changeProfile(of: company.gus, .init(status: .offline)) }
        let gus = ChatTransaction.Presence(role: .guest, channels: [], isHidden: true)
        #expect(try await world.look { try $0.presence(of: company.gus, in: company.workspace) } == gus)
        #expect(try await world.look { try $0.presence(of: company.zoe, in: company.workspace) } == nil)
    }

    @Test(arguments: TestDatabase.allCases)
    func `guests are known by whom they share a channel with, in this workspace`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        _ = try await world.channel("crew", of: company.mia, with: company.gus, in: company)
        for (user, guests) in [(company.mia, [company.gus]), (company.adam, []), (company.zoe, [])] {
            #expect(try await world.look { try $0.guests(of: company.workspace, sharingWith: user) } == Set(guests))
        }
        #expect(
            try await world.look { try $0.members(of: company.general) } == [company.olga, company.adam, company.mia])
    }

    @Test(arguments: TestDatabase.allCases)
    func `who may look at a channel follows it, in it or not`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let open = try await world.channel("open", .public, of: company.mia, in: company)
        let crew = try await world.channel("crew", of: company.mia, in: company)
        for (channel, user) in [(open, company.olga), (crew, company.mia)] {
            #expect(try await world.look { try $0.mayRead(channel, by: user) } == company.workspace)
        }
        for (channel, user) in [(crew, company.olga), (open, company.gus), (open, company.zoe)] {
            await #expect(throws: ChatError.notFound("channel")) {
                try await world.look { try $0.mayRead(channel, by: user) }
            }
        }
    }
}
