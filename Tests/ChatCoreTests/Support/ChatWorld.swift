import ChatModel
import ChatStorePostgres
import ChatStoreSQLite
import Synchronization

@testable import ChatCore

/// The databases that keep a server's chat: each test of `Stores` runs on all of them.
enum TestDatabase: String, CaseIterable, Sendable {
    case sqlite, postgres

    /// An empty one, gone with the test.
    func open(at now: Timestamp) async throws -> any ChatDatabase {
        switch self {
        case .sqlite: try SQLiteChatDatabase(inMemoryAt: now)
        case .postgres:
            try await PostgresChatDatabase(try await PostgresServer.shared.emptyDatabase(), connections: 2, at: now)
        }
    }
}

/// A server's chat with a clock that only the test moves.
final class ChatWorld: Sendable {
    private let database: any ChatDatabase
    private let limits: Limits
    private let lifetimes: Lifetimes
    private let clock: Mutex<Timestamp>

    /// A Monday's noon.
    static let start = Timestamp(milliseconds: 1_795_435_200_000)

    init(_ database: TestDatabase, limits: Limits = Limits(), lifetimes: Lifetimes = Lifetimes()) async throws {
        self.database = try await database.open(at: Self.start)
        self.limits = limits
        self.lifetimes = lifetimes
        clock = Mutex(Self.start)
    }

    var now: Timestamp { clock.withLock { $0 } }

    func pass(_ duration: Duration) { clock.withLock { $0 = $0.advanced(by: duration) } }

    /// Changes the chat, all or nothing.
    @discardableResult
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> Value {
        let (now, limits, lifetimes) = (now, limits, lifetimes)
        return try await database.write { session in
            try body(ChatTransaction(session, at: now, limits: limits, lifetimes: lifetimes))
        }
    }

    /// Looks at it.
    func look<Value: Sendable>(
        _ body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> Value {
        let (now, limits, lifetimes) = (now, limits, lifetimes)
        return try await database.read { session in
            try body(ChatTransaction(session, at: now, limits: limits, lifetimes: lifetimes))
        }
    }

    /// The code that something is refused with; nil when it was done.
    func refusal<Value: Sendable>(
        of body: @escaping @Sendable (ChatTransaction) throws -> Value
    ) async throws -> String? {
        do {
            try await run(body)
            return nil
        } catch let error as ChatError {
            return error.code
        }
    }

    /// How many rows a table has.
    func count(_ table: String) async throws -> Int {
        try await look { chat in
            guard var row = try chat.session.row("SELECT COUNT(*) FROM \(table)") else { return 0 }
            return try row.int()
        }
    }

    // MARK: People

    /// Makes an account, one second after what was before, so that identifiers sort as accounts were made.
    func person(_ name: String) async throws -> UserID {
        pass(.seconds(1))
        let id = try await run {
            try $0.register(
                NewAccount(
                    email: "\(name)@example.org", username: name,
                    displayName: name.prefix(1).uppercased() + name.dropFirst(), passwordHash: "hash of \(name)"))
        }
        guard let id else { throw ChatError.notFound(name) }
        return id
    }

    func profile(of user: UserID) async throws -> Profile { try await look { try $0.profile(of: user) } }

    /// A workspace of Olga's with an admin, a member, a guest, and somebody outside. All but the guest are in
    /// `general`.
    func company() async throws -> Company {
        let (olga, adam) = (try await person("olga"), try await person("adam"))
        let (mia, gus, zoe) = (try await person("mia"), try await person("gus"), try await person("zoe"))
        pass(.seconds(1))
        let (listing, general) = try await run { try $0.createWorkspace(name: "Harbour", slug: "harbour", by: olga) }
        let workspace = listing.workspace.id
        for (user, role) in [(adam, Role.admin), (mia, .member), (gus, .guest)] {
            try await run {
                try $0.insertMember(user, as: role, into: workspace)
                if role != .guest { try $0.put(user, into: general.id, in: workspace) }
            }
        }
        pass(.seconds(1))
        return Company(
            workspace: workspace, general: general.id, olga: olga, adam: adam, mia: mia, gus: gus, zoe: zoe)
    }

    /// Another member of a company, in `general`.
    func member(_ name: String, of company: Company) async throws -> UserID {
        let user = try await person(name)
        try await run {
            try $0.insertMember(user, as: .member, into: company.workspace)
            try $0.put(user, into: company.general, in: company.workspace)
        }
        return user
    }

    // MARK: Channels and messages

    /// A channel of somebody's, with others brought in.
    func channel(
        _ name: String, _ kind: ChannelKind = .private, of user: UserID, with others: UserID..., in company: Company
    ) async throws -> ChannelID {
        try await run {
            let channel = try $0.createChannel(kind, name: name, in: company.workspace, by: user).channel.id
            for other in others { try $0.add(other, to: channel, by: user) }
            return channel
        }
    }

    /// Says something, one second after what was before.
    @discardableResult
    func say(
        _ content: String, in channel: ChannelID, by user: UserID, thread: MessageID? = nil
    ) async throws -> Message {
        pass(.seconds(1))
        return try await run {
            try $0.send(ChatTransaction.NewMessage(content: content, threadID: thread), to: channel, by: user).message
        }
    }

    /// How a channel stands in somebody's list.
    func listing(of channel: ChannelID, for user: UserID) async throws -> ChannelListing {
        try await look { try $0.channel(channel, for: user) }
    }

    // MARK: Events

    func sequence(of workspace: WorkspaceID) async throws -> Int64 {
        try await look { try $0.sequence(of: workspace) }
    }

    /// The kinds of the events that somebody has missed; nil when everything is to be read anew.
    func missed(
        by user: UserID, in workspace: WorkspaceID, after sequence: Int64
    ) async throws -> [ChatChange.Kind]? {
        switch try await look({ try $0.missedEvents(of: workspace, after: sequence, by: user) }) {
        case .events(let events, _): events.map(\.kind)
        case .reload: nil
        }
    }
}

/// Who and what there is in `ChatWorld.company()`.
struct Company: Sendable {
    let workspace: WorkspaceID
    let general: ChannelID
    /// Owns the workspace.
    let olga: UserID
    /// An admin.
    let adam: UserID
    /// A member.
    let mia: UserID
    /// A guest, in no channel.
    let gus: UserID
    /// Has an account, and is not in the workspace.
    let zoe: UserID
}

/// A secret that has this name.
func secret(_ name: String) -> SecretHash {
    let bytes = Array(name.utf8.prefix(32))
    return SecretHash(bytes + [UInt8](repeating: 0, count: 32 - bytes.count))
}
