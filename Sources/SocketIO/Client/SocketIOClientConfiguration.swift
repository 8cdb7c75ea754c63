public import NIOCore
import NIOPosix

/// How a `SocketIOClient` connects. The defaults are the official client's where it has them.
public struct SocketIOClientConfiguration: Sendable {
    /// Which transports are used.
    public enum Transports: Hashable, Sendable {
        /// Begin with long-polling, which works everywhere, and move to a WebSocket when the server can.
        case pollingThenWebSocket
        /// A WebSocket at once: one round trip less.
        case webSocketOnly
        /// Long-polling for ever.
        case pollingOnly
    }

    /// When and how often a lost connection is made again.
    public struct Reconnection: Hashable, Sendable {
        /// How many attempts follow each other before the client gives up; nil for no end, 0 for none.
        public var attempts: Int?
        /// The wait before the first attempt; it doubles with each.
        public var delay: Duration
        /// The longest wait.
        public var maximumDelay: Duration
        /// How much of the wait is random (0 to 1), so that a server that came back is not run over.
        public var randomizationFactor: Double

        public init(
            attempts: Int? = nil, delay: Duration = .seconds(1), maximumDelay: Duration = .seconds(5),
            randomizationFactor: Double = 0.5
        ) {
            self.attempts = attempts
            self.delay = delay
            self.maximumDelay = maximumDelay
            self.randomizationFactor = randomizationFactor
        }

        /// A lost connection stays lost.
        public static let never = Reconnection(attempts: 0)

        /// The wait before attempt number `attempt` (from 0). `random` is in 0..<1.
        func wait(before attempt: Int, random: Double) -> Duration {
            let doubled = delay * (1 << min(max(attempt, 0), 20))
            let spread = 1 + randomizationFactor * (2 * random - 1)
            return min(doubled * spread, maximumDelay)
        }
    }

    /// Where Engine.IO lives on the server.
    public var path = "/socket.io/"
    /// The namespace; a path in the URL overrides it.
    public var namespace = "/"
    /// Added to the query of every request; the server finds them in its handshake.
    public var connectParams: [EngineIOQuery.Item] = []
    /// Sent with CONNECT; an object.
    public var auth: RawJSON?
    /// Added to every HTTP request.
    public var headers: [(name: String, value: String)] = []
    /// How the connection is made.
    public var transports = Transports.pollingThenWebSocket
    /// What happens when it is lost.
    public var reconnection = Reconnection()
    /// From the start of an attempt until the namespace has been joined.
    public var connectTimeout: Duration = .seconds(20)
    /// How long `disconnect()` waits at most for a server to take what was emitted before it.
    public var disconnectTimeout: Duration = .seconds(3)
    /// Emits made while disconnected wait for the connection, up to this many; later ones are dropped.
    public var emitBufferLimit = 1_000
    /// Events that a reader of `events()` has not taken yet; with more the client disconnects
    /// (`.readerTooSlow`) rather than hold or lose them.
    public var eventBufferLimit = 4_096
    /// The largest message taken from the server, in bytes; also what the attachments of one packet have together.
    public var maxPayload = 16 * 1024 * 1024
    /// Whether the server's certificate is checked. Only tests have a reason to say no.
    public var verifiesCertificates = true
    /// A file of certificates (PEM): authorities that are trusted besides the system's.
    public var trustedAuthorities: String?
    /// Where the client's one event loop is taken from.
    public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

    public init() {}
}
