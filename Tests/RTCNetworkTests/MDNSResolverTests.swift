import Foundation
import ProgramRun
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// Names of candidates, answered by a responder that we did not write: python-zeroconf, on loopback.
@Suite(.timeLimit(.minutes(2))) struct MDNSResolverTests {
    /// Another for each test: all of them talk in one group, and hear each other's answers.
    private let name = UUID().uuidString.lowercased()

    @Test(.enabled(if: Responder.isInstalled, "python-zeroconf is not installed"))
    func `a connection finds a peer that shows only a name`() async throws {
        let responder = try Responder(name: name)
        defer { responder.stop() }
        let configuration = try ConnectedPair.configuration()
        let shy = PeerConnection(configuration: configuration)
        let curious = PeerConnection(configuration: configuration)
        let events = (shy: shy.events, curious: curious.events)
        _ = try await shy.addTransceiver(.audio)
        try await shy.setLocalDescription()
        // As browsers do it: the name in the candidate, and nothing in the description. What `curious` has is not told,
        // so only its own checks can find the way.
        let offer = try #require(await shy.localDescription).sdp.split(separator: "\r\n")
            .filter { !$0.hasPrefix("a=candidate") && !$0.hasPrefix("a=end-of-candidates") }.joined(separator: "\r\n")
        try await curious.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: offer + "\r\n"))
        try await curious.setLocalDescription()
        let answer = try #require(await curious.localDescription).sdp.split(separator: "\r\n")
            .filter { !$0.hasPrefix("a=candidate") && !$0.hasPrefix("a=end-of-candidates") }.joined(separator: "\r\n")
        try await shy.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: answer + "\r\n"))
        for await event in events.shy {
            guard case .iceCandidate(var candidate) = event else { continue }
            candidate.candidate = candidate.candidate.replacing("127.0.0.1", with: "\(name).local")
            try await curious.addICECandidate(candidate)
            break
        }
        for await event in events.curious { if case .connectionStateChange(.connected, _) = event { break } }
        let pair = try #require(await curious.getStats().candidates.first { $0.side == .remote })
        // W3C webrtc-stats §8.13: the address behind a name is not shown.
        #expect(pair.candidateType == "host" && pair.address == nil)
        await shy.close()
        await curious.close()
    }

    @Test(.enabled(if: Responder.isInstalled, "python-zeroconf is not installed"))
    func `a name that somebody has is found, others are not`() async throws {
        let responder = try Responder(name: name)
        defer { responder.stop() }
        let found = try await lookUp([
            "\(name).local", "00000000-0000-4000-8000-000000000000.local", "other.local",
        ])
        #expect(found == ["\(name).local": .v4(0x7f00_0001)])
    }

    @Test func `a responder that answers to the group is heard`() async throws {
        // As Chromium's does, whoever asks.
        let answerer = try GroupAnswerer(name: "\(name).local", address: .v4(0xc000_0207))
        let loop = NetworkLoop(name: "test-answerer")
        try await LoopRunner(loop).run { try answerer.attach(to: loop) }
        let found = try await lookUp(["\(name).local"])
        #expect(found == ["\(name).local": .v4(0xc000_0207)])
        await LoopRunner(loop).run { answerer.close() }
    }

    /// Looks names up on loopback until each has an answer.
    private func lookUp(_ names: [String]) async throws -> [String: IPAddress] {
        let loop = NetworkLoop(name: "test-mdns")
        let interfaces = try NetworkInterface.current().filter { $0.address == .v4(0x7f00_0001) }
        let (answers, continuation) = AsyncStream.makeStream(of: (String, IPAddress?).self)
        let runner = LoopRunner(loop)
        await runner.hold {
            let resolver = MDNSResolver(on: loop, interfaces: interfaces) { continuation.yield(($0, $1)) }
            for name in names { resolver.resolve(name) }
            return resolver
        }
        var found: [String: IPAddress] = [:]
        var count = 0
        for await (name, address) in answers {
            found[name] = address
            count += 1
            if count == names.count { break }
        }
        #expect(await runner.load.readers == 0, "the sockets are closed when nothing is looked up")
        await runner.drop()
        return found
    }
}

/// Does things on a loop's thread.
private actor LoopRunner {
    nonisolated let loop: NetworkLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var held: AnyObject?

    init(_ loop: NetworkLoop) { self.loop = loop }

    func run(_ body: @Sendable () throws -> Void) rethrows { try body() }
    func hold(_ make: @Sendable () -> AnyObject) { held = make() }
    func drop() { held = nil }
    var load: (timers: Int, readers: Int) { loop.load }
}

/// Answers every question by multicast, with one address.
private final class GroupAnswerer: SocketReader, @unchecked Sendable {
    private let listener: MDNSListenerForTests
    private let answer: [UInt8]

    init(name: String, address: IPAddress) throws {
        listener = try MDNSListenerForTests()
        let message = DNSMessage(id: 0, addresses: [.init(name: name, address: address, timeToLive: 120)])
        answer = try #require(message.encoded())
    }

    func attach(to loop: NetworkLoop) throws { _ = try loop.add(listener.socket, reader: self) }
    func close() { listener.socket.close() }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        var outgoing = SendBatch()
        _ = batch.receive(from: listener.socket) { datagram, _ in
            // A question, and none of our own answers.
            guard datagram.count > 12, datagram[2] & 0x80 == 0 else { return }
            outgoing.append(answer, to: MDNSResolver.group4)
        }
        outgoing.flush(on: listener.socket)
    }
}

/// The group on loopback, for hearing and, from the group's own port, for answering.
private struct MDNSListenerForTests {
    let socket: UDPSocket

    init() throws {
        let loopback = try NetworkInterface.current().first { $0.address == .v4(0x7f00_0001) }
        socket = try #require(loopback).openMDNSListener()
        var source = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
        setsockopt(socket.descriptor, 0, IP_MULTICAST_IF, &source, socklen_t(MemoryLayout<in_addr>.size))
    }
}

/// python-zeroconf with one name.
private final class Responder {
    /// The one that the interop tests have (Scripts/python-environment.sh), or else the system's.
    private static let python: URL = {
        let own = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: ".venv/bin/python")
        return FileManager.default.isExecutableFile(atPath: own.path) ? own : URL(filePath: "/usr/bin/python3")
    }()

    static let isInstalled = (try? runToEnd(python.path, ["-c", "import zeroconf"])) == 0

    private static let program = """
        import socket, sys
        from zeroconf import ServiceInfo, Zeroconf
        zeroconf = Zeroconf(interfaces=["127.0.0.1"])
        zeroconf.register_service(ServiceInfo(
            "_roost._udp.local.", sys.argv[1] + "._roost._udp.local.", port=1, server=sys.argv[1] + ".local.",
            addresses=[socket.inet_aton("127.0.0.1")]))
        print("ready", flush=True)
        sys.stdin.read()
        """

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Returns when the name can be asked for.
    init(name: String) throws {
        process.executableURL = Self.python
        process.arguments = ["-c", Self.program, name]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = try output.fileHandleForReading.read(upToCount: 6)
    }

    /// At once, as with every child of a pool's thread.
    func stop() { kill(process.processIdentifier, SIGKILL) }
}
