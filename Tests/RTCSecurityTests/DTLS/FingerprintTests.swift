import COpenSSL
import RTCEngine
import Testing

@testable import RTCSecurity

struct FingerprintTests {
    private let security: OpenSSLSecurity
    private let wrong = Fingerprint(algorithm: "sha-256", value: [UInt8](repeating: 0xab, count: 32))

    init() throws { security = try OpenSSLSecurity() }

    private func print(_ algorithm: FingerprintAlgorithm) throws -> Fingerprint {
        try #require(Certificate.fingerprint(of: security.certificate.certificate, algorithm: algorithm))
    }

    @Test func `a client refuses a server with another certificate, and both close`() throws {
        let pair = DTLSPair(client: security, server: security)
        pair.start(clientExpects: [wrong])
        pair.run()
        #expect(pair.events[.client] == [.closed(.fingerprintMismatch)])
        guard case .failed(let text)? = pair.closeReason(.server) else {
            Issue.record("the server was told nothing")
            return
        }
        #expect(text.contains("bad certificate"))
        #expect(pair.keys(.server) == nil)
    }

    @Test func `a server refuses a client with another certificate, and both close`() throws {
        let pair = DTLSPair(client: security, server: security)
        pair.start(serverExpects: [wrong])
        pair.run()
        #expect(pair.events[.server] == [.closed(.fingerprintMismatch)])
        #expect(pair.closeReason(.client) != nil)
        #expect(pair.keys(.client) == nil)
    }

    @Test(arguments: FingerprintAlgorithm.allCases)
    func `accepts any strong hash`(algorithm: FingerprintAlgorithm) throws {
        let pair = DTLSPair(client: security, server: security)
        pair.start(clientExpects: [try print(algorithm)])
        pair.run()
        #expect(pair.isConnected)
    }

    @Test func `one match among several is enough`() throws {
        let pair = DTLSPair(client: security, server: security)
        let unknown = Fingerprint(algorithm: "sha-3", value: [1])
        var shouting = try print(.sha384)
        shouting.algorithm = "SHA-384"
        pair.start(clientExpects: [wrong, unknown, shouting])
        pair.run()
        #expect(pair.isConnected)
    }

    @Test(arguments: ["sha-1", "md5"])
    func `a broken hash vouches for nobody, even when it matches`(algorithm: String) throws {
        var digest = [UInt8](repeating: 0, count: 64)
        var count: UInt32 = 0
        let hash = algorithm == "md5" ? EVP_md5() : EVP_sha1()
        try #require(X509_digest(security.certificate.certificate, hash, &digest, &count) == 1)
        let pair = DTLSPair(client: security, server: security)
        pair.start(clientExpects: [Fingerprint(algorithm: algorithm, value: Array(digest.prefix(Int(count))))])
        pair.run()
        #expect(pair.closeReason(.client) == .fingerprintMismatch)
    }

    @Test func `no promised fingerprint matches nobody`() throws {
        let pair = DTLSPair(client: security, server: security)
        pair.start(clientExpects: [])
        pair.run()
        #expect(pair.closeReason(.client) == .fingerprintMismatch)
    }

    @Test func `part of a fingerprint does not match`() throws {
        var short = security.localFingerprint
        short.value.removeLast()
        let pair = DTLSPair(client: security, server: security)
        pair.start(serverExpects: [short])
        pair.run()
        #expect(pair.closeReason(.server) == .fingerprintMismatch)
    }
}
