import ChatModel
import Testing

@testable import ChatCore

@Suite struct EmailTokensTests {
    private static func isVerified(_ user: UserID, in world: ChatWorld) async throws -> Bool {
        try await world.look { try $0.account(of: user) }.isEmailVerified
    }

    @Test(arguments: TestDatabase.allCases)
    func `a link shows that somebody reads the address, once`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run { try $0.openEmailToken(secret("link"), for: .verify, of: ann) }
        #expect(try await !Self.isVerified(ann, in: world))
        #expect(try await world.run { try $0.useEmailToken(secret("link"), for: .verify) } == ann)
        #expect(try await Self.isVerified(ann, in: world))
        #expect(try await world.look { try $0.credentials(of: ann) }?.isEmailVerified == true)
        #expect(try await world.refusal { try $0.useEmailToken(secret("link"), for: .verify) } == "link_used")
    }

    @Test(arguments: TestDatabase.allCases)
    func `whoever resets a password reads the address as well`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run { try $0.openEmailToken(secret("link"), for: .reset, of: ann) }
        #expect(try await world.run { try $0.useEmailToken(secret("link"), for: .reset) } == ann)
        #expect(try await Self.isVerified(ann, in: world))
    }

    @Test(arguments: TestDatabase.allCases, [ChatTransaction.EmailPurpose.verify, .reset])
    func `a link that was not mailed is good, and shows nothing of the address`(
        database: TestDatabase, purpose: ChatTransaction.EmailPurpose
    ) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run { try $0.openEmailToken(secret("link"), for: purpose, of: ann, isMailed: false) }
        #expect(try await world.run { try $0.useEmailToken(secret("link"), for: purpose) } == ann)
        #expect(try await !Self.isVerified(ann, in: world))
        // What a letter has shown stays so.
        try await world.run {
            try $0.openEmailToken(secret("mailed"), for: purpose, of: ann)
            _ = try $0.useEmailToken(secret("mailed"), for: purpose)
            try $0.openEmailToken(secret("other"), for: purpose, of: ann, isMailed: false)
            _ = try $0.useEmailToken(secret("other"), for: purpose)
        }
        #expect(try await Self.isVerified(ann, in: world))
    }

    @Test(arguments: TestDatabase.allCases)
    func `a link is good for what it was sent for, and stays good for that`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run {
            try $0.openEmailToken(secret("verify"), for: .verify, of: ann)
            try $0.openEmailToken(secret("reset"), for: .reset, of: ann)
        }
        for (token, purpose) in [("verify", ChatTransaction.EmailPurpose.reset), ("reset", .verify), ("x", .reset)] {
            await #expect(throws: ChatError(.gone, code: "link_used", "This link was used, or never there.")) {
                try await world.run { try $0.useEmailToken(secret(token), for: purpose) }
            }
        }
        #expect(try await world.run { try $0.useEmailToken(secret("verify"), for: .verify) } == ann)
        #expect(try await world.run { try $0.useEmailToken(secret("reset"), for: .reset) } == ann)
    }

    @Test(arguments: TestDatabase.allCases)
    func `the next link that confirms an address makes the one before void`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        try await world.run {
            try $0.openEmailToken(secret("reset"), for: .reset, of: ann)
            try $0.openEmailToken(secret("first"), for: .verify, of: ann)
            try $0.openEmailToken(secret("bens"), for: .verify, of: ben)
            try $0.openEmailToken(secret("second"), for: .verify, of: ann)
        }
        #expect(try await world.refusal { try $0.useEmailToken(secret("first"), for: .verify) } == "link_used")
        #expect(try await world.run { try $0.useEmailToken(secret("second"), for: .verify) } == ann)
        #expect(try await world.run { try $0.useEmailToken(secret("bens"), for: .verify) } == ben)
        #expect(try await world.run { try $0.useEmailToken(secret("reset"), for: .reset) } == ann)
    }

    @Test(arguments: TestDatabase.allCases, ["2", "21"])
    func `twenty links to choose a password stay good until one is used, and the oldest makes room`(
        database: TestDatabase, used: String
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        try await world.run { try $0.openEmailToken(secret("bens"), for: .reset, of: ben) }
        for number in 1...21 {
            world.pass(.seconds(1))
            try await world.run { try $0.openEmailToken(secret("\(number)"), for: .reset, of: ann) }
        }
        #expect(try await world.count("email_tokens") == 21)
        #expect(try await world.refusal { try $0.useEmailToken(secret("1"), for: .reset) } == "link_used")
        #expect(try await world.run { try $0.useEmailToken(secret(used), for: .reset) } == ann)
        for number in 1...21 {
            let refusal = try await world.refusal { try $0.useEmailToken(secret("\(number)"), for: .reset) }
            #expect(refusal == "link_used", "\(number)")
        }
        #expect(try await world.run { try $0.useEmailToken(secret("bens"), for: .reset) } == ben)
    }

    @Test(
        arguments: TestDatabase.allCases,
        [(ChatTransaction.EmailPurpose.verify, 3 * 86_400), (.reset, 3_600)] as [(ChatTransaction.EmailPurpose, Int)])
    func `a link that is too old is refused, and shows nothing`(
        database: TestDatabase, row: (purpose: ChatTransaction.EmailPurpose, seconds: Int)
    ) async throws {
        let world = try await ChatWorld(database)
        let (ann, ben) = (try await world.person("ann"), try await world.person("ben"))
        try await world.run {
            try $0.openEmailToken(secret("anns"), for: row.purpose, of: ann)
            try $0.openEmailToken(secret("bens"), for: row.purpose, of: ben)
        }
        world.pass(.seconds(row.seconds) - .milliseconds(1))
        #expect(try await world.run { try $0.useEmailToken(secret("anns"), for: row.purpose) } == ann)
        world.pass(.milliseconds(1))
        await #expect(throws: ChatError(.gone, code: "link_expired", "This link is too old.")) {
            try await world.run { try $0.useEmailToken(secret("bens"), for: row.purpose) }
        }
        #expect(try await !Self.isVerified(ben, in: world))
    }

    @Test(arguments: TestDatabase.allCases)
    func `no link is opened for who has left the server`(database: TestDatabase) async throws {
        let world = try await ChatWorld(database)
        let ann = try await world.person("ann")
        try await world.run {
            try $0.deactivate(ann)
            try $0.openEmailToken(secret("link"), for: .reset, of: ann)
        }
        #expect(try await world.refusal { try $0.useEmailToken(secret("link"), for: .reset) } == "link_used")
    }
}
