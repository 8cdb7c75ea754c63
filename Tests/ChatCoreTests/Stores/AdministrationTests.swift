import ChatModel
import Testing

@testable import ChatCore

/// What whoever runs the machine does.
@Suite struct AdministrationTests {
    @Test(arguments: TestDatabase.allCases)
    func `all accounts are listed in pages, and found by both names`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run { try $0.deactivate(company.zoe) }
        var names: [String] = []
        while true {
            let last = names.last ?? ""
            let page = try await world.look { try $0.accounts(after: last, limit: 2) }
            if page.isEmpty { break }
            names += page.map(\.profile.username)
        }
        #expect(names == ["adam", "gus", "mia", "olga", "zoe"])
        for name in ["zoe", "ZOE", "Zoe@Example.org"] {
            #expect(try await world.look { try $0.user(named: name) } == company.zoe)
        }
        #expect(try await world.refusal { try $0.user(named: "nobody") } == "user_not_found")
    }

    @Test(arguments: TestDatabase.allCases)
    func `who has left comes back into what they were in`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        try await world.run { try $0.deactivate(company.mia) }
        #expect(try await world.look { try $0.credentials(of: company.mia) } == nil)
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.reactivate(company.mia) }
        #expect(try await world.look { try $0.credentials(of: company.mia) } != nil)
        #expect(try await world.missed(by: company.olga, in: company.workspace, after: before) == [.userUpdated])
        try await world.say("back", in: company.general, by: company.mia)
    }

    @Test(arguments: TestDatabase.allCases)
    func `owners are made where there are none left`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let before = try await world.sequence(of: company.workspace)
        try await world.run { chat in
            try chat.makeOwner(company.zoe, of: company.workspace)
            try chat.makeOwner(company.mia, of: company.workspace)
            // Again changes nothing.
            try chat.makeOwner(company.mia, of: company.workspace)
            try chat.makeServerOwner(company.zoe)
        }
        #expect(
            try await world.missed(by: company.olga, in: company.workspace, after: before) == [
                .memberJoined, .memberUpdated,
            ])
        #expect(try await world.look { try $0.role(of: company.zoe, in: company.workspace) } == .owner)
        #expect(try await world.look { try $0.account(of: company.zoe).isServerOwner })
        #expect(try await world.look { try $0.account(of: company.olga).isServerOwner })
        try await world.run { try $0.deactivate(company.adam) }
        await #expect(throws: AdministrationFault.hasLeft) {
            try await world.run { try $0.makeOwner(company.adam, of: company.workspace) }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a private channel that nobody is in is opened again for somebody, and no other one is`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.mia, in: company)
        let said = try await world.say("for later", in: crew, by: company.mia)
        for channel in [crew, company.general] {
            await #expect(throws: AdministrationFault.notAbandoned) {
                try await world.run { try $0.reopenChannel(channel, for: company.adam) }
            }
        }
        try await world.run { try $0.leaveChannel(crew, by: company.mia) }
        #expect(try await world.refusal { try $0.reopenChannel(crew, for: company.zoe) } == "member_not_found")
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.reopenChannel(crew, for: company.adam) }
        #expect(try await world.missed(by: company.adam, in: company.workspace, after: before) == [.channelJoined])
        let listing = try await world.listing(of: crew, for: company.adam)
        #expect(!listing.channel.isArchived && listing.memberCount == 1)
        #expect(try await world.look { try $0.history(of: crew, .newest, for: company.adam) }.items == [said])
        try await world.run { try $0.add(company.mia, to: crew, by: company.adam) }
        // So it is where all who are in it have left the server.
        try await world.run { chat in
            for user in [company.adam, company.mia] { try chat.deactivate(user) }
        }
        await #expect(throws: AdministrationFault.hasLeft) {
            try await world.run { try $0.reopenChannel(crew, for: company.mia) }
        }
        try await world.run { try $0.reopenChannel(crew, for: company.olga) }
        try await world.say("here", in: crew, by: company.olga)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a private channel that was closed behind somebody who had left is opened again when they are back`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let crew = try await world.channel("crew", of: company.adam, with: company.mia, in: company)
        try await world.run { chat in
            try chat.deactivate(company.mia)
            try chat.leaveChannel(crew, by: company.adam)
            try chat.reactivate(company.mia)
        }
        #expect(try await world.listing(of: crew, for: company.mia).channel.isArchived)
        #expect(
            try await world.refusal { _ = try $0.setArchived(false, crew, by: company.mia) } != nil)
        let before = try await world.sequence(of: company.workspace)
        try await world.run { try $0.reopenChannel(crew, for: company.mia) }
        #expect(try await world.missed(by: company.mia, in: company.workspace, after: before) == [.channelUpdated])
        try await world.say("here again", in: crew, by: company.mia)
        // One that is open is theirs to bring others into.
        await #expect(throws: AdministrationFault.notAbandoned) {
            try await world.run { try $0.reopenChannel(crew, for: company.olga) }
        }
        // And who may open an archived one does so.
        try await world.run { chat in
            try chat.add(company.adam, to: crew, by: company.mia)
            _ = try chat.setArchived(true, crew, by: company.adam)
        }
        await #expect(throws: AdministrationFault.notAbandoned) {
            try await world.run { try $0.reopenChannel(crew, for: company.olga) }
        }
        try await world.run { try $0.leaveChannel(crew, by: company.adam) }
        try await world.run { try $0.reopenChannel(crew, for: company.olga) }
        let listing = try await world.listing(of: crew, for: company.olga)
        #expect(!listing.channel.isArchived && listing.memberCount == 2)
    }

    @Test(arguments: TestDatabase.allCases)
    func `workspaces are counted, and found by both names`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let said = try await world.say("one", in: company.general, by: company.mia)
        try await world.say("two", in: company.general, by: company.mia)
        try await world.run { try $0.delete(said.id, by: company.mia) }
        let entries = try await world.look { try $0.allWorkspaces() }
        #expect(entries.map(\.workspace.slug) == ["harbour"])
        #expect(entries.map(\.members) == [4] && entries.map(\.channels) == [1] && entries.map(\.messages) == [1])
        for name in ["harbour", "Harbour", company.workspace.description] {
            #expect(try await world.look { try $0.workspace(named: name).id } == company.workspace)
        }
        #expect(try await world.look { try $0.anyOwner(of: company.workspace) } == company.olga)
        #expect(
            try await world.look { try $0.channel(named: "General", in: company.workspace) } == company.general)
        #expect(try await world.refusal { try $0.workspace(named: "depot") } == "workspace_not_found")
        #expect(
            try await world.refusal { try $0.channel(named: "none", in: company.workspace) } == "channel_not_found")
    }
}
