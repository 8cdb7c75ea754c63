import COpenSSL
import RTCEngine
import Testing

@testable import RTCSecurity

struct LifetimeTests {
    /// What happens to a connection before it is let go.
    enum Ending: CaseIterable, Sendable {
        case midHandshake, connected, closed, refused
    }

    @Test(arguments: Ending.allCases)
    func `everything of OpenSSL's is freed with the association`(ending: Ending) throws {
        let live = LiveObjects()
        try connect(until: ending, counting: live)
        #expect(live.remaining == 0)
    }

    private func connect(until ending: Ending, counting live: LiveObjects) throws {
        let context = try TestContext()
        let fingerprint = context.certificate.fingerprint
        let pair = DTLSPair(
            client: DTLSAssociation(context: context.context), server: DTLSAssociation(context: context.context),
            fingerprint: fingerprint)
        pair.start(clientExpects: ending == .refused ? [] : [fingerprint])
        live.track(context: context.context.pointer)
        live.track(certificate: context.certificate.certificate)
        for side in [DTLSPair.Side.client, .server] {
            let session = try #require((pair.port(side) as? DTLSAssociation)?.session)
            live.track(ssl: session.ssl)
            live.track(bio: try #require(SSL_get_rbio(session.ssl)))
        }
        #expect(live.remaining == 6)
        switch ending {
        case .midHandshake:
            pair.deliver(from: .client)
        case .connected:
            pair.run()
            #expect(pair.isConnected)
        case .closed, .refused:
            pair.run()
            pair.client.close(at: .zero)
            pair.run()
            // The sessions go at once, not with the association.
            #expect(live.remaining == 2)
        }
    }

    @Test func `a closed association keeps no session`() throws {
        let pair = try DTLSPair()
        pair.start()
        weak let client = (pair.client as? DTLSAssociation)?.session
        #expect(client != nil)
        pair.run()
        pair.server.close(at: .zero)
        pair.run()
        #expect(client == nil)
    }
}
