import Foundation
import NIOSSL
import SocketIO

/// PEM texts for tests only, valid for a hundred years; no machine trusts them.
enum TestCertificates {
    /// Self-signed, for `localhost` and 127.0.0.1; belongs to `key`.
    static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBmjCCAUGgAwIBAgIUSD0m81kqCBR7HQbEqqgf38VEvxswCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwMTUyM1oYDzIxMjYxMDI4
        MTAxNTIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATeEEpmng9UtchRKGQ7SEMZKbF8vBaWTR2v0YSZoLdyZ/cfj/lNVrxl
        qM5zyqY08oqE93ZfrKOL3oI23SDpB1dlo28wbTAdBgNVHQ4EFgQU9taGB5EEisVz
        K2tAQ7JzQCy7m0EwHwYDVR0jBBgwFoAU9taGB5EEisVzK2tAQ7JzQCy7m0EwDwYD
        VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
        zj0EAwIDRwAwRAIgeTDC8vM+ysrrjF5WiekM1oNwHMWZYBd8KcmhaqOVtpICIHx9
        T2Qy4TArX4M8ico+V8/9DbdetMbVksBSpdft6yBh
        -----END CERTIFICATE-----
        """

    /// For `leaf`, by an issuer that nobody knows; belongs to `key`.
    static let byUnknownIssuer = """
        -----BEGIN CERTIFICATE-----
        MIIBHDCBxAIUaxr7B5cpi+sKK5EfQzdBc1LGTu4wCgYIKoZIzj0EAwIwEjEQMA4G
        A1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMDE1MjNaGA8yMTI2MTAyODEwMTUyM1ow
        DzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABN4QSmae
        D1S1yFEoZDtIQxkpsXy8FpZNHa/RhJmgt3Jn9x+P+U1WvGWoznPKpjTyioT3dl+s
        o4vegjbdIOkHV2UwCgYIKoZIzj0EAwIDRwAwRAIgNhnAzXeHz/SIfsukqN0Pfgg6
        NVnx4xCWs4Cw34gCcF8CIAHTpajwCTtr12v/j+6tAEDceZoRAASQZBKbjp3OkHpX
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgE9+1tSxWmvym2iV2
        vL+hz9sFdQ9E6bVGaoNPoEcJUFehRANCAATeEEpmng9UtchRKGQ7SEMZKbF8vBaW
        TR2v0YSZoLdyZ/cfj/lNVrxlqM5zyqY08oqE93ZfrKOL3oI23SDpB1dl
        -----END PRIVATE KEY-----
        """

    /// Belongs to neither certificate.
    static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgitFOigeu2Kw1VGNT
        80iwhOexZC8ehBz6iazs5boQJLahRANCAAT2qP1Y1PyMh1k5sFaHgy2p3WUL9MMU
        YzWuve+gsdQtO4oDEaGXb688RcZZfPxUCYDmspyQ9L/38SrRAfL+CsRW
        -----END PRIVATE KEY-----
        """

    /// TLS of a server that shows the self-signed one.
    static func serverContext() throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(selfSigned.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
    }

    /// TLS of a client that trusts whoever answers.
    static func credulousContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        return try NIOSSLContext(configuration: configuration)
    }

    /// Runs `body` with a directory that holds these files.
    static func withFiles<Result>(
        _ files: [String: String], _ body: (URL) async throws -> Result
    ) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, text) in files {
            try text.write(to: directory.appending(path: name), atomically: true, encoding: .utf8)
        }
        return try await body(directory)
    }
}

extension SocketIOServerConfiguration.TLS {
    init(in directory: URL, chain: String = "chain.pem", key: String = "key.pem") {
        self.init(
            certificateChainFile: directory.appending(path: chain).path,
            privateKeyFile: directory.appending(path: key).path)
    }
}
