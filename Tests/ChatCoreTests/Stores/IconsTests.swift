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
}
