public import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A Socket.IO 5 client in one namespace, for Linux and Apple platforms.
///
/// ```swift
/// let client = try SocketIOClient(url: "http://localhost:3000")
/// let events = client.events()
/// try await client.connect()
/// client.emit("hello", ["world"])
/// for await event in events { print(event.name, event.arguments) }
/// ```
/// A lost connection is made again by itself (`configuration.reconnection`). Emits made meanwhile wait, in order, up
/// to `emitBufferLimit`; what was written just before the loss may be lost, as with every Socket.IO client.
public final class SocketIOClient: Sendable {
    /// What it was made with. A namespace and a query in the URL count too.
    public let configuration: SocketIOClientConfiguration
    private let core: ClientCore

    /// A client for `url` (http, https, ws or wss). A path in it is the namespace, its query is added to
    /// `connectParams`. Nothing is sent before `connect`.
    public init(
        url: String, configuration: SocketIOClientConfiguration = SocketIOClientConfiguration(),
        logger: Logger = Logger(label: "socketio.client")
    ) throws(SocketIOClientError) {
        let address = try ServerURL(url)
        self.configuration = configuration
        core = ClientCore(
            url: address, configuration: configuration, loop: configuration.eventLoopGroup.next(), logger: logger)
    }

    deinit {
        let core = core
        core.loop.execute { core.stop(.local) }
    }

    /// Where the connection stands now.
    public var state: SocketIOClientState { core.published.withLock { $0 } }

    /// The id that the server gave us; nil unless connected.
    public var id: String? {
        if case .connected(let id) = state { id } else { nil }
    }

    /// The state now, and each one that follows. Each call is a reader of its own.
    public func states() -> AsyncStream<SocketIOClientState> { core.makeStateStream() }

    /// The events from now on. Each call is a reader of its own and gets every event; take it before `connect` to
    /// miss none. It ends when the client is released.
    public func events() -> AsyncStream<SocketIOEvent> { core.makeEventStream() }

    /// States and events in one stream, in the order they happened. Each call is a reader of its own.
    public func happenings() -> AsyncStream<SocketIOClientHappening> { core.makeHappeningStream() }

    /// Connects, and returns once the namespace has been joined.
    ///
    /// Fails with the first attempt, unless `retrying`: then the attempts of `configuration.reconnection` are made
    /// first. Connected already, it returns at once.
    public func connect(retrying: Bool = false) async throws(SocketIOClientError) {
        let core = core
        let result: Result<Void, SocketIOClientError> = await withCheckedContinuation { continuation in
            core.loop.execute {
                core.connect(retrying: retrying) { continuation.resume(returning: $0) }
            }
        }
        try result.get()
    }

    /// Sends an event, or keeps it until the connection is there.
    public func emit(_ event: String, _ arguments: SocketIOArguments = []) {
        let core = core
        core.loop.execute { core.emit(event, arguments, acknowledgement: nil) }
    }

    /// Sends an event and waits for the server's acknowledgement. The time-out also covers waiting for a connection.
    public func emit(_ event: String, _ arguments: SocketIOArguments = [], timeout: Duration)
        async
        throws(SocketIOClientError) -> SocketIOArguments
    {
        let core = core
        let result: Result<SocketIOArguments, SocketIOClientError> = await withCheckedContinuation { continuation in
            core.loop.execute {
                core.emit(
                    event, arguments,
                    acknowledgement: (timeout: timeout, handler: { continuation.resume(returning: $0) }))
            }
        }
        return try result.get()
    }

    /// Leaves the namespace, closes the connection, and returns when it is closed. No reconnection follows; `connect`
    /// begins anew.
    public func disconnect() async {
        let core = core
        await withCheckedContinuation { continuation in
            core.loop.execute { core.disconnect { continuation.resume() } }
        }
    }
}
