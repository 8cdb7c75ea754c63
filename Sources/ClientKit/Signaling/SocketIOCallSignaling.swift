internal import SocketIO
internal import Synchronization

/// The call room's signaling over Socket.IO.
public final class SocketIOCallSignaling: CallSignalingService {
    /// What the server says, for one reader.
    public let events: AsyncStream<CallSignalingEvent>

    private let server: String
    private let said: AsyncStream<CallSignalingEvent>.Continuation
    /// Written by `connect`, `disconnect` and the reader of the connection.
    private let current = Mutex<Connection?>(nil)

    /// The connection of one `connect`.
    private struct Connection {
        let client: SocketIOClient
        /// What has been put into `events` about it.
        var reported = Reported.nothing
    }

    private enum Reported: Equatable {
        case nothing
        case connected
        case lost
    }

    /// - Parameter server: for example `http://localhost:3000`.
    public init(server: String) {
        self.server = server
        (events, said) = AsyncStream.makeStream()
    }

    deinit {
        said.finish()
    }

    public func connect(as identity: CallIdentity) async throws(CallSignalingError) {
        await disconnect()
        let client = try makeClient(for: identity)
        current.withLock { $0 = Connection(client: client) }
        follow(client)
        let result = await withTaskCancellationHandler {
            do throws(SocketIOClientError) {
                try await client.connect()
                return Result<Void, SocketIOClientError>.success(())
            } catch {
                return .failure(error)
            }
        } onCancel: {
            Task { await client.disconnect() }
        }
        switch result {
        case .success:
            // Given up in the very moment of success.
            if Task.isCancelled || !isCurrent(client) {
                await client.disconnect()
                throw .cancelled
            }
        case .failure(let error):
            forget(client)
            throw Task.isCancelled ? .cancelled : CallSignalingError(error, server: server)
        }
    }

    public func disconnect() async {
        let client = current.withLock { connection in
            defer { connection = nil }
            return connection?.client
        }
        await client?.disconnect()
    }

    public func send(_ signal: CallSignal) async throws(CallSignalingError) {
        guard let client = current.withLock({ $0?.client }), client.id != nil else { throw .notConnected }
        let message = signal.wireMessage
        guard let arguments = message.arguments else { return }
        client.emit(message.event, arguments)
    }

    private func makeClient(for identity: CallIdentity) throws(CallSignalingError) -> SocketIOClient {
        var configuration = SocketIOClientConfiguration()
        configuration.connectParams = [
            .init(name: "roomId", value: identity.room.description),
            .init(name: "username", value: identity.username),
            .init(name: "isCaller", value: identity.role.isCaller ? "true" : "false"),
            // Roost's own server: the same through all reconnections, so that a new connection replaces the lost one.
            .init(name: "client", value: String(UInt64.random(in: .min ... .max), radix: 36)),
        ]
        do throws(SocketIOClientError) {
            return try SocketIOClient(url: server, configuration: configuration)
        } catch {
            throw CallSignalingError(error, server: server)
        }
    }

    // MARK: Reading

    /// Passes on what happens on a connection, until another one or none takes its place.
    private func follow(_ client: SocketIOClient) {
        let happenings = client.happenings()
        Task { [weak self, weak client] in
            for await happening in happenings {
                guard let self, let client, self.isCurrent(client) else { return }
                switch happening {
                case .state(let state):
                    self.report(state, of: client)
                case .event(let event):
                    let payload = event.arguments.first.map { LooseJSON($0) }
                    if let event = CallSignalingEvent(wireEvent: event.name, payload: payload) {
                        self.said.yield(event)
                    }
                }
            }
        }
    }

    private func report(_ state: SocketIOClientState, of client: SocketIOClient) {
        current.withLock { connection in
            guard var changed = connection, changed.client === client else { return }
            switch (state, changed.reported) {
            case (.connected, .nothing):
                said.yield(.connected)
                changed.reported = .connected
            case (.connected, .lost):
                said.yield(.reconnected)
                changed.reported = .connected
            case (.reconnecting(_, _, let reason), .connected):
                said.yield(.connectionLost(reason: reason.detail))
                changed.reported = .lost
            case (.disconnected(let reason), .connected), (.disconnected(let reason), .lost):
                said.yield(.closed(reason: reason?.detail ?? "it was closed"))
                connection = nil
                return
            case (.connecting, _), (.connected, .connected), (.reconnecting, .nothing), (.reconnecting, .lost),
                (.disconnected, .nothing):
                // The first attempt reports by `connect`'s result; further attempts are no news.
                return
            }
            connection = changed
        }
    }

    private func isCurrent(_ client: SocketIOClient) -> Bool {
        current.withLock { $0?.client === client }
    }

    private func forget(_ client: SocketIOClient) {
        current.withLock { connection in
            if connection?.client === client { connection = nil }
        }
    }
}

extension CallSignal {
    /// The event's name and its argument; no argument for what cannot be written as JSON.
    fileprivate var wireMessage: (event: String, arguments: SocketIOArguments?) {
        switch self {
        case .offer(let offer): (CallWireEvent.offer, try? SocketIOArguments(encoding: offer))
        case .answer(let answer): (CallWireEvent.answer, try? SocketIOArguments(encoding: answer))
        case .candidate(let candidate):
            (CallWireEvent.candidate, try? SocketIOArguments(encoding: candidate.complete))
        }
    }
}

extension CallSignalingError {
    fileprivate init(_ error: SocketIOClientError, server: String) {
        switch error {
        case .invalidURL: self = .invalidServer(server)
        case .disconnected(let reason):
            switch reason {
            case .refused, .serverRefused: self = .refused(reason.detail)
            case .local: self = .cancelled
            case .serverDisconnected, .transportClosed, .transportFailed, .heartbeatMissed, .timedOut, .protocolError,
                .readerTooSlow:
                self = .unreachable("\(server): \(reason.detail)")
            }
        case .acknowledgementTimedOut, .bufferFull: self = .unreachable("\(server): \(error)")
        }
    }
}

extension SocketIOClientDisconnectReason {
    /// A part of a sentence.
    fileprivate var detail: String {
        switch self {
        case .local: "closed on request"
        case .serverDisconnected: "the server ended the connection"
        case .refused(let message, _): message
        case .transportClosed: "the connection was closed"
        case .transportFailed(let text): text
        case .serverRefused(let status, let message): "HTTP \(status), \(message)"
        case .heartbeatMissed: "the server has not been heard of for too long"
        case .timedOut: "no answer in time"
        case .protocolError(let text): "the server does not speak Socket.IO as expected (\(text))"
        case .readerTooSlow: "events came faster than they were read"
        }
    }
}
