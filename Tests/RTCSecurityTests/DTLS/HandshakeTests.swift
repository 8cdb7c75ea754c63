import RTCEngine
import Testing

@testable import RTCSecurity

struct HandshakeTests {
    @Test func `both ends connect with each other's keys`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        let client = try #require(pair.keys(.client))
        #expect(client.mirrored == pair.keys(.server))
        #expect(client.profile == .aeadAES128GCM)
        #expect(client.localKey != client.remoteKey)
        #expect([client.localKey.count, client.localSalt.count] == [16, 12])
        #expect(pair.client.nextWake == nil)
        #expect(pair.server.nextWake == nil)
    }

    @Test func `the exported keys carry media`() throws {
        let pair = try DTLSPair(clientProfiles: [.aes128CMHMACSHA1_80])
        pair.start()
        pair.run()
        let client = try SRTPContext(#require(pair.keys(.client)))
        let server = try SRTPContext(#require(pair.keys(.server)))
        var packet = rtp(1)
        try client.protectRTP(&packet)
        try server.unprotectRTP(&packet)
        #expect(packet == rtp(1))
    }

    @Test func `each handshake has keys of its own`() throws {
        let security = try OpenSSLSecurity()
        let keys = (0..<2).map { _ in
            let pair = DTLSPair(client: security, server: security)
            pair.start()
            pair.run()
            return pair.keys(.client)
        }
        #expect(keys[0] != nil)
        #expect(keys[0] != keys[1])
    }

    struct ProfileRow: Sendable {
        let client: [SRTPProfile]
        let server: [SRTPProfile]
        let agreed: SRTPProfile
    }

    @Test(arguments: [
        ProfileRow(
            client: [.aeadAES128GCM, .aes128CMHMACSHA1_80], server: [.aes128CMHMACSHA1_80],
            agreed: .aes128CMHMACSHA1_80),
        ProfileRow(
            client: [.aes128CMHMACSHA1_80], server: [.aeadAES128GCM, .aes128CMHMACSHA1_80],
            agreed: .aes128CMHMACSHA1_80),
        ProfileRow(client: [.aeadAES128GCM], server: [.aeadAES128GCM, .aes128CMHMACSHA1_80], agreed: .aeadAES128GCM),
        ProfileRow(
            client: SRTPProfile.allCases, server: [.aeadAES256GCM, .aes128CMHMACSHA1_80], agreed: .aeadAES256GCM),
        ProfileRow(client: SRTPProfile.allCases, server: SRTPProfile.allCases, agreed: .aeadAES128GCM),
        // The server's preference decides.
        ProfileRow(
            client: [.aes128CMHMACSHA1_80, .aeadAES128GCM], server: [.aeadAES128GCM, .aes128CMHMACSHA1_80],
            agreed: .aeadAES128GCM),
    ])
    func `agrees on the best profile that both have`(row: ProfileRow) throws {
        let pair = try DTLSPair(clientProfiles: row.client, serverProfiles: row.server)
        pair.start()
        pair.run()
        #expect(pair.keys(.client)?.profile == row.agreed)
        #expect(pair.keys(.client)?.mirrored == pair.keys(.server))
    }

    @Test func `closes both ends when they have no profile in common`() throws {
        let pair = try DTLSPair(clientProfiles: [.aeadAES128GCM], serverProfiles: [.aes128CMHMACSHA1_80])
        pair.start()
        pair.run()
        #expect(pair.events[.client] == [.closed(.noSRTPProfile)])
        #expect(pair.events[.server] == [.closed(.noSRTPProfile)])
    }

    @Test func `a list without profiles is refused at once`() {
        #expect(throws: SecurityError.noProfiles) { try OpenSSLSecurity(profiles: []) }
    }

    @Test func `a server that has not begun keeps the client's hello`() throws {
        let pair = try DTLSPair()
        let security = try OpenSSLSecurity()
        let early = security.makeDTLS()
        pair.client.start(role: .client, remoteFingerprints: [security.localFingerprint], at: .zero)
        for hello in pair.drain(.client) { early.receive(hello.span.bytes, at: .zero) }
        #expect(early.pollOutput() == nil)
        early.start(role: .server, remoteFingerprints: [], at: .zero)
        guard case .send = early.pollOutput() else {
            Issue.record("the server did not answer")
            return
        }
    }

    @Test func `application data goes both ways, a record a message`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.send([9], from: .client)  // not yet: ignored
        pair.run()
        let messages = [Array("first".utf8), [UInt8](repeating: 7, count: 1_100)]
        for message in messages { pair.send(message, from: .client) }
        pair.send(messages[0], from: .server)
        pair.run()
        #expect(pair.messages(.server) == messages)
        #expect(pair.messages(.client) == [messages[0]])
    }

    @Test func `a peer without SRTP is taken for data alone, and refused for media`() throws {
        for needsSRTP in [false, true] {
            let pair = try DTLSPair(clientProfiles: [.aeadAES128GCM], serverProfiles: [.aes128CMHMACSHA1_80])
            pair.start(needsSRTP: needsSRTP)
            pair.run()
            guard !needsSRTP else {
                #expect(pair.events[.client] == [.closed(.noSRTPProfile)])
                continue
            }
            #expect(pair.events[.client] == [.connected(nil)] && pair.events[.server] == [.connected(nil)])
            let record = [UInt8](repeating: 7, count: 1_160)
            pair.client.send(applicationData: record.span.bytes, at: .zero)
            pair.run()
            #expect(pair.events[.server] == [.connected(nil), .applicationData(record)])
            // RFC 8831 §5: an SCTP packet with DTLS around it fits 1,200 bytes.
            #expect(pair.datagramsSent[.client]?.last?.count ?? 0 > 1_160)
            #expect(pair.datagramsSent[.client]?.last?.count ?? .max <= 1_200)
        }
    }

    @Test func `close_notify closes the other end, which answers it`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        pair.client.close(at: .zero)
        pair.client.close(at: .zero)
        pair.run()
        #expect(pair.closeReason(.client) == .local)
        #expect(pair.closeReason(.server) == .remote)
        #expect(pair.events[.server]?.count == 2)
        pair.send([1], from: .client)
        pair.send([1], from: .server)
        #expect(pair.client.pollOutput() == nil)
        #expect(pair.server.pollOutput() == nil)
    }

    @Test func `closing before and during the handshake is told once`() throws {
        let pair = try DTLSPair()
        pair.server.close(at: .zero)
        pair.client.start(role: .client, remoteFingerprints: [], at: .zero)
        pair.client.close(at: .zero)
        pair.server.start(role: .server, remoteFingerprints: [], at: .zero)
        pair.run()
        #expect(pair.events == [.client: [.closed(.local)], .server: [.closed(.local)]])
        #expect(pair.client.nextWake == nil)
    }

    @Test func `outputs that nobody takes are bounded`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        for _ in 0..<2_000 { pair.send([1, 2, 3], from: .client) }
        pair.client.close(at: .zero)
        #expect(pair.drain(.client).count == DTLSAssociation.outputLimit)
        #expect(pair.closeReason(.client) == .local)
    }
}
