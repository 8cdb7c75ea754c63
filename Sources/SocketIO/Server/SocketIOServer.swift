public import Logging
public import NIOCore
import NIOHTTP1
public import NIOPosix
import NIOSSL
import Synchronization

/// A Socket.IO 5 / Engine.IO 4 server on NIO, which can answer plain HTTP requests on the same ports.
///
/// ```swift
/// let server = SocketIOServer()
/// server.namespace("/").on("hello") { socket, event in
///     event.acknowledge?(["hello yourself"])
/// }
/// let port = try await server.bind(host: "127.0.0.1", port: 3000)
/// ```
/// Register namespaces and handlers first, then `bind`, as often as there are ports; `shutdown` ends everything.
public final class SocketIOServer: Sendable {
    /// What it was made with.
    public let configuration: SocketIOServerConfiguration
    let logger: Logger
    let counters = ServerCounters()
    let contexts: [LoopContext]
    private let group: any EventLoopGroup

    private struct State {
        var listeners: [any Channel] = []
        var isShutDown = false
        /// HTTP connections and WebSockets, so that a shutdown reaches each.
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    /// Written when a port is bound, a connection accepted or closed, and at shutdown.
    private let state = Mutex(State())
    private struct Sessions {
        var byID: [String: ServerConnection] = [:]
        /// False from the shutdown on: what is not in the list then does not get in.
        var mayOpen = true
    }

    /// Written whenever a session begins or ends.
    private let sessions = Mutex(Sessions())
    /// Written when the first port is bound.
    private let shownCertificate = Mutex<ServerCertificate?>(nil)
    /// Written while the server is set up.
    private let namespaces = Mutex<[String: SocketIONamespace]>([:])

    /// A server on the loops of `eventLoopGroup`. It opens no port yet.
    public init(
        configuration: SocketIOServerConfiguration = SocketIOServerConfiguration(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger = Logger(label: "socketio.server")
    ) {
        self.configuration = configuration
        self.logger = logger
        group = eventLoopGroup
        contexts = eventLoopGroup.makeIterator().enumerated().map { LoopContext(loop: $0.element, index: $0.offset) }
    }

    /// The namespace of this name, made if it is new. Clients can join only those that were made.
    public func namespace(_ name: String = "/") -> SocketIONamespace {
        let name = name.hasPrefix("/") ? name : "/" + name
        return namespaces.withLock { namespaces in
            if let existing = namespaces[name] { return existing }
            let namespace = SocketIONamespace(name: name, contexts: contexts)
            namespaces[name] = namespace
            return namespace
        }
    }

    func existingNamespace(_ name: String) -> SocketIONamespace? { namespaces.withLock { $0[name] } }

    /// Counters, at any time.
    public var statistics: SocketIOStatistics { counters.snapshot }

    /// What is shown over TLS; nil without it, and before the first port is bound.
    public var certificate: ServerCertificate? { shownCertificate.withLock { $0 } }

    /// One for all ports.
    private func readCertificate() throws(SocketIOServerError) -> ServerCertificate? {
        guard let files = configuration.tls else { return nil }
        if let certificate { return certificate }
        let certificate = try ServerCertificate(files)
        return shownCertificate.withLock { shown in
            shown = shown ?? certificate
            return shown
        }
    }

    /// Listens on a port; 0 takes a free one. Returns the port.
    @discardableResult
    public func bind(host: String, port: Int) async throws(SocketIOServerError) -> Int {
        guard (0...65_535).contains(port) else {
            throw .cannotListen(host: host, port: port, .noPort)
        }
        do {
            let certificate = try readCertificate()
            let listener = try await ServerBootstrap(group: group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelInitializer { [logger] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler(logger: logger))
                    }
                }
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                // RFC 5246 §7.2.1: TLS ends in both directions at once.
                .childChannelOption(.allowRemoteHalfClosure, value: certificate == nil)
                .childChannelOption(
                    // Small receive buffers: an idle connection keeps one.
                    .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 65_536)
                )
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let context = certificate?.context {
                            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        }
                        try HTTPServerHandler.install(on: channel, server: self)
                    }
                }
                .bind(host: host, port: port).get()
            let isTooLate = state.withLock { state in
                if !state.isShutDown { state.listeners.append(listener) }
                return state.isShutDown
            }
            if isTooLate {
                try await listener.close()
                throw SocketIOServerError.shutDown
            }
            return listener.localAddress?.port ?? port
        } catch let error as SocketIOServerError {
            throw error
        } catch {
            throw SocketIOServerError.cannotListen(host: host, port: port, .init(error))
        }
    }

    /// Stops listening, tells every client that the server is going down, and returns when all connections are
    /// closed (at most a few seconds). Repeatable.
    public func shutdown() async {
        let listeners = state.withLock { state in
            state.isShutDown = true
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { try? await listener.close() }
        let connections = sessions.withLock { sessions in
            sessions.mayOpen = false
            return Array(sessions.byID.values)
        }
        for connection in connections { connection.run { $0.close(.serverShutdown) } }
        // Close frames and last answers have been written; whoever does not take them is closed regardless.
        let channels = openChannels
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ServerShutdownEvent()) }
        for channel in channels {
            let patience = channel.eventLoop.scheduleTask(in: .seconds(3)) { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in patience.cancel() }
        }
        for channel in channels { try? await channel.closeFuture.get() }
    }

    // MARK: Book-keeping

    func context(of loop: any EventLoop) -> LoopContext? { contexts.first { $0.loop === loop } }

    func opened(_ channel: any Channel) {
        let isTooLate = state.withLock { state in
            if !state.isShutDown { state.channels[ObjectIdentifier(channel)] = channel }
            return state.isShutDown
        }
        if isTooLate { channel.close(promise: nil) }
    }

    func closed(_ channel: any Channel) {
        _ = state.withLock { $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Every connection, whatever is spoken over it.
    var openChannels: [any Channel] { state.withLock { Array($0.channels.values) } }

    /// Every session.
    var openSessions: [ServerConnection] { sessions.withLock { Array($0.byID.values) } }

    /// Whether there is room for another session.
    var hasRoom: Bool { counters.connections.value < configuration.sessionLimit }

    /// Registers a new session; false when the server is going down.
    func opened(_ connection: ServerConnection) -> Bool {
        let isTaken = sessions.withLock { sessions in
            if sessions.mayOpen { sessions.byID[connection.sid] = connection }
            return sessions.mayOpen
        }
        guard isTaken else { return false }
        counters.connections.add(1)
        counters.connectionsOpened.add(1)
        return true
    }

    func closed(_ connection: ServerConnection, because reason: EngineIOCloseReason) {
        _ = sessions.withLock { $0.byID.removeValue(forKey: connection.sid) }
        // The reason first: who sees one connection less finds it counted.
        counters.sessionClosed(reason)
        counters.connections.add(-1)
        logger.debug("session ended", metadata: ["reason": "\(reason.label)", "detail": "\(reason.sentence)"])
    }

    func session(_ sid: String) -> ServerConnection? { sessions.withLock { $0.byID[sid] } }

    /// 120 random bits as 20 characters, the official server's form.
    static func makeID() -> String {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let (high, low) = (random.next(), random.next())
        return String(unsafeUninitializedCapacity: 20) { text in
            for index in 0..<20 {
                let word = index < 10 ? high : low
                text[index] = alphabet[Int(word >> UInt64(index % 10 * 6) & 63)]
            }
            return 20
        }
    }
}

/// Sent through every channel when the server goes down.
struct ServerShutdownEvent: Sendable {}
