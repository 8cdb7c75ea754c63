import NIOCore
import NIOSSL
import Testing

@testable import SocketIO

/// What a person reads when a client cannot connect.
struct ConnectionErrorTests {
    typealias Transports = SocketIOClientConfiguration.Transports
    static let transports: [Transports] = [.pollingOnly, .webSocketOnly]

    /// The error's text of a connection that fails.
    private func failure(_ url: String, _ transports: Transports = .pollingOnly) async -> String {
        var configuration = SocketIOClientConfiguration()
        configuration.transports = transports
        do {
            try await SocketIOClient(url: url, configuration: configuration).connect()
            return "connected"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: transports)
    func `https to a port without TLS`(transports: Transports) async throws {
        let expected = """
            The server cannot be reached: the TLS handshake failed: \
            the server does not seem to speak TLS on this port.
            """
        try await TestServer.run { server in
            #expect(await failure("https://127.0.0.1:\(server.port)", transports) == expected)
        }
        try await RawServer.run("") { server in
            #expect(await failure("https://127.0.0.1:\(server.port)", transports) == expected)
        }
    }

    @Test(arguments: transports)
    func `a certificate that nobody vouches for`(transports: Transports) async throws {
        for (chain, reason) in [
            (TestCertificates.selfSigned, "it is self-signed"),
            (TestCertificates.byUnknownIssuer, "it was issued by someone unknown"),
        ] {
            try await TestCertificates.withFiles(["chain.pem": chain, "key.pem": TestCertificates.key]) { files in
                try await TestServer.run({ $0.tls = .init(in: files) }) { server in
                    #expect(
                        await failure("https://127.0.0.1:\(server.port)", transports)
                            == "The server cannot be reached: the server's certificate is not trusted: \(reason).")
                }
            }
        }
    }

    @Test func `a certificate out of its time says so`() throws {
        let certificate = try NIOSSLCertificate(bytes: Array(TestCertificates.selfSigned.utf8), format: .pem)
        #expect(
            CertificateFault(certificate, at: certificate.notValidAfter + 1).reasons
                == ["it has expired and is self-signed"])
        #expect(
            CertificateFault(certificate, at: certificate.notValidBefore - 1).reasons
                == ["it is not valid yet and is self-signed"])
    }

    @Test(arguments: transports)
    func `http to a port with TLS`(transports: Transports) async throws {
        try await TestCertificates.withFiles([
            "chain.pem": TestCertificates.selfSigned, "key.pem": TestCertificates.key,
        ]) { files in
            try await TestServer.run({ $0.tls = .init(in: files) }) { server in
                let text = await failure("http://127.0.0.1:\(server.port)", transports)
                #expect(text.hasSuffix("; it may expect https."), "\(text)")
            }
        }
        try await RawServer.run("") { server in
            #expect(
                await failure("http://127.0.0.1:\(server.port)", transports) == """
                    The server cannot be reached: the server closed the connection without an answer; \
                    it may expect https.
                    """)
        }
    }

    @Test(arguments: transports)
    func `nobody listens`(transports: Transports) async throws {
        let port = try await RawServer.run("") { $0.port }
        #expect(
            await failure("http://127.0.0.1:\(port)", transports)
                == "The server cannot be reached: connection refused by 127.0.0.1:\(port).")
    }

    @Test func `other failures of a connection have words too`() throws {
        let endpoint = ClientEndpoint(url: try ServerURL("https://[::1]:3000"), configuration: .init())
        let texts = [
            (ChannelError.connectTimeout(.seconds(1)) as any Error, "no answer from [::1]:3000"),
            (IOError(errnoCode: 110, reason: "connect"), "no answer from [::1]:3000"),
            (ChannelError.ioOnClosedChannel, "[::1]:3000 closed the connection"),
            (IOError(errnoCode: 12, reason: "socket"), "no connection to [::1]:3000: cannot allocate memory"),
            (HTTPClientHandler.ClosedBeforeResponse(), "the server closed the connection without an answer"),
            (
                NIOSSLExtraError.failedToValidateHostname,
                "the server's certificate is not trusted: it is for another name than ::1"
            ),
            (EngineIOPacketError.unknownKind, "the connection to [::1]:3000 failed"),
        ]
        for (error, text) in texts { #expect(endpoint.closeReason(error) == .transportFailed(text)) }
    }

    @Test(arguments: transports)
    func `a web server that is no Socket IO server`(transports: Transports) async throws {
        try await RawServer.run("HTTP/1.1 404 Not Found\r\nContent-Length: 11\r\n\r\n<h1>No</h1>") { server in
            #expect(
                await failure("http://127.0.0.1:\(server.port)", transports)
                    == "The server answered 404: it is no Socket.IO server.")
        }
    }

    @Test func `a page instead of a handshake`() async throws {
        try await RawServer.run("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n<h1>Hi</h1>") { server in
            #expect(
                await failure("http://127.0.0.1:\(server.port)")
                    == "The server does not speak Socket.IO as expected: a packet is of no known type.")
        }
    }

    @Test func `the path of a URL is the namespace, and its refusal says so`() async throws {
        try await TestServer.run { server in
            #expect(
                await failure(server.url + "/app") == """
                    The server refused to let us in: Invalid namespace: the path of the URL, /app, \
                    is taken as the namespace.
                    """)
        }
    }

    @Test func `a URL without scheme gets a hint`() {
        #expect(throws: SocketIOClientError.invalidURL("127.0.0.1:3000")) { try SocketIOClient(url: "127.0.0.1:3000") }
        #expect(
            SocketIOClientError.invalidURL("127.0.0.1:3000").description
                == "127.0.0.1:3000 is not the URL of a server: did you mean http://127.0.0.1:3000?")
        #expect(
            SocketIOClientError.invalidURL("ftp://x").description
                == "ftp://x is not the URL of a server: one looks like http://localhost:3000.")
    }
}
