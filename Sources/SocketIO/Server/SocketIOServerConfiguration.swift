/// How a `SocketIOServer` behaves. The defaults are the official server's where it has them.
public struct SocketIOServerConfiguration: Sendable {
    /// Where Engine.IO lives; everything else goes to `fallback`.
    public var path = "/socket.io/"
    /// Ping and upgrade intervals.
    public var session = EngineIOServerSession.Configuration()
    /// The largest message and the largest POST body, in bytes; also what the attachments of one packet have together.
    public var maxPayload = 1_000_000
    /// A connection that joined no namespace by then is closed.
    public var connectTimeout: Duration = .seconds(45)
    /// Whether clients may poll. Without it only WebSockets are taken.
    public var allowsPolling = true
    /// Whether WebSockets are taken.
    public var allowsWebSocket = true
    /// A connection with more than this waiting to be sent, in bytes, is dropped as a slow consumer. Of a WebSocket the
    /// largest message that waits does not count.
    public var outboundLimit = 4 * 1024 * 1024
    /// How fast one connection may send.
    public var flood = FloodLimit()
    /// More sessions than this are refused with 503.
    public var sessionLimit = 100_000
    /// How many namespaces one connection may join.
    public var namespaceLimit = 16
    /// Who may connect from a web page of another origin.
    public var origins = Origins.sameOrigin
    /// Whether cross-origin requests may carry cookies.
    public var allowsCredentials = false
    /// Serve TLS on every port.
    public var tls: TLS?
    /// Answers every HTTP request outside `path`; 404 without one.
    public var fallback: (@Sendable (SocketIOHTTPRequest) async -> SocketIOHTTPResponse)?
    /// Asked about every WebSocket outside `path`, before it is accepted; what it has no answer to goes to `fallback`.
    /// Where pages of other origins may not connect, it is for this to say.
    public var webSockets: (@Sendable (SocketIOHTTPRequest) async -> WebSocketAnswer?)?
    /// The largest body of a request for `fallback`, in bytes; larger ones get 413.
    public var fallbackBodyLimit = 1_000_000
    /// Another limit for some requests, asked with an empty body before any of it is taken; nil for the general one.
    public var fallbackBodyLimitOf: (@Sendable (SocketIOHTTPRequest) -> Int?)?
    /// What a request for `fallback` whose body is too large is answered with; nil for a sentence. The status is 413.
    public var bodyTooLarge: (@Sendable (SocketIOHTTPRequest) -> SocketIOHTTPResponse?)?
    /// An HTTP connection without a complete request for this long is closed.
    public var requestTimeout: Duration = .seconds(60)

    public init() {}

    /// Which web pages may connect. Programs that send no `Origin` header always may.
    public enum Origins: Hashable, Sendable {
        /// Pages of the host that the request names.
        case sameOrigin
        /// Every page.
        case any
        /// Pages of the same host, and of these origins, as `https://chat.example`.
        case these(Set<String>)
    }

    /// Token buckets: what may be sent at once, and how fast it refills.
    public struct FloodLimit: Hashable, Sendable {
        /// Messages a second over time.
        public var messagesPerSecond: Double
        /// Messages at once.
        public var messageBurst: Double
        /// Bytes a second over time.
        public var bytesPerSecond: Double
        /// Bytes at once; at least `maxPayload`, or a large message never passes.
        public var byteBurst: Double

        public init(
            messagesPerSecond: Double = 500, messageBurst: Double = 2_000,
            bytesPerSecond: Double = 2_000_000, byteBurst: Double = 8_000_000
        ) {
            self.messagesPerSecond = messagesPerSecond
            self.messageBurst = messageBurst
            self.bytesPerSecond = bytesPerSecond
            self.byteBurst = byteBurst
        }

        /// No limit, for a benchmark.
        public static let unlimited = FloodLimit(
            messagesPerSecond: .infinity, messageBurst: .infinity, bytesPerSecond: .infinity, byteBurst: .infinity)
    }

    /// PEM files of a certificate chain and its key.
    public struct TLS: Hashable, Sendable {
        /// Path of the certificate chain, the server's own first.
        public var certificateChainFile: String
        /// Path of the key that belongs to the first certificate.
        public var privateKeyFile: String

        public init(certificateChainFile: String, privateKeyFile: String) {
            self.certificateChainFile = certificateChainFile
            self.privateKeyFile = privateKeyFile
        }
    }
}
