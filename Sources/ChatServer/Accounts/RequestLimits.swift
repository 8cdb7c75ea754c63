internal import ChatCore
internal import ChatModel
internal import Synchronization

/// How often somebody may ask: a bucket for each name, of which tokens are taken, and into which they come back
/// steadily. Of several servers that are one the buckets are in Redis; while that is out of reach each counts alone.
final class RequestLimits: Sendable {
    struct Rate: Sendable {
        /// Tokens that come back in a second.
        let perSecond: Double
        let burst: Double
    }

    /// What is counted.
    enum Kind: Hashable, Sendable {
        /// All requests of somebody who is logged in.
        case requests(UserID)
        /// Requests of a network's site by people who are not.
        case strangers(String)
        /// Tokens that a network's site shows, right or wrong: each is looked for in the database.
        case tokens(String)
        /// Passwords that somebody of a network's site tries for an account: of other sites it has others, for whoever
        /// knows a name would else keep its owner from logging in.
        case passwords(String, site: String)
        /// Passwords for an account, so that nobody tries them all, from whatever addresses.
        case passwordsFromAll(String)
        /// Letters to an address.
        case letters(String)
        /// Letters to an address by which somebody chooses a new password, asked for from a network's site.
        case resets(String, site: String)
        /// The same, from wherever.
        case resetsFromAll(String)
        /// Letters that somebody has sent to addresses of their choice: invitations.
        case invitations(UserID)
        /// Everybody of one family for whom there is no room.
        case newcomers(Family)

        /// Its name among servers.
        fileprivate var name: String {
            switch self {
            case .requests(let user): "requests \(user)"
            case .strangers(let site): "strangers \(site)"
            case .tokens(let site): "tokens \(site)"
            // A site has no space in it, and what follows the first is the name.
            case .passwords(let account, let site): "passwords \(site) \(account)"
            case .passwordsFromAll(let account): "passwords-from-all \(account)"
            case .letters(let address): "letters \(address)"
            case .resets(let address, let site): "resets \(site) \(address)"
            case .resetsFromAll(let address): "resets-from-all \(address)"
            case .invitations(let user): "invitations \(user)"
            case .newcomers(let family): "newcomers \(family)"
            }
        }
    }

    enum Family: Hashable, Sendable {
        case requests, strangers, tokens, passwords, passwordsFromAll, letters, resets, resetsFromAll, invitations
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: Timestamp
    }

    private struct State {
        var buckets: [Kind: Bucket] = [:]
        /// When the full ones were forgotten last.
        var cleanedAt = Timestamp(milliseconds: 0)
    }

    private let state = Mutex(State())
    private let rates: Rates
    /// Buckets that are kept at most, but for those that newcomers share; full ones say nothing and go first.
    private let most: Int
    /// Nil on a server that is alone.
    private let shared: SharedLimits?

    struct Rates: Sendable {
        var requests = Rate(perSecond: 20, burst: 200)
        var strangers = Rate(perSecond: 1, burst: 60)
        /// An office that comes back at once is one site.
        var tokens = Rate(perSecond: 20, burst: 2_000)
        var passwords = Rate(perSecond: 1.0 / 30, burst: 10)
        /// Ten sites are needed to take all of them.
        var passwordsFromAll = Rate(perSecond: 1.0 / 3, burst: 100)
        var letters = Rate(perSecond: 1.0 / 600, burst: 5)
        var resets = Rate(perSecond: 1.0 / 600, burst: 5)
        var resetsFromAll = Rate(perSecond: 1.0 / 60, burst: 50)
        var invitations = Rate(perSecond: 1.0 / 60, burst: 20)
    }

    init(_ rates: Rates = Rates(), most: Int = 100_000, shared: SharedLimits? = nil) {
        self.rates = rates
        self.most = most
        self.shared = shared
    }

    private static func family(of kind: Kind) -> Family {
        switch kind {
        case .requests: .requests
        case .strangers: .strangers
        case .tokens: .tokens
        case .passwords: .passwords
        case .passwordsFromAll: .passwordsFromAll
        case .letters: .letters
        case .resets: .resets
        case .resetsFromAll: .resetsFromAll
        case .invitations: .invitations
        case .newcomers(let family): family
        }
    }

    private func rate(of kind: Kind) -> Rate {
        switch Self.family(of: kind) {
        case .requests: rates.requests
        case .strangers: rates.strangers
        case .tokens: rates.tokens
        case .passwords: rates.passwords
        case .passwordsFromAll: rates.passwordsFromAll
        case .letters: rates.letters
        case .resets: rates.resets
        case .resetsFromAll: rates.resetsFromAll
        case .invitations: rates.invitations
        }
    }

    /// - Throws: `ChatError` that tells how long to wait.
    func take(_ kind: Kind, at now: Timestamp) async throws(ChatError) {
        var wait = await shared?.take(kind.name, at: rate(of: kind))
        // For nobody knows how long the others cannot be asked, this one counts then, from a full bucket.
        if wait == nil { wait = takeHere(kind, at: now) }
        if let wait, wait > .zero { throw .tooOften(retryAfter: wait) }
    }

    /// - Returns: how long to wait.
    private func takeHere(_ kind: Kind, at now: Timestamp) -> Duration {
        let rate = rate(of: kind)
        return state.withLock { state in
            let kind = place(of: kind, in: &state, at: now)
            var bucket = state.buckets[kind] ?? Bucket(tokens: rate.burst, filledAt: now)
            let seconds = Double((now.milliseconds - bucket.filledAt.milliseconds)) / 1_000
            bucket.tokens = min(rate.burst, bucket.tokens + max(0, seconds) * rate.perSecond)
            bucket.filledAt = now
            let isEnough = bucket.tokens >= 1
            if isEnough { bucket.tokens -= 1 }
            state.buckets[kind] = bucket
            // Rounded up, so that whoever waits so long has it.
            return isEnough ? .zero : .milliseconds(Int64(((1 - bucket.tokens) / rate.perSecond * 1_000).rounded(.up)))
        }
    }

    /// The bucket that counts for somebody. While all are in use, those who come share one of their family: a server
    /// under such an attack neither grows nor forgets who it has counted.
    private func place(of kind: Kind, in state: inout State, at now: Timestamp) -> Kind {
        guard state.buckets.count >= most, state.buckets[kind] == nil else { return kind }
        if now - state.cleanedAt >= .seconds(1) {
            state.cleanedAt = now
            state.buckets = state.buckets.filter { !isFull($1, of: $0, at: now) }
        }
        return state.buckets.count < most ? kind : .newcomers(Self.family(of: kind))
    }

    private func isFull(_ bucket: Bucket, of kind: Kind, at now: Timestamp) -> Bool {
        let rate = rate(of: kind)
        let seconds = Double(now.milliseconds - bucket.filledAt.milliseconds) / 1_000
        return bucket.tokens + seconds * rate.perSecond >= rate.burst
    }
}

extension ChatError {
    static func tooOften(retryAfter wait: Duration) -> ChatError {
        ChatError(.tooMany(retryAfter: wait), code: "too_many_requests", "That was too often. Wait a little.")
    }
}
