internal import NIOCore
internal import NIOPosix
internal import NIOSSL

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Where and how connections are made.
struct RedisEndpoint: Sendable {
    let address: RedisAddress
    /// For making a connection, and for each answer.
    let timeout: TimeAmount
    /// How often a connection is asked whether it lives.
    let pingInterval: TimeAmount
    /// Made once, for it reads the authorities' certificates; nil without TLS.
    private let tls: Result<NIOSSLContext, RedisFault>?

    init(
        _ address: RedisAddress, trustedAuthorities: String?, timeout: Duration,
        pingInterval: Duration = .seconds(5)
    ) {
        self.address = address
        self.pingInterval = TimeAmount(pingInterval)
        self.timeout = TimeAmount(timeout)
        tls = address.isSecure ? Self.makeTLS(trustedAuthorities) : nil
    }

    private static func makeTLS(_ trustedAuthorities: String?) -> Result<NIOSSLContext, RedisFault> {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let trustedAuthorities { configuration.additionalTrustRoots = [.file(trustedAuthorities)] }
        do {
            return .success(try NIOSSLContext(configuration: configuration))
        } catch {
            return .failure(.notConnected("the file of trusted authorities holds no certificates in PEM form"))
        }
    }

    /// What goes over a new connection before anything else; the reply to each has to be OK, unless it says otherwise.
    var greeting: [[String]] {
        var commands: [[String]] = []
        // redis.io, "AUTH": with a user since Redis 6; without one it is the password of `default`.
        if let password = address.password ?? address.username.map({ _ in "" }) {
            commands.append(["AUTH"] + (address.username.map { [$0] } ?? []) + [password])
        }
        if address.database != 0 { commands.append(["SELECT", String(address.database)]) }
        return commands
    }

    /// Connects on `loop` and puts `handler`, made there, above TCP and TLS.
    func connect(
        on loop: any EventLoop, handler: @escaping @Sendable () -> RedisConnection
    ) -> EventLoopFuture<any Channel> {
        let tls: NIOSSLContext?
        switch self.tls {
        case .failure(let fault): return loop.makeFailedFuture(fault)
        case .success(let context): tls = context
        case nil: tls = nil
        }
        let host = address.host
        return ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        // RFC 6066 §3: no addresses as server names.
                        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host))
                    }
                    try channel.pipeline.syncOperations.addHandler(handler())
                }
            }
            .connect(host: host, port: address.port)
    }
}

extension RedisFault {
    /// The one place where what a connection failed of becomes words, without anything of the libraries below: their
    /// texts have addresses in them.
    init(_ error: any Error) {
        self = (error as? RedisFault) ?? .notConnected(Self.text(error))
    }

    private static func text(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first { return text(first.error) }
            let isUnknown = error.dnsAError != nil || error.dnsAAAAError != nil
            return isUnknown ? "its name is not known" : "nobody answers"
        case let error as IOError: return text(errno: error.errnoCode)
        case ChannelError.connectTimeout: return "nobody answers"
        case is ChannelError, NIOSSLError.uncleanShutdown: return "the server closed the connection"
        case NIOSSLError.unableToValidateCertificate: return notTrusted
        case NIOSSLError.handshakeFailed(.sslError(let errors)):
            // The library tells the reason only within a longer text.
            return errors.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
                ? notTrusted : "the server does not seem to speak TLS on this port"
        case NIOSSLError.handshakeFailed: return "the server does not seem to speak TLS on this port"
        case is NIOSSLExtraError: return "the server's certificate is for another name"
        default: return "the connection broke off"
        }
    }

    private static let notTrusted = "the server's certificate is not trusted"

    private static func text(errno code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "connection refused"
        case ETIMEDOUT: "nobody answers"
        case EHOSTUNREACH, ENETUNREACH: "there is no way to it from here"
        case ECONNRESET, EPIPE, ECONNABORTED: "the server closed the connection"
        default: "the connection broke off"
        }
    }
}
