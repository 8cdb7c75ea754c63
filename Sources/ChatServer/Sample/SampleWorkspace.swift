internal import ChatCore
internal import ChatModel

/// A workspace to look around in, with two people and what they have written: for a server on which nobody has an
/// account yet.
package struct SampleWorkspace: Sendable {
    /// Somebody who can log in.
    package struct Person: Sendable {
        package let username: String
        package let password: String
    }

    package let people: [Person]

    /// Makes it.
    ///
    /// - Returns: nil on a server that has accounts: nothing is added to what is people's own.
    package static func make(in service: ChatService) async throws -> SampleWorkspace? {
        guard try await service.read({ try $0.isServerNew() }) else { return nil }
        let hasher = PasswordHasher()
        var people: [Person] = []
        var hashes: [String] = []
        for username in ["ada", "grace"] {
            let password = String(Secret.random().text.filter { $0.isLetter || $0.isNumber }.prefix(12))
            people.append(Person(username: username, password: password))
            hashes.append(try await hasher.hash(password))
        }
        let (kept, now) = (hashes, service.now())
        let isMade = try await service.database.write { session -> Bool in
            guard try ChatTransaction(session, at: now).isServerNew() else { return false }
            try Script(session: session, now: now).play(adaHash: kept[0], graceHash: kept[1])
            return true
        }
        return isMade ? SampleWorkspace(people: people) : nil
    }
}

/// What is written into it, each thing at its time in the last days.
private struct Script {
    let session: any SQLSession
    let now: Timestamp

    private func at(_ ago: Duration) -> ChatTransaction { ChatTransaction(session, at: now.advanced(by: .zero - ago)) }

    private static func hours(_ hours: Int) -> Duration { .seconds(hours * 3_600) }

    func play(adaHash: String, graceHash: String) throws {
        let begin = at(Self.hours(50))
        let accounts = [
            NewAccount(
                email: "ada@example.org", username: "ada", displayName: "Ada Lovelace", passwordHash: adaHash),
            NewAccount(
                email: "grace@example.org", username: "grace", displayName: "Grace Hopper", passwordHash: graceHash),
        ]
        guard let ada = try begin.register(accounts[0]), let grace = try begin.register(accounts[1]) else { return }
        // Nobody reads their letters.
        for user in [ada, grace] {
            let secret = Secret.random().hash
            try begin.openEmailToken(secret, for: .verify, of: user)
            _ = try begin.useEmailToken(secret, for: .verify)
        }
        let (listing, general) = try begin.createWorkspace(name: "Analytical Engines", slug: nil, by: ada)
        let workspace = listing.workspace.id
        let secret = Secret.random().hash
        _ = try begin.invite(.init(maximumUses: 1), with: secret, to: workspace, by: ada)
        _ = try begin.accept(invitationWith: secret, by: grace)
        let compilers = try begin.createChannel(
            .public, name: "compilers", topic: "From words to wheels", in: workspace, by: grace
        ).channel
        _ = try begin.joinChannel(compilers.id, by: ada)

        let hello = try at(Self.hours(49)).send(
            .init(content: "Welcome! This is **#general**: everybody in the workspace is here."), to: general.id,
            by: ada
        ).message
        _ = try at(Self.hours(48)).react("👋", to: hello.id, by: grace)
        let question = try at(Self.hours(26)).send(
            .init(content: "@ada how does the engine repeat a set of cards?"), to: compilers.id, by: grace
        ).message
        _ = try at(Self.hours(25)).send(
            .init(content: "With a *backing* mechanism: it winds back and does them again.", threadID: question.id),
            to: compilers.id, by: ada)
        _ = try at(Self.hours(24)).send(
            .init(content: "A loop, then. I shall write that down.", threadID: question.id), to: compilers.id,
            by: grace)
        let plan = try at(Self.hours(3)).send(
            .init(
                content: """
                    Plan for today:

                    1. number the cards
                    2. find the moth in the relay
                    3. `make test`
                    """), to: general.id, by: grace
        ).message
        _ = try at(Self.hours(2)).setPinned(true, plan.id, by: grace)
        let direct = try at(Self.hours(2)).openDirect(with: [grace], in: workspace, by: ada).listing.channel
        _ = try at(Self.hours(1)).send(
            .init(content: "Shall we talk it over in a call?"), to: direct.id, by: ada)
    }
}
