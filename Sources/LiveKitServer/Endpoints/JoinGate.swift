package import RTCEngine
package import RTCNetwork
internal import Synchronization

/// How often people may come. Each arrival takes the thread that passes media on some time: to look at an offer, and to
/// make a connection.
package struct JoinRates: Sendable {
    /// One identity in one room. Who comes back again and again for a bad path stays below.
    package var identity = Pace(perSecond: 1, burst: 20)
    /// Everybody together.
    package var server = Pace(perSecond: 200, burst: 2_000)
}

/// Who may come now, of those who have a token. From any thread.
final class JoinGate: Sendable {
    private struct Place: Hashable {
        let room: String
        let identity: String
    }

    private struct State {
        var identities: Paces<Place>
        var spent: Instant?
    }

    private let server: Pace
    private let state: Mutex<State>

    /// That are remembered.
    private static let identityLimit = 10_000

    init(_ rates: JoinRates) {
        server = rates.server
        state = Mutex(State(identities: Paces(rates.identity, limit: Self.identityLimit)))
    }

    func admit(_ identity: String, to room: String, at now: Instant = NetworkLoop.now) throws(HTTPRefusal) {
        let refusal = state.withLock { state -> HTTPRefusal? in
            if let wait = state.identities.take(Place(room: room, identity: identity), at: now) {
                return HTTPRefusal(
                    429, "This participant comes too often. Try again later.", retryAfter: wait.wholeSeconds)
            }
            if let wait = server.take(&state.spent, at: now) {
                return HTTPRefusal(
                    503, "Too many come at the same time. Try again later.", retryAfter: wait.wholeSeconds)
            }
            return nil
        }
        if let refusal { throw refusal }
    }
}

extension Interval {
    /// Rounded up, and one at least: for `Retry-After`.
    package var wholeSeconds: Int { Int(clamping: max((nanoseconds + 999_999_999) / 1_000_000_000, 1)) }
}
