package import RTCEngine
package import RTCNetwork
internal import Synchronization

/// How often people may come. Each arrival takes the thread that passes media on some time: to look at an offer, and to
/// make a connection.
package struct JoinRates: Sendable {
    /// One identity in one room. Who comes back again and again for a bad path stays below.
    package var identity = Pace(perSecond: 1, burst: 20)
    /// The same for coming back to a session, which is told of everybody anew. Who has joined too often may do so.
    package var resume = Pace(perSecond: 1, burst: 20)
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
        var resumes: Paces<Place>
        var spent: Instant?
    }

    private let server: Pace
    private let state: Mutex<State>

    /// That are remembered, of those who join and of those who come back.
    private static let identityLimit = 10_000

    init(_ rates: JoinRates) {
        server = rates.server
        state = Mutex(
            State(
                identities: Paces(rates.identity, limit: Self.identityLimit),
                resumes: Paces(rates.resume, limit: Self.identityLimit)))
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

    /// Somebody comes back to a session.
    func readmit(_ identity: String, to room: String, at now: Instant = NetworkLoop.now) throws(HTTPRefusal) {
        let wait = state.withLock { $0.resumes.take(Place(room: room, identity: identity), at: now) }
        guard let wait else { return }
        // A client that is told 4xx gives up for good.
        throw HTTPRefusal(
            503, "This participant comes back too often. Try again later.", retryAfter: wait.wholeSeconds)
    }
}

extension Interval {
    /// Rounded up, and one at least: for `Retry-After`.
    package var wholeSeconds: Int { Int(clamping: max((nanoseconds + 999_999_999) / 1_000_000_000, 1)) }
}
