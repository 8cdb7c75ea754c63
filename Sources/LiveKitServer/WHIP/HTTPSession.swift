internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import Synchronization

/// A session of WHIP or WHEP: a participant whose signaling is HTTP. Between the threads of requests and that of the
/// room's worker; its lock guards what both see.
final class HTTPSession: SignalLink {
    enum Kind: String, CaseIterable {
        case whip, whep
    }

    let kind: Kind
    /// The last part of its URL, which nobody can guess: 256 random bits.
    let id: String
    let token: AccessToken
    let worker: MediaWorker
    let began = Date()
    private let sessions: HTTPSessions
    private let state = Mutex(State())

    private struct State {
        var address: SignalAddress?
        var tag = EntityTag.random()
    }

    init(_ kind: Kind, token: AccessToken, worker: MediaWorker, in sessions: HTTPSessions) {
        self.kind = kind
        self.token = token
        self.worker = worker
        self.sessions = sessions
        id = [UInt8].random(32).hexadecimal
    }

    /// Below the endpoint that was asked: what a proxy passes on may be no more than that.
    func path(_ form: ExchangeRoute.Form) -> String { "/\(kind.rawValue)/\(form.folder)/\(id)" }

    /// Where it is; nil before its room has it.
    var address: SignalAddress? { state.withLock { $0.address } }

    /// Of the present generation of ICE (RFC 9725 §4.3.1).
    var tag: EntityTag { state.withLock { $0.tag } }

    /// New paths have been agreed on.
    func renewTag() -> EntityTag {
        state.withLock { state in
            state.tag = EntityTag.random()
            return state.tag
        }
    }

    // MARK: From the worker

    var tokenExpires: Date { token.expires }

    func attached(as address: SignalAddress) {
        state.withLock { $0.address = address }
        sessions.opened(self)
    }

    /// Nothing is said to it: its answer is in the response to its offer.
    func send(_: LiveKitSignalResponse) {}

    func close() { sessions.ended(self) }

    func messageTaken() {}
}

/// Every session of WHIP and WHEP, by its id. From any thread.
final class HTTPSessions: Sendable {
    private struct State {
        var open: [String: HTTPSession] = [:]
        var counts: [HTTPSession.Kind: Int] = [:]
        var opened: [HTTPSession.Kind: Int] = [:]
        /// Places of those whose offers are being looked at.
        var reserved = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Keeps a place before a room is asked; false when there is none. Each that is kept is to be released when the
    /// session is open or refused.
    func reserve() -> Bool {
        state.withLock { state in
            guard state.open.count + state.reserved < limit else { return false }
            state.reserved += 1
            return true
        }
    }

    func release() { state.withLock { $0.reserved -= 1 } }

    subscript(kind: HTTPSession.Kind, id: String) -> HTTPSession? {
        state.withLock { $0.open[id] }.flatMap { $0.kind == kind ? $0 : nil }
    }

    func opened(_ session: HTTPSession) {
        state.withLock { state in
            guard state.open.updateValue(session, forKey: session.id) == nil else { return }
            state.counts[session.kind, default: 0] += 1
            state.opened[session.kind, default: 0] += 1
        }
    }

    func ended(_ session: HTTPSession) {
        state.withLock { state in
            guard state.open.removeValue(forKey: session.id) != nil else { return }
            state.counts[session.kind, default: 0] -= 1
        }
    }

    var statistics: HTTPSessionStatistics {
        state.withLock { state in
            HTTPSessionStatistics(
                open: HTTPSession.Kind.allCases.map { ($0.rawValue, state.counts[$0] ?? 0) },
                opened: HTTPSession.Kind.allCases.map { ($0.rawValue, state.opened[$0] ?? 0) })
        }
    }
}

/// Sessions of WHIP and WHEP, by kind.
package struct HTTPSessionStatistics: Sendable {
    package var open: [(kind: String, count: Int)]
    /// Since the server began.
    package var opened: [(kind: String, count: Int)]
}
