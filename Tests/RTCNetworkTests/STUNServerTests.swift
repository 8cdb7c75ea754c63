import Foundation
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// A STUN server that we did not write: coturn, on a free port of 127.0.0.1, behind a NAT that the test makes.
@Suite(.timeLimit(.minutes(2))) struct STUNServerTests {
    private static let program = "/usr/bin/turnserver"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: program), "coturn is not installed"))
    func `coturn tells a connection behind a NAT its address outside`() async throws {
        let server = try Coturn(program: Self.program)
        defer { server.stop() }
        let loop = NetworkLoop(name: "test-stun")
        let nat = try NAT(to: server.address)
        try await Resident(loop).attach(nat)
        let configuration = try PeerConnectionConfiguration(
            iceServers: [.init(urls: ["stun:localhost:\(nat.inside.address.port)"])],
            addresses: .only([.v4(0x7f00_0001)]))
        let connection = PeerConnection(configuration: configuration, loop: loop)
        let events = connection.events
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        var candidates: [String] = []
        for await event in events {
            if case .iceCandidate(let candidate) = event, !candidate.candidate.isEmpty {
                candidates.append(candidate.candidate)
            }
            if case .iceGatheringStateChange(.complete) = event { break }
        }
        #expect(candidates.count == 2)
        #expect(candidates.first?.contains("typ host") == true)
        let reflexive = try #require(candidates.last)
        #expect(reflexive.contains(" 127.0.0.1 \(nat.outside.address.port) typ srflx raddr 127.0.0.1 rport "))
        #expect(await connection.localDescription?.sdp.contains(reflexive) == true)
        await connection.close()
    }

    @Test(arguments: ["stun:no-such-host.invalid", "stun:127.0.0.1:9"])
    func `a server that nobody knows, or that does not answer, is told by its name in the configuration`(
        url: String
    ) async throws {
        var configuration = try ConnectedPair.configuration()
        configuration.iceServers = [.init(urls: [url])]
        let connection = PeerConnection(configuration: configuration, loop: NetworkLoop(name: "test-stun"))
        let events = connection.events
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        for await event in events {
            guard case .iceCandidateError(let error) = event else { continue }
            #expect(error.url == url && error.errorCode == 701)
            break
        }
        await connection.close()
    }
}

/// A NAT for one inside host: what comes to `inside` goes to the server from `outside`, and answers go back.
private final class NAT: SocketReader, @unchecked Sendable {
    let inside: UDPSocket
    let outside: UDPSocket
    private let server: TransportAddress
    private var host: TransportAddress?
    private var insideToken: UInt64?

    init(to server: TransportAddress) throws {
        self.server = server
        inside = try UDPSocket(binding: TransportAddress(.v4(0x7f00_0001), port: 0))
        outside = try UDPSocket(binding: TransportAddress(.v4(0x7f00_0001), port: 0))
    }

    func attach(to loop: NetworkLoop) throws {
        insideToken = try loop.add(inside, reader: self)
        _ = try loop.add(outside, reader: self)
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        let isOutbound = token == insideToken
        var outgoing = SendBatch()
        _ = batch.receive(from: isOutbound ? inside : outside) { datagram, sender in
            if isOutbound { host = sender }
            guard let destination = isOutbound ? server : host else { return }
            outgoing.append(datagram, to: destination)
        }
        outgoing.flush(on: isOutbound ? outside : inside)
    }
}

/// Does things on a loop's thread.
private actor Resident {
    nonisolated let loop: NetworkLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: NetworkLoop) { self.loop = loop }

    func attach(_ nat: NAT) throws { try nat.attach(to: loop) }
}

/// coturn as a STUN server for one test.
private final class Coturn {
    let address: TransportAddress
    private let process = Process()

    init(program: String) throws {
        // A port that was free a moment ago.
        address = try UDPSocket(binding: TransportAddress(.v4(0x7f00_0001), port: 0)).address
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "-n", "--stun-only", "--no-tls", "--no-dtls", "--no-tcp", "--no-cli", "--listening-ip=127.0.0.1",
            "--listening-port=\(address.port)", "--log-file=stdout", "--pidfile=/dev/null",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// At once: it has nothing to tidy up, and a child of a pool's thread may have inherited that SIGTERM is blocked.
    func stop() { kill(process.processIdentifier, SIGKILL) }
}
