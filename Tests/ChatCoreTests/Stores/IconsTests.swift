import ChatModel
import Testing

@testable import ChatCore

@Suite struct IconsTests {
    private static let topics: Set<String> = ["org.example.app"]

    @Test(arguments: TestDatabase.allCases)
    func `an icon is to be cleared once, when nothing is unread, and again after a number`(
        database: TestDatabase
    ) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia, general) = (company.olga, company.mia, company.general)
        let device = try await world.run {
            let session = try $0.openSession(of: mia, on: "Phone", token: secret("m"))
            return try $0.registerDevice(
                RegisterDeviceRequest(
                    platform: .ios, appID: "org.example.app", environment: .sandbox,
                    alertToken: String(repeating: "ab", count: 32)),
                of: mia, session: session
            ).id
        }
        func stale() async throws -> [DeviceID] {
            try await world.look { try $0.staleIcons(of: mia, topics: Self.topics).map(\.device) }
        }
        func clear() async throws -> [DeviceID] {
            try await world.run { try $0.clearIcons(of: mia, topics: Self.topics).map(\.device) }
        }
        // Whoever had the phone before may have left a number on it.
        #expect(try await stale() == [device])
        #expect(try await world.look { try $0.staleIcons(of: mia, topics: ["org.example.other"]) } == [])
        let message = try await world.say("@mia look", in: general, by: olga)
        #expect(try await stale() == [])
        #expect(try await clear() == [])
        let sequence = message.sequence
        _ = try await world.run { try $0.read(general, upTo: sequence, by: mia) }
        #expect(try await stale() == [device])
        #expect(try await clear() == [device])
        #expect(try await clear() == [])
        #expect(try await world.look { try $0.pushAddresses(of: mia).map(\.iconIsClear) } == [true])

        try await world.run { try $0.iconsGetNumber(of: mia) }
        #expect(try await world.look { try $0.pushAddresses(of: mia).map(\.iconIsClear) } == [false])
        #expect(try await clear() == [device])
        try await world.run { try $0.iconKeepsNumber(of: device) }
        #expect(try await clear() == [device])
    }

    @Test(arguments: TestDatabase.allCases)
    func `whoever has less unread without reading is named`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let company = try await world.company()
        let (olga, mia, adam, general) = (company.olga, company.mia, company.adam, company.general)
        func relieved(_ body: @escaping @Sendable (ChatTransaction) throws -> Void) async throws -> Set<UserID> {
            try await world.run {
                try body($0)
                return $0.changes.relieved
            }
        }
        let direct = try await world.run {
            try $0.openDirect(with: [mia], in: company.workspace, by: olga).listing.channel.id
        }
        let word = try await world.say("between us", in: direct, by: olga)
        #expect(try await relieved { try $0.delete(word.id, by: olga) }.contains(mia))
        let named = try await world.say("@mia look", in: general, by: olga)
        let people = try await relieved { try $0.delete(named.id, by: olga) }
        #expect(people.contains(mia) && !people.contains(adam))
        let meant = try await world.say("@mia and @adam", in: general, by: olga)
        #expect(try await relieved { _ = try $0.edit(meant.id, to: "@adam, look", by: olga) } == [mia])
        #expect(try await relieved { _ = try $0.edit(meant.id, to: "@adam, look!", by: olga) }.isEmpty)
        let plain = try await world.say("look", in: general, by: olga)
        #expect(try await relieved { try $0.delete(plain.id, by: olga) }.isEmpty)
        #expect(try await relieved { try $0.setNotifications(.none, of: general, by: mia) } == [mia])
        #expect(try await relieved { try $0.removeMember(mia, from: company.workspace, by: olga) } == [mia])
    }
}
