import COpenSSL
import RTCEngine
import Testing

@testable import RTCSecurity

/// RFC 6347 §4.1.2.7: records that cannot be right are dropped, whoever sends them, and nothing ends by them.
struct HostileRecordTests {
    /// A record with this body, as a stranger would make it.
    private func record(
        _ type: UInt8, epoch: UInt8, sequence: UInt8 = 200, _ body: [UInt8]
    ) -> [UInt8] {
        [type, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, sequence, UInt8(body.count >> 8), UInt8(body.count & 0xff)] + body
    }

    private func expectWorking(_ pair: DTLSPair) {
        #expect(pair.closeReason(.client) == nil)
        #expect(pair.closeReason(.server) == nil)
        pair.send([1, 2], from: .client)
        pair.send([3, 4], from: .server)
        pair.run()
        #expect(pair.messages(.server).last == [1, 2])
        #expect(pair.messages(.client).last == [3, 4])
    }

    private func makePair(_ suite: String) throws -> DTLSPair {
        let context = try TestContext()
        try #require(SSL_CTX_set_cipher_list(context.context.pointer, suite) == 1)
        return DTLSPair(
            client: DTLSAssociation(context: context.context), server: DTLSAssociation(context: context.context),
            fingerprint: context.certificate.fingerprint)
    }

    private static let suites = [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES256-GCM-SHA384",
    ]

    @Test(arguments: suites)
    func `a record too short for its cipher is dropped, before and after the handshake`(suite: String) throws {
        let pair = try makePair(suite)
        let junk = (0...40).flatMap { count in
            (UInt8(20)...23).flatMap { type in
                (UInt8(1)...2).map { epoch in
                    record(type, epoch: epoch, sequence: UInt8(100 + count), [UInt8](repeating: 7, count: count))
                }
            }
        }
        var isInjecting = true
        pair.wire = { _, datagrams in datagrams.flatMap { isInjecting ? [$0] + junk : [$0] } }
        pair.start()
        pair.run()
        isInjecting = false
        try #require(pair.isConnected)
        for datagram in junk {
            pair.client.receive(datagram.span.bytes, at: .zero)
            pair.server.receive(datagram.span.bytes, at: .zero)
        }
        expectWorking(pair)
    }

    @Test func `warnings in plaintext do not end a handshake, however many come`() throws {
        let pair = try DTLSPair()
        // user_canceled and no_certificate: level 1.
        let warnings = (0..<10).map { record(21, epoch: 0, sequence: UInt8(20 + $0), [1, $0 % 2 == 0 ? 90 : 41]) }
        pair.wire = { _, datagrams in warnings + datagrams }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
        pair.wire = { _, datagrams in datagrams }
        expectWorking(pair)
    }

    @Test func `what is good beside what is not in one datagram is taken`() throws {
        let pair = try DTLSPair()
        pair.wire = { [self] _, datagrams in
            datagrams.map { record(23, epoch: 0, [1, 2, 3]) + record(99, epoch: 0, [1]) + $0 + [20, 0xfe] }
        }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
        pair.wire = { _, datagrams in datagrams }
        expectWorking(pair)
    }

    /// A client that has much to say, as browsers with large key shares do.
    private func talkativePair() throws -> DTLSPair {
        let context = try TestContext()
        let protocols: [UInt8] = (0..<8).flatMap { number in [100] + [UInt8](repeating: 65 + number, count: 100) }
        try #require(SSL_CTX_set_alpn_protos(context.context.pointer, protocols, UInt32(protocols.count)) == 0)
        return DTLSPair(
            client: DTLSAssociation(context: context.context, mtu: 300),
            server: DTLSAssociation(context: context.context, mtu: 300), fingerprint: context.certificate.fingerprint)
    }

    enum Order: CaseIterable, Sendable {
        case asSent, reversed, twice
    }

    @Test(arguments: Order.allCases)
    func `a ClientHello in several datagrams is put together`(order: Order) throws {
        let pair = try talkativePair()
        var isFirst = true
        var fragments = 0
        pair.wire = { side, datagrams in
            guard side == .client, isFirst else { return datagrams }
            isFirst = false
            fragments = datagrams.count
            return switch order {
            case .asSent: datagrams
            case .reversed: datagrams.reversed()
            case .twice: datagrams + datagrams
            }
        }
        pair.start()
        pair.run()
        #expect(fragments > 2)
        #expect(pair.isConnected)
        expectWorking(pair)
    }

    @Test func `a ClientHello in fragments of one byte is put together`() throws {
        let pair = try DTLSPair()
        var isFirst = true
        pair.wire = { [self] side, datagrams in
            guard side == .client, isFirst, let hello = datagrams.first else { return datagrams }
            isFirst = false
            let message = Array(hello.dropFirst(25))
            let fragments = message.indices.flatMap { index -> [UInt8] in
                Array(hello[13..<19]) + [0, UInt8(index >> 8), UInt8(index & 0xff), 0, 0, 1, message[index]]
            }
            return [record(22, epoch: 0, sequence: 0, fragments)]
        }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
    }

    @Test func `a message that claims to be huge is dropped`() throws {
        let pair = try DTLSPair()
        // ClientHello of 2^24 - 1 bytes, the first 100 of it.
        let header: [UInt8] = [1, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 100]
        let huge = record(22, epoch: 0, header + [UInt8](repeating: 3, count: 100))
        pair.wire = { _, datagrams in [huge] + datagrams }
        pair.start()
        pair.run()
        #expect(pair.isConnected)
    }

    @Test func `nothing that was sent once does anything when it comes again`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        expectWorking(pair)
        let before = pair.datagramsSent
        for side in DTLSPair.Side.allCases {
            for datagram in before[side, default: []] {
                pair.port(side.other).receive(datagram.span.bytes, at: .zero)
                // Back to who sent it, too.
                pair.port(side).receive(datagram.span.bytes, at: .zero)
            }
        }
        pair.run()
        #expect(pair.datagramsSent == before)
        #expect(pair.messages(.server).count == 1)
        expectWorking(pair)
    }

    @Test func `noise that looks like records ends nothing`() throws {
        let pair = try DTLSPair()
        pair.start()
        pair.run()
        var random = EngineRandom.seeded(19)
        for round in 0..<3_000 {
            let type = UInt8(20 + round % 4)
            let noise = record(
                type, epoch: UInt8(round / 4 % 3), sequence: UInt8(truncatingIfNeeded: round), random.bytes(round % 80))
            pair.client.receive(noise.span.bytes, at: .zero)
            pair.server.receive(noise.span.bytes, at: .zero)
        }
        expectWorking(pair)
    }
}
