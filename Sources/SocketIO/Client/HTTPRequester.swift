import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Asks one server, over connections that are kept for a while. From any thread.
package final class HTTPRequester: Sendable {
    /// Why there is no answer.
    package enum Failure: Error, Sendable, Hashable {
        /// It cannot be reached, or went away without an answer; a part of a sentence.
        case unreachable(String)
        /// It has not answered in time. What was asked for may be done all the same.
        case late
        /// Its answer is longer than is taken. What was asked for may be done all the same.
        case tooLarge
        /// As many requests as may be are under way.
        case busy
    }

    package struct Limits: Sendable {
        /// For the answer, from when the request is asked for.
        package var timeout: Duration = .seconds(60)
        /// Of an answer's body, in bytes.
        package var responseBytes = 32 << 20
        /// Requests under way.
        package var requests = 512
        /// Connections that are kept while nobody asks, and how long: less than servers do.
        package var idleConnections = 16
        package var idleTime: Duration = .seconds(15)

        package init() {}
    }

    private struct Idle {
        let connection: HTTPClientConnection
        let since: ContinuousClock.Instant
    }

    private struct State {
        /// The one used last is the last.
        var idle: [Idle] = []
        var underWay = 0
        var isClosed = false
    }

    private let server: RemoteServer
    private let limits: Limits
    private let state = Mutex(State())

    package init(_ server: RemoteServer, limits: Limits = Limits()) {
        self.server = server
        self.limits = limits
    }

    /// - Parameters:
    ///   - target: as `RemoteServer.target` makes it.
    ///   - body: nil for none, and no `Content-Length`.
    package func ask(
        _ method: String, _ target: String, headers: [(name: String, value: String)], body: [UInt8]? = nil,
        timeout: Duration? = nil
    ) async throws(Failure) -> SocketIOHTTPResponse {
        let connection = try take()
        let loop = connection.loop
        let answer = loop.flatSubmit {
            connection.perform(HTTPMethod(rawValue: method), target, body: body, headers: headers)
        }
        // Taken by what comes first: the end of the time, or a failure before it.
        let end = OnceFlag()
        let patience = loop.scheduleTask(in: TimeAmount(timeout ?? limits.timeout)) {
            _ = end.take()
            _ = connection.close()
        }
        defer { patience.cancel() }
        let response: HTTPClientConnection.Response
        do {
            response = try await withTaskCancellationHandler {
                try await answer.get()
            } onCancel: {
                loop.execute { _ = connection.close() }
            }
        } catch {
            give(back: nil)
            loop.execute { _ = connection.close() }
            guard end.take() else { throw .late }
            if error is HTTPClientHandler.ResponseTooLarge { throw .tooLarge }
            throw .unreachable(server.endpoint.closeReason(error).words)
        }
        give(back: connection)
        return SocketIOHTTPResponse(
            status: response.status, headers: response.headers, body: .bytes(response.body))
    }

    /// Closes the connections; nothing is asked any more.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        Self.close(idle)
    }

    private func take() throws(Failure) -> HTTPClientConnection {
        let now = ContinuousClock.now
        let (isTaken, kept, old) = state.withLock { state -> (Bool, HTTPClientConnection?, [Idle]) in
            guard !state.isClosed, state.underWay < limits.requests else { return (false, nil, []) }
            state.underWay += 1
            let old = state.idle.filter { $0.since + limits.idleTime <= now }
            state.idle.removeAll { $0.since + limits.idleTime <= now }
            return (true, state.idle.popLast()?.connection, old)
        }
        Self.close(old)
        guard isTaken else { throw .busy }
        return kept
            ?? HTTPClientConnection(
                endpoint: server.endpoint, loop: MultiThreadedEventLoopGroup.singleton.next(),
                limit: limits.responseBytes)
    }

    private func give(back connection: HTTPClientConnection?) {
        let surplus = state.withLock { state -> [Idle] in
            state.underWay -= 1
            guard let connection else { return [] }
            let idle = Idle(connection: connection, since: .now)
            guard !state.isClosed, state.idle.count < limits.idleConnections else { return [idle] }
            state.idle.append(idle)
            return []
        }
        Self.close(surplus)
    }

    private static func close(_ idle: [Idle]) {
        for one in idle { one.connection.loop.execute { _ = one.connection.close() } }
    }
}
