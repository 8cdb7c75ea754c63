import Foundation
import Testing

@testable import SocketIO

/// What a person reads when a server cannot listen.
struct ListenErrorTests {
    private func failure(
        host: String = "127.0.0.1", port: Int = 0, tls: SocketIOServerConfiguration.TLS? = nil
    ) async -> String {
        var configuration = SocketIOServerConfiguration()
        configuration.tls = tls
        let server = SocketIOServer(configuration: configuration)
        do {
            try await server.bind(host: host, port: port)
            await server.shutdown()
            return "listening"
        } catch {
            return "\(error)"
        }
    }

    @Test func `a port that is taken`() async throws {
        try await TestServer.run { server in
            #expect(
                await failure(port: server.port) == "Port \(server.port) on 127.0.0.1 is taken by another program.")
        }
    }

    @Test func `an address of somebody else`() async {
        // RFC 5737 §3: an address of documents.
        #expect(await failure(host: "192.0.2.1") == "192.0.2.1 is not an address of this machine.")
    }

    @Test func `a name that nobody has`() async {
        #expect(await failure(host: "no-such-host.invalid") == "The name no-such-host.invalid is not known.")
    }

    @Test(arguments: [70_000, 65_536, -1])
    func `a number that is no port`(port: Int) async {
        #expect(await failure(port: port) == "\(port) is not a port: it has to be in 0...65535.")
    }

    @Test func `a port for root`() {
        let error = SocketIOServerError.cannotListen(host: "0.0.0.0", port: 80, .init(errno: EACCES))
        #expect(error == .cannotListen(host: "0.0.0.0", port: 80, .needsRoot))
        #expect("\(error)" == "Port 80 on 0.0.0.0 needs root; ports from 1024 on do not.")
    }

    @Test func `TLS files that are of no use are named`() async throws {
        try await TestCertificates.withFiles([
            "chain.pem": TestCertificates.selfSigned, "key.pem": TestCertificates.key,
            "other.pem": TestCertificates.otherKey, "text.pem": "hello",
        ]) { files in
            func path(_ name: String) -> String { files.appending(path: name).path }
            #expect(await failure(tls: .init(in: files)) == "listening")
            #expect(
                await failure(tls: .init(in: files, chain: "none.pem"))
                    == "The certificate file \(path("none.pem")) cannot be read: no such file or directory.")
            #expect(
                await failure(tls: .init(in: files, key: "none.pem"))
                    == "The key file \(path("none.pem")) cannot be read: no such file or directory.")
            #expect(
                await failure(tls: .init(in: files, chain: "text.pem"))
                    == "The certificate file \(path("text.pem")) holds no certificate in PEM form.")
            #expect(
                await failure(tls: .init(in: files, key: "text.pem"))
                    == "The key file \(path("text.pem")) holds no private key in PEM form without a password.")
            #expect(
                await failure(tls: .init(in: files, key: "other.pem"))
                    == "The key in \(path("other.pem")) does not belong to the certificate in \(path("chain.pem")).")
        }
    }
}
