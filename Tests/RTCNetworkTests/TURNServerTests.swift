import Foundation
import MediaFiles
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// A TURN server that we did not write: coturn, over UDP, TCP and TLS.
@Suite(.enabled(if: TURNProcess.isInstalled, "coturn is not installed"), .timeLimit(.minutes(5)))
struct TURNServerTests {
    private static func configuration(
        _ servers: [PeerConnectionConfiguration.ICEServer], relayOnly: Bool = true,
        address: IPAddress = .v4(0x7f00_0001), authorities: String? = nil,
        _ change: (inout ICEConfiguration) -> Void = { _ in }
    ) throws -> PeerConnectionConfiguration {
        var ice = ICEConfiguration()
        change(&ice)
        var configuration = try PeerConnectionConfiguration(iceServers: servers, addresses: .only([address]), ice: ice)
        configuration.iceTransportPolicy = relayOnly ? .relay : .all
        configuration.turnCertificateAuthorities = authorities
        return configuration
    }

    /// Gathers alone: what candidates there are, and what went wrong.
    private static func gathered(
        _ configuration: PeerConnectionConfiguration
    ) async throws -> (candidates: [String], errors: [ICEServerError]) {
        let connection = PeerConnection(configuration: configuration, loop: NetworkLoop(name: "test-turn"))
        let events = connection.events
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        var candidates: [String] = []
        var errors: [ICEServerError] = []
        for await event in events {
            if case .iceCandidate(let candidate) = event, !candidate.candidate.isEmpty {
                candidates.append(candidate.candidate)
            }
            if case .iceCandidateError(let error) = event { errors.append(error) }
            if case .iceGatheringStateChange(.complete) = event { break }
        }
        await connection.close()
        return (candidates, errors)
    }

    @Test(arguments: [TURNServer.Transport.udp, .tcp, .tls])
    func `a call between two who show nothing but relayed addresses`(transport: TURNServer.Transport) async throws {
        let certificate = try TURNCertificate()
        defer { certificate.remove() }
        let coturn = try await TURNProcess(certificate: certificate)
        defer { coturn.stop() }
        let configuration = try Self.configuration(
            [coturn.server(transport, host: "localhost")], authorities: certificate.certificate)
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        #expect(try await pair.carriesFrames(20))
        try await ConnectedPair.uses(["relay", "relay"], pair.offerer)
        try await ConnectedPair.uses(["relay", "relay"], pair.answerer)
        await coturn.says("CHANNEL_BIND processed, success")
        for connection in [pair.offerer, pair.answerer] {
            let sdp = await connection.localDescription?.sdp ?? ""
            #expect(sdp.contains(" typ relay raddr 0.0.0.0 rport 9"))
            #expect(!sdp.contains(" typ host") && !sdp.contains(" typ srflx"))
            let ours = await connection.getStats().candidates.filter { $0.side == .local }
            #expect(!ours.isEmpty && ours.allSatisfy { $0.relayProtocol == "\(transport)" })
            #expect(ours.allSatisfy { $0.url == coturn.url(transport, host: "localhost") })
        }
        await pair.close()
        // The lifetime of 0 at the end.
        await coturn.says("refreshed, realm=<roost>, username=<user>, lifetime=0")
    }

    @Test func `a credential that was refused is replaced, and the next restart has a relay`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let connection = PeerConnection(
            configuration: try Self.configuration([coturn.server(credential: "wrong")]),
            loop: NetworkLoop(name: "test-turn"))
        _ = try await connection.addTransceiver(.audio)
        for attempt in 0..<2 {
            let events = connection.events
            try await connection.setLocalDescription(await connection.createOffer(iceRestart: attempt > 0))
            var candidates = 0
            var errors: [Int] = []
            for await event in events {
                if case .iceCandidate(let candidate) = event, !candidate.candidate.isEmpty { candidates += 1 }
                if case .iceCandidateError(let error) = event { errors.append(error.errorCode) }
                if case .iceGatheringStateChange(.complete) = event { break }
            }
            #expect(candidates == attempt)
            #expect(errors == (attempt == 0 ? [401] : []))
            try await connection.setICEServers([coturn.server()])
        }
        await #expect(throws: PeerConnectionError.iceServerCredential("turn:localhost")) {
            try await connection.setICEServers([.init(urls: ["turn:localhost"])])
        }
        await connection.close()
        await #expect(throws: PeerConnectionError.peer(.closed)) { try await connection.setICEServers([]) }
    }

    @Test(arguments: [TURNServer.Transport.udp, .tcp])
    func `a call whose relay is gone goes on over another one`(transport: TURNServer.Transport) async throws {
        let first = try await TURNProcess()
        defer { first.stop() }
        let second = try await TURNProcess()
        defer { second.stop() }
        let configuration = try Self.configuration([first.server(transport)])
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        #expect(try await pair.carriesFrames(20))

        // The second is known by a name, which has to be looked up meanwhile.
        for connection in [pair.offerer, pair.answerer] {
            try await connection.setICEServers([second.server(transport, host: "localhost")])
        }
        first.stop()
        let offer = try await pair.offerer.createOffer(iceRestart: true)
        try await pair.answerer.setRemoteDescription(await Self.gathered(offer, by: pair.offerer))
        let answer = try await pair.answerer.createAnswer()
        try await pair.offerer.setRemoteDescription(await Self.gathered(answer, by: pair.answerer))
        for connection in [pair.offerer, pair.answerer] {
            try await ConnectedPair.uses(relay: second.url(transport, host: "localhost"), connection)
        }
        #expect(try await pair.carriesFrames(20))
        await pair.close()
    }

    @Test func `a call goes over to relays alone with the next offer, and back again`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let configuration = try Self.configuration([coturn.server()], relayOnly: false)
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        for policy in [ICETransportPolicy.relay, .all] {
            var changed = configuration
            changed.iceTransportPolicy = policy
            for connection in [pair.offerer, pair.answerer] { try await connection.setConfiguration(changed) }
            let offer = try await pair.offerer.createOffer()
            try await pair.answerer.setRemoteDescription(await Self.gathered(offer, by: pair.offerer))
            let answer = try await pair.answerer.createAnswer()
            try await pair.offerer.setRemoteDescription(await Self.gathered(answer, by: pair.answerer))
            let type = policy == .relay ? "relay" : "host"
            for connection in [pair.offerer, pair.answerer] {
                try await ConnectedPair.uses([type, type], connection)
                let sdp = await connection.localDescription?.sdp ?? ""
                #expect(sdp.contains(" typ relay") && sdp.contains(" typ host") == (policy == .all))
            }
            #expect(try await pair.carriesFrames(20))
        }
        await pair.close()
    }

    /// The description with all candidates.
    private static func gathered(
        _ description: SessionDescriptionInit, by connection: PeerConnection
    ) async throws -> SessionDescriptionInit {
        let events = connection.events
        try await connection.setLocalDescription(description)
        for await event in events { if case .iceGatheringStateChange(.complete) = event { break } }
        return try #require(await connection.localDescription)
    }

    @Test func `one side relays, the other does not know`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let pair = try await ConnectedPair.connected(
            try Self.configuration([coturn.server()]), try Self.configuration([], relayOnly: false),
            on: NetworkLoop(name: "test-turn"))
        #expect(try await pair.carriesFrames(20))
        // On a host of one address what the server sees is the host's own.
        try await ConnectedPair.uses(["relay", "host"], pair.offerer)
        try await ConnectedPair.uses(["host", "relay"], pair.answerer)
        await pair.close()
    }

    @Test func `a relayed candidate tells what the server saw, and comes after the host's`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let (candidates, errors) = try await Self.gathered(
            Self.configuration([coturn.server(), coturn.server(.tcp)], relayOnly: false))
        #expect(errors == [])
        let parsed = try candidates.map { try ICECandidate(parsing: $0) }
        #expect(parsed.map(\.type) == [.host, .relayed, .relayed])
        let host = try #require(parsed.first)
        #expect(parsed.contains { $0.type == .relayed && $0.relatedAddress == host.address.transportAddress })
        // Over UDP before over TCP.
        let relayed = parsed.filter { $0.type == .relayed }
        let overUDP = try #require(relayed.first { $0.relatedAddress == host.address.transportAddress })
        #expect(relayed.allSatisfy { $0.priority <= overUDP.priority })
        #expect(Set(relayed.map(\.priority)).count == 2)
    }

    // MARK: What goes wrong

    @Test func `a wrong password is told as 401, and gathering ends`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let (candidates, errors) = try await Self.gathered(
            Self.configuration([coturn.server(credential: "guess")], relayOnly: false))
        #expect(candidates.count == 1)
        #expect(
            errors == [
                ICEServerError(
                    url: coturn.url(), errorCode: 401,
                    errorText: "The TURN server does not accept this user name and password.")
            ])
    }

    @Test func `a server that nobody vouches for, or under another's name, is not talked to`() async throws {
        let certificate = try TURNCertificate(names: "DNS:turn.example.org")
        defer { certificate.remove() }
        let coturn = try await TURNProcess(certificate: certificate)
        defer { coturn.stop() }
        let unknown = try await Self.gathered(Self.configuration([coturn.server(.tls)]))
        #expect(unknown.candidates.isEmpty && unknown.errors.map(\.errorCode) == [701])
        #expect(unknown.errors.first?.errorText.contains("the server's certificate was refused") == true)
        let other = try await Self.gathered(
            Self.configuration([coturn.server(.tls, host: "localhost")], authorities: certificate.certificate))
        #expect(other.candidates.isEmpty && other.errors.map(\.errorCode) == [701])
        #expect(other.errors.first?.errorText.contains("hostname mismatch") == true)
        #expect(!coturn.text.contains("ALLOCATE"))
    }

    @Test func `servers that fail are told one by one, and the one that works counts`() async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let closed = try StreamListener(binding: TransportAddress(.v4(0x7f00_0001), port: 0)).address.port
        let (candidates, errors) = try await Self.gathered(
            Self.configuration([
                .init(urls: ["turn:127.0.0.1:\(closed)?transport=tcp"], username: "user", credential: "secret"),
                .init(urls: ["turn:no-such-host.invalid"], username: "user", credential: "secret"),
                coturn.server(),
            ]))
        #expect(candidates.count == 1)
        #expect(errors.map(\.errorCode) == [701, 701])
        #expect(errors.contains { $0.errorText.contains("Connection refused") })
        #expect(errors.contains { $0.errorText.contains("name is not known") })
    }

    @Test func `a peer that the server forbids is not reached, and nothing breaks`() async throws {
        let coturn = try await TURNProcess("127.0.0.1", ["--denied-peer-ip=127.0.0.1"])
        defer { coturn.stop() }
        let relayed = try await Self.gathered(Self.configuration([coturn.server()]))
        #expect(relayed.candidates.count == 1)
    }

    @Test func `quota reached: 486`() async throws {
        let coturn = try await TURNProcess("127.0.0.1", ["--user-quota=1"])
        defer { coturn.stop() }
        let (candidates, errors) = try await Self.gathered(
            Self.configuration([coturn.server(), coturn.server(.tcp)]))
        #expect(candidates.count == 1)
        #expect(errors.map(\.errorCode) == [486])
    }

    @Test func `a server that refers to another is left for it`() async throws {
        let second = try await TURNProcess()
        defer { second.stop() }
        let first = try await TURNProcess("127.0.0.1", ["--alternate-server=127.0.0.1:\(second.port)"])
        defer { first.stop() }
        for transport in [TURNServer.Transport.udp, .tcp] {
            let (candidates, errors) = try await Self.gathered(Self.configuration([first.server(transport)]))
            #expect(candidates.count == 1)
            #expect(errors == [])
        }
        await second.says("ALLOCATE processed, success")
        #expect(!first.text.contains("ALLOCATE processed, success"))
    }

    // MARK: Time

    @Test func `a call goes on while nonces, permissions, channels and the allocation run out`() async throws {
        let coturn = try await TURNProcess(
            "127.0.0.1",
            ["--stale-nonce=3", "--max-allocate-lifetime=8", "--permission-lifetime=4", "--channel-lifetime=4"])
        defer { coturn.stop() }
        let configuration = try Self.configuration([coturn.server()]) {
            $0.turn.permissionLifetime = .milliseconds(4_000)
            $0.turn.channelLifetime = .milliseconds(4_000)
            $0.turn.margin = .milliseconds(2_000)
        }
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        // Each mark stands for something that has run out and was renewed in the middle of the call.
        let frames = pair.answererVideo.receiver.frames
        let first = try testVideo().frames[0]
        let sender = Task {
            for number in 0..<600 {
                try await Task.sleep(for: .milliseconds(100))
                try await pair.offererVideo.sender.send(
                    EncodedFrame(
                        payload: first.payload, timestamp: UInt32(number) * 9_000, isKeyFrame: true, format: .h264))
            }
        }
        await coturn.says("Stale nonce", "REFRESH processed, success")
        var received = 0
        // Ten seconds: more than twice of each lifetime.
        for await _ in frames {
            received += 1
            if received == 100 { break }
        }
        sender.cancel()
        #expect(await pair.offerer.connectionState == .connected)
        #expect(await pair.answerer.connectionState == .connected)
        await pair.close()
    }

    @Test(arguments: [TURNServer.Transport.udp, .tcp])
    func `a server that is killed in the middle of a call: the call fails and says so`(
        transport: TURNServer.Transport
    ) async throws {
        let coturn = try await TURNProcess()
        defer { coturn.stop() }
        let configuration = try Self.configuration([coturn.server(transport)]) {
            $0.consentInterval = .milliseconds(500)
            $0.consentTimeout = .milliseconds(3_000)
            $0.disconnectedTimeout = .milliseconds(1_000)
        }
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        // A pair that fails before it was nominated is followed by a search for another: that is not this story.
        try await ConnectedPair.nominated(pair.offerer)
        let events = pair.offerer.events
        coturn.stop()
        var states: [PeerConnectionState] = []
        for await event in events {
            if case .connectionStateChange(let state, _) = event { states.append(state) }
            if states.last == .failed { break }
        }
        #expect(states == [.disconnected, .failed])
        await pair.close()
    }

    private static let hasIPv6 =
        (try? NetworkInterface.current().contains { $0.address == .v6(0, 1) }) ?? false

    @Test(.enabled(if: hasIPv6, "this host has no ::1"))
    func `a call over IPv6 relays`() async throws {
        let coturn = try await TURNProcess("::1", ["--allocation-default-address-family=keep"])
        defer { coturn.stop() }
        let configuration = try Self.configuration([coturn.server(host: "[::1]")], address: .v6(0, 1))
        let pair = try await ConnectedPair.connected(
            configuration, configuration, on: NetworkLoop(name: "test-turn"))
        #expect(try await pair.carriesFrames(20))
        try await ConnectedPair.uses(["relay", "relay"], pair.offerer)
        #expect(await pair.offerer.localDescription?.sdp.contains("raddr :: rport 9") == true)
        await pair.close()
    }
}
