import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Where and how a client's connections are made.
struct ClientEndpoint {
    let url: ServerURL
    let configuration: SocketIOClientConfiguration
    /// Made once by whoever makes many connections: it reads the authorities' certificates.
    var tls: NIOSSLContext?

    /// The request target of a transport (RFC 9112 §3.2.1).
    func target(transport: EngineIOTransport, sid: String?) -> String {
        var items = [
            EngineIOQuery.Item(name: "EIO", value: "4"),
            EngineIOQuery.Item(name: "transport", value: transport.rawValue),
        ]
        if let sid { items.append(EngineIOQuery.Item(name: "sid", value: sid)) }
        items += configuration.connectParams + url.query.items
        return configuration.path + "?" + EngineIOQuery(items: items).encoded
    }

    /// The head of a request.
    func head(_ method: HTTPMethod, _ target: String) -> HTTPRequestHead {
        var headers = HTTPHeaders(configuration.headers.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Host", value: url.hostHeader)
        return HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
    }

    /// Connects on `loop`; `install` adds the handlers above TCP and TLS.
    func connect(
        on loop: any EventLoop, install: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let url = url
        let tls: NIOSSLContext?
        do {
            tls = url.usesTLS ? try self.tls ?? makeTLS() : nil
        } catch {
            return loop.makeFailedFuture(error)
        }
        return ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        // RFC 6066 §3: no addresses as server names.
                        let isAddress = (try? SocketAddress(ipAddress: url.host, port: 0)) != nil
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : url.host)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        try channel.pipeline.syncOperations.addHandler(CertificateFaultHandler(above: handler))
                    }
                    try install(channel)
                }
            }
            .connect(host: url.host, port: url.port)
    }

    func makeTLS() throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = ["http/1.1"]
        if !configuration.verifiesCertificates { tls.certificateVerification = .none }
        if let file = configuration.trustedAuthorities { tls.additionalTrustRoots = [.file(file)] }
        return try NIOSSLContext(configuration: tls)
    }
}
