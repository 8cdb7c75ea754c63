import Foundation
import ProgramRun
import RTCEngine
import RTCSecurity
import RTCWire
import Testing

@testable import RTCNetwork
@testable import TURNServer

/// The server with real sockets on 127.0.0.1, and our own client at it.
@Suite(.timeLimit(.minutes(2))) struct TURNServiceTests {
    private static let loopback = IPAddress.v4(0x7f00_0001)
    private static let secret = "shared"

    private static func service(
        certificate: ServiceCertificate? = nil, _ change: (inout TURNServiceConfiguration) -> Void = { _ in }
    ) async throws -> (service: TURNService, ports: TURNService.Ports) {
        let server = TURNServerConfiguration(
            relayAddresses: [.init(local: loopback)], accounts: TURNAccounts(secrets: [secret]))
        var configuration = TURNServiceConfiguration(server: server, addresses: [loopback])
        configuration.port = 0
        configuration.tlsPort = 0
        if let certificate {
            configuration.identity = try TLSIdentity(
                certificateChain: certificate.certificate, privateKey: certificate.key)
        }
        change(&configuration)
        let service = TURNService(configuration)
        return (service, try await service.start())
    }

    /// A connection that shows nothing but relayed addresses.
    private static func connection(
        _ url: String, relayOnly: Bool = true, authorities: String? = nil
    ) throws -> PeerConnection {
        let issued = TimeLimitedCredential(
            name: "ann", expires: Int64(Date().timeIntervalSince1970) + 60, secret: secret)
        let server = PeerConnectionConfiguration.ICEServer(
            urls: [url], username: issued.username, credential: issued.password)
        var configuration = try PeerConnectionConfiguration(
            iceServers: relayOnly ? [server] : [], addresses: .only([loopback]))
        configuration.iceTransportPolicy = relayOnly ? .relay : .all
        configuration.turnCertificateAuthorities = authorities
        return PeerConnection(configuration: configuration, loop: NetworkLoop(name: "test-turn-peer"))
    }

    private static func described(_ connection: PeerConnection) async throws -> SessionDescriptionInit {
        let events = connection.events
        try await connection.setLocalDescription()
        if await connection.iceGatheringState != .complete {
            for await event in events {
                if case .iceGatheringStateChange(.complete) = event { break }
            }
        }
        guard let description = await connection.localDescription else { throw PeerConnectionError.peer(.closed) }
        return description
    }

    /// Sends 256 KiB each way and looks whether they arrive as they were.
    ///
    /// - Parameter answered: sees the right one's answer before the left one does.
    private static func talk(
        _ left: PeerConnection, _ right: PeerConnection,
        answered: (SessionDescriptionInit) async throws -> Void = { _ in }
    ) async throws {
        let ours = try await left.createDataChannel("test", DataChannelInit(negotiated: true, id: 5))
        let theirs = try await right.createDataChannel("test", DataChannelInit(negotiated: true, id: 5))
        try await right.setRemoteDescription(try await described(left))
        let answer = try await described(right)
        try await answered(answer)
        try await left.setRemoteDescription(answer)
        let data = (0..<262_144).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        for (from, to) in [(ours, theirs), (theirs, ours)] {
            try await from.waitUntilOpen()
            try await from.send(.binary(data))
            for await message in to.messages {
                #expect(message == .binary(data))
                break
            }
        }
    }

    @Test(arguments: [TURNClientPath.Transport.udp, .tcp, .tls])
    func `two who show nothing but relayed addresses reach each other`(
        transport: TURNClientPath.Transport
    ) async throws {
        let certificate = try ServiceCertificate()
        defer { certificate.remove() }
        let (service, ports) = try await Self.service(certificate: certificate)
        let url =
            switch transport {
            case .udp: "turn:127.0.0.1:\(ports.port)"
            case .tcp: "turn:127.0.0.1:\(ports.port)?transport=tcp"
            case .tls: "turns:127.0.0.1:\(try #require(ports.tlsPort))"
            }
        let left = try Self.connection(url, authorities: certificate.certificate)
        let right = try Self.connection(url, authorities: certificate.certificate)
        try await Self.talk(left, right)
        #expect(service.statistics.allocations == 2)
        #expect(service.statistics.bytesToPeers > 500_000 && service.statistics.bytesToClients > 500_000)
        await left.close()
        await right.close()
        try await until("no allocation is left") { service.statistics.allocations == 0 }
        #expect(service.statistics.errors == [401: 2])
        await service.stop()
    }

    #if os(Linux)
        @Test func `what the system drops because more waits to be read is counted`() async throws {
            let (service, ports) = try await Self.service { $0.patience = .milliseconds(50) }
            // Twice as much as may wait at most.
            let count = 2 * UDPSocket.sharedBuffer / 1_000
            try await service.send(count, to: TransportAddress(Self.loopback, port: ports.port))
            try await until("what the system drops is counted") { service.statistics.overrun >= count / 4 }
            #expect(service.statistics.overrun < count)
            await service.stop()
        }
    #endif

    @Test func `one side relays, the other does not know: by a socket of the server's`() async throws {
        let (service, ports) = try await Self.service {
            $0.server.policy.insecurelyAllowed = [IPPrefix("127.0.0.1/32")].compactMap { $0 }
        }
        let left = try Self.connection("turn:127.0.0.1:\(ports.port)")
        let right = try Self.connection("", relayOnly: false)
        try await Self.talk(left, right)
        #expect(service.statistics.allocationsMade == 1 && service.statistics.bytesToPeers > 250_000)
        await left.close()
        await right.close()
        await service.stop()
    }

    @Test func `a service of the host that is named is reached, and no other`() async throws {
        let (service, ports) = try await Self.service()
        let left = try Self.connection("turn:127.0.0.1:\(ports.port)")
        let right = try Self.connection("", relayOnly: false)
        try await Self.talk(left, right) { answer in
            let candidate = try #require(
                answer.sdp.firstMatch(of: #/a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+) typ host/#))
            let port = try #require(UInt16(candidate.1))
            await service.reach([TURNHostService(local: TransportAddress(Self.loopback, port: port))])
        }
        #expect(service.statistics.allocationsMade == 1 && service.statistics.drops[.forbidden] == nil)
        #expect(service.statistics.bytesToPeers > 250_000 && service.statistics.bytesToClients > 250_000)
        // The same address, another port, as before there was a service.
        let other = try Self.connection("", relayOnly: false)
        let again = try Self.connection("turn:127.0.0.1:\(ports.port)")
        _ = try await again.createDataChannel("test", DataChannelInit(negotiated: true, id: 5))
        _ = try await other.createDataChannel("test", DataChannelInit(negotiated: true, id: 5))
        try await other.setRemoteDescription(try await Self.described(again))
        try await again.setRemoteDescription(try await Self.described(other))
        try await until("what is forbidden is counted") { service.statistics.drops[.forbidden, default: 0] > 0 }
        for connection in [left, right, again, other] { await connection.close() }
        await service.stop()
    }

    @Test func `whoever connects and says nothing, or nonsense, is sent away`() async throws {
        let (service, ports) = try await Self.service {
            $0.patience = .milliseconds(100)
            $0.maximumStreamsPerAddress = 2
        }
        let address = TransportAddress(Self.loopback, port: ports.port)
        let idle = try TCPProbe(address)
        #expect(await idle.ended())
        let babbler = try TCPProbe(address, saying: Array("GET / HTTP/1.1\r\n\r\n".utf8))
        #expect(await babbler.ended())
        // Nor is the end of what could not be relayed waited for.
        let announcer = try TCPProbe(address, saying: [0x40, 0, 0xff, 0xff])
        #expect(await announcer.ended())
        await service.stop()
    }

    @Test func `what is too large to be relayed is passed over and counted, and the connection goes on`() async throws {
        let (service, ports) = try await Self.service()
        let binding = STUNMessage(.request, transactionID: STUNTransactionID(high: 1, low: 2))
        let indication = STUNMessage(
            .indication, .send, transactionID: STUNTransactionID(high: 1, low: 1),
            attributes: [
                .turn(.xorPeerAddress(TransportAddress(.v4(0xc633_6414), port: 7_000))),
                .turn(.data([UInt8](repeating: 0, count: 2_200))),
            ])
        let large: [UInt8] =
            [0x40, 0, 0xff, 0xff] + [UInt8](repeating: 0, count: 65_536)
            + indication.encoded(signedWith: nil, fingerprint: false)
        let probe = try TCPProbe(
            TransportAddress(Self.loopback, port: ports.port),
            saying: large + binding.encoded(signedWith: nil, fingerprint: false))
        // The answer's first byte, and not the end.
        #expect(await !probe.ended())
        try await until("what was too large is counted") { service.statistics.drops == [.tooLarge: 2] }
        await service.stop()
    }

    @Test func `one address has so many connections without an allocation and no more`() async throws {
        let (service, ports) = try await Self.service { $0.maximumStrangersPerAddress = 2 }
        let address = TransportAddress(Self.loopback, port: ports.port)
        let strangers = [try TCPProbe(address), try TCPProbe(address)]
        let third = try TCPProbe(address)
        #expect(await third.ended())
        await service.stop()
        for stranger in strangers { #expect(await stranger.ended()) }
    }

    @Test func `after its end its ports are free, and it can be started anew`() async throws {
        let (first, ports) = try await Self.service()
        await #expect(throws: TURNServiceError.self) { try await Self.service { $0.port = ports.port } }
        await first.stop()
        let (second, again) = try await Self.service { $0.port = ports.port }
        #expect(again.port == ports.port)
        await second.stop()
    }

    @Test func `a certificate that is missing, or not the key's, is told`() throws {
        let (one, other) = (try ServiceCertificate(), try ServiceCertificate())
        defer {
            one.remove()
            other.remove()
        }
        #expect(throws: SecurityError.self) { try TLSIdentity(certificateChain: "/nowhere.pem", privateKey: one.key) }
        #expect(throws: SecurityError.self) {
            try TLSIdentity(certificateChain: one.certificate, privateKey: other.key)
        }
        #expect(throws: Never.self) { try TLSIdentity(certificateChain: one.certificate, privateKey: one.key) }
    }
}

/// A TCP connection that says something and waits for its end.
private final class TCPProbe {
    private let descriptor: Int32

    init(_ address: TransportAddress, saying bytes: [UInt8] = []) throws {
        guard case .v4(let ip) = address.ip else { throw CocoaError(.featureUnsupported) }
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var there = sockaddr_in()
        there.sin_family = sa_family_t(AF_INET)
        there.sin_port = address.port.bigEndian
        there.sin_addr.s_addr = ip.bigEndian
        let result = withUnsafePointer(to: &there) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0, bytes.isEmpty || write(descriptor, bytes, bytes.count) == bytes.count else {
            throw CocoaError(.fileReadUnknown)
        }
    }

    deinit { close(descriptor) }

    /// True when the other side has ended it; on a thread of its own, since it waits.
    func ended() async -> Bool {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var byte: UInt8 = 0
                // The end, or a reset: what was said was not read.
                continuation.resume(returning: read(descriptor, &byte, 1) <= 0)
            }
        }
    }
}

/// A certificate for 127.0.0.1 that vouches for itself, made by OpenSSL's program.
private struct ServiceCertificate {
    let folder: URL
    var certificate: String { folder.appending(path: "certificate.pem").path }
    var key: String { folder.appending(path: "key.pem").path }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "roost-turn-server-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let status = try runToEnd(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=roost test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ])
        guard status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

extension TURNService {
    /// Sends datagrams on the service's own thread, which reads none meanwhile.
    fileprivate func send(_ count: Int, to address: TransportAddress) throws {
        let socket = try UDPSocket(binding: TransportAddress(address.ip, port: 0))
        let datagram = [UInt8](repeating: 0, count: 1_000)
        var batch = SendBatch()
        for _ in 0..<count {
            batch.append(datagram.span.bytes, to: address)
            if batch.isFull { batch.flush(on: socket) }
        }
        batch.flush(on: socket)
    }
}
