import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import SocketIO
import Testing

/// A certificate that is another one while the server runs, with real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct ServerCertificateTests {
    /// A connection over TLS that takes any certificate.
    private final class Client: Sendable {
        /// The server's certificate as this connection was shown it (DER).
        let shown: [UInt8]
        private let channel: any Channel
        private let texts: AsyncStream<String>

        private final class Reader: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer
            let texts: AsyncStream<String>.Continuation

            init(_ texts: AsyncStream<String>.Continuation) { self.texts = texts }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                texts.yield(String(decoding: unwrapInboundIn(data).readableBytesView, as: UTF8.self))
            }

            func channelInactive(context: ChannelHandlerContext) { texts.finish() }
        }

        init(port: Int) async throws {
            let (certificates, seen) = AsyncStream.makeStream(of: [UInt8].self)
            let (texts, arrived) = AsyncStream.makeStream(of: String.self)
            var configuration = TLSConfiguration.makeClientConfiguration()
            // The callback takes whatever certificate comes, and NIOSSL would look at its names afterwards.
            configuration.certificateVerification = .noHostnameVerification
            let context = try NIOSSLContext(configuration: configuration)
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let tls = try NIOSSLClientHandler(
                            context: context, serverHostname: "localhost",
                            customVerificationCallback: { chain, promise in
                                seen.yield((try? chain.first?.toDERBytes()) ?? [])
                                promise.succeed(.certificateVerified)
                            })
                        try channel.pipeline.syncOperations.addHandlers([tls, Reader(arrived)])
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
            self.texts = texts
            shown = await certificates.first { _ in true } ?? []
        }

        /// Asks over the connection that there is, and reads until the answer's text is there.
        func get(_ text: String) async throws -> Bool {
            let request = ByteBuffer(string: "GET /\(text) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await channel.writeAndFlush(request).get()
            var answer = ""
            for await piece in texts {
                answer += piece
                if answer.hasSuffix("you asked for /\(text)") { return true }
            }
            return false
        }

        func close() async { try? await channel.close() }
    }

    private static func run(_ body: (URL, SocketIOServer, Int) async throws -> Void) async throws {
        try await TestCertificates.withFiles([
            "chain.pem": TestCertificates.selfSigned, "key.pem": TestCertificates.key,
        ]) { files in
            var configuration = SocketIOServerConfiguration()
            configuration.tls = .init(in: files)
            configuration.fallback = { .text("you asked for \($0.path)") }
            let server = SocketIOServer(configuration: configuration)
            let port = try await server.bind(host: "127.0.0.1", port: 0)
            do {
                try await body(files, server, port)
            } catch {
                await server.shutdown()
                throw error
            }
            await server.shutdown()
        }
    }

    private static func write(_ text: String, to name: String, in files: URL) throws {
        try text.write(to: files.appending(path: name), atomically: true, encoding: .utf8)
    }

    private static func der(_ text: String) throws -> [UInt8] {
        try NIOSSLCertificate(bytes: Array(text.utf8), format: .pem).toDERBytes()
    }

    @Test func `who connects is shown the new certificate, and who is connected stays`() async throws {
        try await Self.run { files, server, port in
            let certificate = try #require(server.certificate)
            let early = try await Client(port: port)
            #expect(early.shown == (try Self.der(TestCertificates.selfSigned)))
            #expect(try await early.get("before"))
            #expect(certificate.version == ServerCertificate.Version(of: certificate.files))
            try Self.write(TestCertificates.byUnknownIssuer, to: "chain.pem", in: files)
            #expect(certificate.version != ServerCertificate.Version(of: certificate.files))
            try certificate.renew()
            #expect(certificate.version == ServerCertificate.Version(of: certificate.files))
            let late = try await Client(port: port)
            #expect(late.shown == (try Self.der(TestCertificates.byUnknownIssuer)))
            #expect(try await late.get("late"))
            #expect(try await early.get("after"))
            await early.close()
            await late.close()
        }
    }

    @Test func `another port shows the same`() async throws {
        try await Self.run { files, server, _ in
            try Self.write(TestCertificates.byUnknownIssuer, to: "chain.pem", in: files)
            let other = try await server.bind(host: "127.0.0.1", port: 0)
            let before = try await Client(port: other)
            try #require(server.certificate).renew()
            let after = try await Client(port: other)
            #expect(before.shown == (try Self.der(TestCertificates.selfSigned)))
            #expect(after.shown == (try Self.der(TestCertificates.byUnknownIssuer)))
            await before.close()
            await after.close()
        }
    }

    /// What somebody may find while files are being written.
    private static let useless: [(file: String, text: String)] = [
        ("chain.pem", String(TestCertificates.byUnknownIssuer.prefix(300))), ("chain.pem", ""),
        ("chain.pem", TestCertificates.byUnknownIssuer + "\n" + TestCertificates.selfSigned.prefix(200)),
        ("key.pem", TestCertificates.otherKey), ("key.pem", String(TestCertificates.key.prefix(100))),
    ]

    @Test(arguments: useless.indices)
    func `files that are of no use leave what there was`(index: Int) async throws {
        try await Self.run { files, server, port in
            let certificate = try #require(server.certificate)
            let (version, expires) = (certificate.version, certificate.expires)
            let (file, text) = Self.useless[index]
            try Self.write(text, to: file, in: files)
            #expect(throws: SocketIOServerError.self) { try certificate.renew() }
            #expect(certificate.version == version && certificate.expires == expires)
            let client = try await Client(port: port)
            #expect(client.shown == (try Self.der(TestCertificates.selfSigned)))
            await client.close()
            // The next look finds them whole.
            try Self.write(TestCertificates.byUnknownIssuer, to: "chain.pem", in: files)
            try Self.write(TestCertificates.key, to: "key.pem", in: files)
            try certificate.renew()
            let next = try await Client(port: port)
            #expect(next.shown == (try Self.der(TestCertificates.byUnknownIssuer)))
            await next.close()
        }
    }

    @Test func `a pipe in a file's place is refused, not waited for`() async throws {
        try await Self.run { files, server, _ in
            let certificate = try #require(server.certificate)
            let pipe = files.appending(path: "chain.pem").path
            try FileManager.default.removeItem(atPath: pipe)
            try #require(mkfifo(pipe, 0o600) == 0)
            #expect(throws: SocketIOServerError.self) { try certificate.renew() }
        }
    }

    @Test func `tells until when it is good`() async throws {
        try await Self.run { _, server, _ in
            let certificate = try NIOSSLCertificate(bytes: Array(TestCertificates.selfSigned.utf8), format: .pem)
            #expect(server.certificate?.expires == Int(certificate.notValidAfter))
        }
    }

    @Test func `without TLS there is none`() async throws {
        try await TestServer.run { server in #expect(server.server.certificate == nil) }
    }
}
