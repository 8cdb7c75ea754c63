import MediaFiles
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// Connections over TCP on 127.0.0.1: candidates of UDP are told to nobody.
@Suite(.timeLimit(.minutes(2))) struct TCPCandidateTests {
    private static let loopback = IPAddress.v4(0x7f00_0001)

    private func configuration(_ tcp: PeerConnectionConfiguration.TCPCandidates) throws -> PeerConnectionConfiguration {
        var configuration = try ConnectedPair.configuration()
        configuration.tcp = tcp
        return configuration
    }

    private func withoutCandidates(_ description: SessionDescriptionInit?) throws -> SessionDescriptionInit {
        var description = try #require(description)
        let lines = description.sdp.split(separator: "\r\n").filter {
            !$0.hasPrefix("a=candidate") && !$0.hasPrefix("a=end-of-candidates")
        }
        description.sdp = lines.joined(separator: "\r\n") + "\r\n"
        return description
    }

    /// Hands candidates of TCP over until this side is connected.
    private func forward(_ events: AsyncStream<PeerConnectionEvent>, to other: PeerConnection) async {
        for await event in events {
            switch event {
            case .iceCandidate(let candidate) where candidate.candidate.contains(" tcp "):
                try? await other.addICECandidate(candidate)
            case .connectionStateChange(.connected, _): return
            default: continue
            }
        }
    }

    private func connect(_ offerer: PeerConnection, _ answerer: PeerConnection) async throws {
        let (first, second) = (offerer.events, answerer.events)
        try await offerer.setLocalDescription()
        try await answerer.setRemoteDescription(withoutCandidates(offerer.localDescription))
        try await answerer.setLocalDescription()
        try await offerer.setRemoteDescription(withoutCandidates(answerer.localDescription))
        async let one: Void = forward(first, to: answerer)
        async let two: Void = forward(second, to: offerer)
        _ = await (one, two)
    }

    @Test(arguments: [true, false])
    func `frames flow over TCP, whichever side connects`(offererListens: Bool) async throws {
        let offerer = PeerConnection(
            configuration: try configuration(offererListens ? .activeAndPassive(port: 0) : .active))
        let answerer = PeerConnection(
            configuration: try configuration(offererListens ? .active : .activeAndPassive(port: 0)))
        let sending = try await offerer.addTransceiver(.video)
        let receiving = try await answerer.addTrack(.video)
        try await connect(offerer, answerer)
        let sent = try testVideo().frames.prefix(60)
        for (index, frame) in sent.enumerated() {
            try await sending.sender.send(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame,
                    format: .h264))
        }
        var received: [[UInt8]] = []
        for await frame in receiving.receiver.frames {
            received.append(frame.payload)
            if received.count == sent.count { break }
        }
        #expect(received == sent.map(\.payload))
        for side in [offerer, answerer] {
            let protocols = await side.getStats().candidates.map(\.transportProtocol)
            #expect(!protocols.isEmpty && protocols.allSatisfy { $0 == "tcp" })
        }
        // The goodbye goes over TCP too.
        let events = answerer.events
        await offerer.close()
        for await _ in events {}
        #expect(await answerer.connectionState == .closed)
    }

    @Test func `a browser's default, active on both sides, finds no way over TCP alone`() async throws {
        let connection = PeerConnection(configuration: try configuration(.active))
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        let lines = try #require(await connection.localDescription).sdp.split(separator: "\r\n").filter {
            $0.contains(" tcp ")
        }
        #expect(lines.count == 1)
        #expect(lines.first?.contains(" 127.0.0.1 9 typ host tcptype active") == true)
        await connection.close()
    }

    @Test func `strangers who connect are sent away: at once for nonsense, and the ninth who says nothing`()
        async throws
    {
        let loop = NetworkLoop(name: "test-strangers")
        let connection = PeerConnection(configuration: try configuration(.activeAndPassive(port: 0)), loop: loop)
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        let line = try #require(
            await connection.localDescription?.sdp.split(separator: "\r\n").first { $0.contains("tcptype passive") })
        let candidate = try ICECandidate(parsing: line)
        let address = try #require(candidate.address.transportAddress)
        let crowd = Crowd(on: loop)
        // A frame that is no check, a check under no credential, and a length without end that never comes.
        let foreign = STUNMessage(
            .request, transactionID: STUNTransactionID(high: 1, low: 1),
            attributes: [
                .username("some:body"), .priority(1),
            ]
        ).encoded(key: HMACSHA1(password: "a password of some length"))
        for bytes in [[0x80, 0, 0, 1], foreign] {
            try await crowd.connect(to: address, saying: StreamFraming.frame(bytes) ?? [])
            await crowd.waitForEnd(of: 1)
        }
        // Eight may wait for a while; whoever is next may not.
        for _ in 0..<8 { try await crowd.connect(to: address, saying: [0xff]) }
        try await crowd.connect(to: address, saying: [])
        await crowd.waitForEnd(of: 1)
        #expect(await crowd.ended == 3)
        await connection.close()
        await crowd.waitForEnd(of: 8)
    }
}

/// Connections of strangers, on the loop of whom they trouble.
private actor Crowd {
    nonisolated let loop: NetworkLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var members: [Member] = []
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation
    private(set) var ended = 0

    init(on loop: NetworkLoop) {
        self.loop = loop
        (ends, end) = AsyncStream.makeStream(of: Void.self)
    }

    func connect(to address: TransportAddress, saying bytes: [UInt8]) throws {
        let end = end
        let member = try Member(address) { end.yield() }
        try member.begin(on: loop, saying: bytes)
        members.append(member)
    }

    func waitForEnd(of count: Int) async {
        var left = count
        for await _ in ends {
            ended += 1
            left -= 1
            if left == 0 { return }
        }
    }
}

private final class Member: SocketReader {
    private let socket: StreamSocket
    private let ended: () -> Void

    init(_ address: TransportAddress, _ ended: @escaping () -> Void) throws {
        socket = try StreamSocket(connectingTo: address)
        self.ended = ended
    }

    func begin(on loop: NetworkLoop, saying bytes: [UInt8]) throws {
        _ = try socket.attach(to: loop, reader: self)
        if !bytes.isEmpty { _ = socket.write(bytes) }
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        socket.becameReady()
        var bytes: [UInt8] = []
        while true {
            switch socket.read(into: &bytes) {
            case .bytes: continue
            case .none: return
            case .ended, .failed:
                guard socket.state != .closed else { return }
                socket.close()
                return ended()
            }
        }
    }
}
