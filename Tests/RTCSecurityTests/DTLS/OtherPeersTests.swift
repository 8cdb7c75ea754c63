import COpenSSL
import RTCEngine
import Testing

@testable import RTCSecurity

/// Peers that do not keep the rules of WebRTC.
struct OtherPeersTests {
    private let ours: TestContext
    private let theirs: TestContext

    init() throws {
        ours = try TestContext()
        theirs = try TestContext()
    }

    /// Their end is the client, ours the server.
    private func makePair() -> (pair: DTLSPair, client: DTLSAssociation) {
        let client = DTLSAssociation(context: theirs.context)
        let server = DTLSAssociation(context: ours.context)
        return (DTLSPair(client: client, server: server, fingerprint: ours.certificate.fingerprint), client)
    }

    @Test func `a client without a certificate is refused`() throws {
        let (pair, client) = makePair()
        pair.start()
        SSL_certs_clear(try #require(client.session).ssl)
        pair.run()
        guard case .failed(let text)? = pair.closeReason(.server) else {
            Issue.record("not refused: \(pair.events)")
            return
        }
        #expect(text.contains("peer did not return a certificate"))
        #expect(pair.keys(.server) == nil)
    }

    @Test func `a peer without extended master secret is refused`() throws {
        _ = SSL_CTX_set_options(theirs.context.pointer, TestContext.noExtendedMasterSecret)
        let (pair, _) = makePair()
        pair.start(serverExpects: [theirs.certificate.fingerprint])
        pair.run()
        #expect(pair.events[.server] == [.closed(.failed("no extended master secret"))])
    }

    @Test func `renegotiation is refused and the association goes on`() throws {
        let (pair, client) = makePair()
        pair.start(serverExpects: [theirs.certificate.fingerprint])
        pair.run()
        try #require(pair.isConnected)
        let session = try #require(client.session)
        _ = SSL_clear_options(session.ssl, TestContext.noRenegotiation)
        #expect(SSL_renegotiate(session.ssl) == 1)
        _ = session.handshake()
        let hello = session.takeOutbound()
        #expect(!hello.isEmpty)
        for datagram in hello { pair.server.receive(datagram.span.bytes, at: .zero) }
        #expect(pair.closeReason(.server) == nil)
        pair.send([1, 2, 3], from: .server)
        #expect(!pair.drain(.server).isEmpty)
        #expect(pair.closeReason(.server) == nil)
    }

    @Test(arguments: ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256"])
    func `a peer with only weak cipher suites is refused`(suite: String) throws {
        try #require(SSL_CTX_set_cipher_list(theirs.context.pointer, suite) == 1)
        let (pair, _) = makePair()
        pair.start()
        pair.run()
        #expect(pair.closeReason(.server) == .failed("no shared cipher"))
        #expect(pair.closeReason(.client) != nil)
    }

    @Test func `a peer with only P-384 is refused`() throws {
        try #require(copenssl_set_groups(theirs.context.pointer, "P-384") == 1)
        let (pair, _) = makePair()
        pair.start()
        pair.run()
        #expect(pair.closeReason(.server) != nil)
    }

    @Test(arguments: ["P-256", "X25519:P-256", "P-384:P-256:X25519"])
    func `a peer that has one of our groups will do`(groups: String) throws {
        try #require(copenssl_set_groups(theirs.context.pointer, groups) == 1)
        let (pair, _) = makePair()
        pair.start(serverExpects: [theirs.certificate.fingerprint])
        pair.run()
        #expect(pair.isConnected)
    }

    @Test(arguments: [DTLSPair.Side.client, .server])
    func `a peer whose certificate is on P-384 will do, in either role`(side: DTLSPair.Side) throws {
        let theirs = try TestContext(curve: NID_secp384r1)
        try #require(copenssl_set_groups(theirs.context.pointer, "P-384:P-256:X25519") == 1)
        let contexts = side == .client ? (client: theirs, server: ours) : (client: ours, server: theirs)
        let pair = DTLSPair(
            client: DTLSAssociation(context: contexts.client.context),
            server: DTLSAssociation(context: contexts.server.context), fingerprint: ours.certificate.fingerprint)
        pair.start(
            clientExpects: [contexts.server.certificate.fingerprint],
            serverExpects: [contexts.client.certificate.fingerprint])
        pair.run()
        #expect(pair.isConnected)
    }
}
