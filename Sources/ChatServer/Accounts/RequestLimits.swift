internal import ChatCore
internal import ChatModel
internal import Synchronization

/// How often somebody may ask: a bucket for each name, of which tokens are taken, and into which they come back
/// steadily.
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
        /// Requests of an address by people who are not.
        case strangers(String)
        /// Passwords for an account, so that nobody tries them all, from whatever addresses.
        case passwords(String)
        /// Letters to an address.
        case letters(String)
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: Timestamp
    }

    private let buckets = Mutex<[Kind: Bucket]>([:])
    private let rates: Rates

    struct Rates: Sendable {
        var requests = Rate(perSecond: 20, burst: 200)
        var strangers = Rate(perSecond: 1, burst: 60)
        var passwords = Rate(perSecond: 1.0 / 30, burst: 10)
        var letters = Rate(perSecond: 1.0 / 600, burst: 5)
    }

    /// Buckets that are kept at most; full ones say nothing and go first.
    private static let most = 100_000

    init(_ rates: Rates = Rates()) { self.rates = rates }

    private func rate(of kind: Kind) -> Rate {
        switch kind {
        case .requests: rates.requests
        case .strangers: rates.strangers
        case .passwords: rates.passwords
        case .letters: rates.letters
        }
    }

    /// - Throws: `ChatError` that tells how long to wait.
    func take(_ kind: Kind, at now: Timestamp) throws(ChatError) {
        let rate = rate(of: kind)
        let wait = buckets.withLock { buckets -> Double? in
            if buckets.count >= Self.most, buckets[kind] == nil { forgetFull(&buckets, at: now) }
            var bucket = buckets[kind] ?? Bucket(tokens: rate.burst, filledAt: now)
            let seconds = Double((now.milliseconds - bucket.filledAt.milliseconds)) / 1_000
            bucket.tokens = min(rate.burst, bucket.tokens + max(0, seconds) * rate.perSecond)
            bucket.filledAt = now
            let isEnough = bucket.tokens >= 1
            if isEnough { bucket.tokens -= 1 }
            buckets[kind] = bucket
            return isEnough ? nil : (1 - bucket.tokens) / rate.perSecond
        }
        guard let wait else { return }
        throw ChatError(
            .tooMany(retryAfter: .milliseconds(Int64(wait * 1_000))), code: "too_many_requests",
            "That was too often. Wait a little.")
    }

    private func forgetFull(_ buckets: inout [Kind: Bucket], at now: Timestamp) {
        buckets = buckets.filter { kind, bucket in
            let rate = rate(of: kind)
            let seconds = Double(now.milliseconds - bucket.filledAt.milliseconds) / 1_000
            return bucket.tokens + seconds * rate.perSecond < rate.burst
        }
        // All of them in use: a server under such an attack forgets rather than grows.
        if buckets.count >= Self.most { buckets.removeAll() }
    }
}
