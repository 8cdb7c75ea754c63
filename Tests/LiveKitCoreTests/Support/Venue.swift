import LiveKitProtocol
import RTCEngine
import RTCSecurity
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// A room in virtual time with clients that really negotiate and send, and between them what a worker does: one port
/// for all, told apart by usernames and addresses.
final class Venue {
    let room: RoomMachine
    private(set) var now = Instant.zero + .seconds(Int64(1))
    private(set) var clients: [TestClient] = []
    private(set) var webhooks: [LiveKitWebhookEvent] = []
    private(set) var outcomes: [RPCCallID: RPCOutcome] = [:]
    private(set) var agentOrders: [AgentOrder] = []
    private(set) var ending: LiveKitRoomEndReason?
    private(set) var tokens: [SignalID: Int] = [:]
    private var closed: Set<SignalID> = []

    private(set) var fragments: [String: RoomPeerID] = [:]
    private var addresses: [TransportAddress: RoomPeerID] = [:]
    private var forwarded = DatagramOutbox()
    private typealias Down = (bytes: [UInt8], from: TransportAddress, to: TransportAddress)
    private var down: [Down] = []
    private(set) var removed: Set<RoomPeerID> = []
    private var lastHost = 0

    /// Datagrams for a client, as the room sends them.
    var watch: (TestClient, [UInt8]) -> Void = { _, _ in }
    /// How long a datagram takes to a client; those of one client stay in their order.
    var delay: (TestClient, [UInt8]) -> Interval = { _, _ in .zero }
    private var travelling: [(due: Instant, client: TestClient, datagram: Down)] = []
    /// Datagrams on their way up or down that are lost.
    var isLost: (TestClient, [UInt8]) -> Bool = { _, _ in false }

    static let port = TransportAddress(.v4(0xc633_6401), port: 7_882)
    static let tcpPort = TransportAddress(.v4(0xc633_6401), port: 7_881)
    static let start: Int64 = 1_700_000_000
    static let security: OpenSSLSecurity = {
        do {
            return try OpenSSLSecurity()
        } catch {
            fatalError("\(error)")
        }
    }()

    let security: any SecurityProvider
    /// With a seed, everything is the same each time.
    private var random: EngineRandom
    /// How finely time goes by.
    private let tact: Interval
    let receives: MediaUnit
    /// Of the connections of those who join.
    var clientICE = ICEConfiguration()

    /// - Parameter receives: what clients make of their media. With packets nobody is needed who can decode them.
    init(
        tcpHosts: [TransportAddress] = [], seed: UInt64 = 7, security: any SecurityProvider = Venue.security,
        tact: Interval = .milliseconds(2), receives: MediaUnit = .frames,
        workers: AgentKinds = .none,
        _ change: (inout RoomConfiguration) -> Void = { _ in }
    ) {
        self.security = security
        self.tact = tact
        self.receives = receives
        random = .seeded(seed &* 2_654_435_761)
        var configuration = RoomConfiguration(name: "lounge")
        change(&configuration)
        room = RoomMachine(
            configuration: configuration,
            transport: RoomTransport(
                security: security, udpHosts: [Self.port], tcpHosts: tcpHosts,
                wallClockOffset: .seconds(Self.start)),
            random: .seeded(seed), offersAgents: { workers.contains($0) }, at: now)
        drain()
    }

    // MARK: People

    /// Somebody joins, with a first offer where the client has one connection.
    ///
    /// - Parameter tokenIdentity: whom the token names; nil for the same.
    @discardableResult
    func join(
        _ name: String, with tokenIdentity: String? = nil, _ mode: ConnectionMode = .single,
        codecs: [CodecParameters] = [.vp8, .h264],
        sound: [CodecParameters] = CodecParameters.defaultAudio, grants change: (inout VideoGrants) -> Void = { _ in },
        claims changeClaims: (inout AccessToken.Claims) -> Void = { _ in },
        request changeRequest: (inout LiveKitJoinRequest) -> Void = { _ in }
    ) throws -> TestClient {
        lastHost += 1
        let client = TestClient(
            name, mode, host: lastHost, codecs: codecs, sound: sound, in: self, random: &random)
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = "lounge"
        change(&grants)
        var claims = AccessToken.Claims()
        claims.video = grants
        changeClaims(&claims)
        var request = LiveKitJoinRequest.with {
            $0.connectionSettings.autoSubscribe = true
            $0.clientInfo = .with {
                $0.sdk = .python
                $0.protocol = 18
                $0.clientProtocol = 2
            }
        }
        if mode == .single { request.publisherOffer = try client.firstOffer(at: now) }
        changeRequest(&request)
        client.claims = claims
        clients.append(client)
        do {
            client.signal = try room.join(
                Arrival(
                    identity: name, tokenIdentity: tokenIdentity, claims: claims, mode: mode, request: request),
                at: now)
        } catch {
            clients.removeAll { $0 === client }
            throw error
        }
        drain()
        return client
    }

    /// They join one after the other, and their channels are open.
    func gather(
        _ people: [(String, ConnectionMode)], grants: (inout VideoGrants) -> Void = { _ in }
    ) throws -> [TestClient] {
        let clients = try people.map { try join($0.0, $0.1, grants: grants) }
        for client in clients where client.mode == .dual { try client.offer() }
        #expect(run { self.room.participants.allSatisfy { $0.state == .active } })
        run(for: .milliseconds(500))
        return clients
    }

    /// They join one after the other, and nothing of it is left in their lines.
    func assemble(_ people: [(String, ConnectionMode)]) throws -> [TestClient] {
        let clients = try people.map { try join($0.0, $0.1) }
        #expect(run { self.room.participants.allSatisfy { $0.state == .active } })
        run(for: .milliseconds(20))
        for client in clients { _ = client.news() }
        return clients
    }

    /// Somebody comes by one offer and its answer.
    @discardableResult
    func open(
        _ name: String, _ sections: [OfferedSection], _ exchange: Exchange = .publishing(.ours),
        codecs: [CodecParameters] = [.vp8, .h264], sound: [CodecParameters] = CodecParameters.defaultAudio,
        kind: String = "", grants change: (inout VideoGrants) -> Void = { _ in },
        offer changeOffer: (String) -> String = { $0 }
    ) throws -> TestClient {
        lastHost += 1
        let client = TestClient(
            name, .exchange(exchange), host: lastHost, codecs: codecs, sound: sound, in: self, random: &random)
        var grants = VideoGrants()
        grants.roomJoin = true
        change(&grants)
        client.claims.video = grants
        client.claims.kind = kind
        var request = LiveKitJoinRequest()
        request.publisherOffer = try client.onlyOffer(sections, at: now)
        request.publisherOffer.sdp = changeOffer(request.publisherOffer.sdp)
        let answer = try room.open(
            Arrival(identity: name, claims: client.claims, mode: client.mode, request: request), at: now)
        clients.append(client)
        client.signal = answer.signal
        client.takeOnlyAnswer(answer.sdp, at: now)
        drain()
        return client
    }

    func close(_ client: TestClient) {
        guard let signal = client.signal else { return }
        room.close(signal, at: now)
        drain()
    }

    /// The client's signaling is back after it was lost.
    func resume(_ client: TestClient, because reason: LiveKitReconnectReason = .rrUnknown) {
        let request = LiveKitJoinRequest.with {
            $0.reconnect = true
            $0.participantSid = client.sid
            $0.reconnectReason = reason
            $0.connectionSettings.autoSubscribe = true
        }
        client.signal = room.resume(
            Arrival(identity: client.name, claims: client.claims, mode: client.mode, request: request), at: now)
        drain()
    }

    func send(_ message: LiveKitSignalRequest.OneOf_Message, from client: TestClient) {
        guard let signal = client.signal else { return }
        client.note(message)
        room.receive(ClientMessage(.with { $0.message = message }), from: signal, at: now)
        drain()
    }

    /// A client loses its signaling and goes on over another WebSocket, with a restart of ICE, as SDKs do.
    func comeBack(_ client: TestClient) throws {
        cut(client)
        resume(client)
        client.forgetOffer()
        try client.offer(iceRestart: true)
    }

    /// The WebSocket breaks.
    func cut(_ client: TestClient) {
        guard let signal = client.signal.take() else { return }
        room.signalClosed(signal, at: now)
        drain()
    }

    /// The client is gone: no signaling, and no datagram any more.
    func vanish(_ client: TestClient) {
        clients.removeAll { $0 === client }
        cut(client)
    }

    /// As if a path had been found for what a client publishes, where nobody could check one.
    func findPath(of client: TestClient) {
        guard let connection = room.people.last(where: { $0.identity == client.name })?.publisher else { return }
        room.connectionChanged(connection, to: .connected, at: now)
        drain()
    }

    /// The client has left, and is heard no more.
    func forget(_ client: TestClient) { clients.removeAll { $0 === client } }

    subscript(name: String) -> TestClient? { clients.first { $0.name == name } }

    // MARK: Time

    func run(for time: Interval) {
        let end = now + time
        while now < end { step() }
    }

    /// Runs until something is so.
    ///
    /// - Returns: whether it came to be.
    func run(atMost time: Interval = .seconds(Int64(10)), until isSo: () -> Bool) -> Bool {
        let end = now + time
        while now < end {
            if isSo() { return true }
            step()
        }
        return isSo()
    }

    private func step() {
        now = now + tact
        let arrived = travelling.filter { $0.due <= now }
        travelling.removeAll { $0.due <= now }
        for (_, client, datagram) in arrived {
            client.receive(datagram.bytes, from: datagram.from, to: datagram.to, at: now)
        }
        for client in clients { client.tick(at: now) { up($0, of: client) } }
        if let wake = room.nextWake, wake <= now { room.tick(at: now) }
        drain()
    }

    // MARK: What a worker does

    private func up(_ datagram: Transmit, of client: TestClient) { up(datagram.bytes, of: client, from: datagram.from) }

    /// A datagram that a client did not make itself.
    func up(_ datagram: [UInt8], of client: TestClient, from: TransportAddress) {
        guard !isLost(client, datagram) else { return }
        var bytes = datagram
        if let first = bytes.first, first < 4, let message = try? STUNMessage(parsing: bytes.span.bytes),
            let name = message.username?.split(separator: ":").first, let peer = fragments[String(name)]
        {
            addresses[from] = peer
        }
        guard let peer = addresses[from] else { return }
        room.receive(
            &bytes, for: peer, from: from, to: Self.port, into: &forwarded, at: now, sending: send)
    }

    private func send(_ outbox: inout DatagramOutbox) {
        outbox.forEach { down.append((Array(outbox.bytes[$0.range]), $0.from, $0.to)) }
        outbox.removeAll()
    }

    func drain() {
        var datagrams: [Down]
        repeat {
            room.forwardReceived(into: &forwarded, at: now, sending: send)
            send(&forwarded)
            room.drainTransmits(at: now) { _, datagram in down.append((datagram.bytes, datagram.from, datagram.to)) }
            while let output = room.pollOutput() { take(output) }
            datagrams = down
            down = []
            for (bytes, from, to) in datagrams {
                guard let client = clients.first(where: { $0.owns(to) }) else { continue }
                watch(client, bytes)
                guard !isLost(client, bytes) else { continue }
                let delay = delay(client, bytes)
                if delay > .zero {
                    travelling.append((now + delay, client, (bytes, from, to)))
                } else {
                    client.receive(bytes, from: from, to: to, at: now)
                }
            }
        } while !datagrams.isEmpty
    }

    private func take(_ output: RoomOutput) {
        switch output {
        case .signal(let signal, let response):
            #expect(!closed.contains(signal), "nothing comes for a connection that is over")
            guard let client = client(of: signal) else { return }
            client.take(response, at: now)
        case .closeSignal(let signal):
            closed.insert(signal)
            guard let client = client(of: signal) else { return }
            client.lines.append("< closed")
            client.signal = nil
        case .peerReachable(let peer, let fragment): fragments[fragment] = peer
        case .peerRemoved(let peer):
            removed.insert(peer)
            fragments = fragments.filter { $0.value != peer }
            addresses = addresses.filter { $0.value != peer }
        case .webhook(let event): webhooks.append(event)
        case .tokenWanted(let signal, _): tokens[signal, default: 0] += 1
        case .rpcFinished(let call, let outcome): outcomes[call] = outcome
        case .agents(let order): agentOrders.append(order)
        case .ended(let reason): ending = reason
        }
    }

    /// While somebody joins, the signaling connection has no number yet: the last one it must be.
    private func client(of signal: SignalID) -> TestClient? {
        clients.first { $0.signal == signal } ?? clients.last { $0.signal == nil && $0.isWaiting }
    }

    /// What the room has to say, for a test that looks at it itself.
    func pollOutputs() -> [RoomOutput] {
        room.drainTransmits(at: now) { _, _ in }
        var outputs: [RoomOutput] = []
        while let output = room.pollOutput() { outputs.append(output) }
        return outputs
    }

    // MARK: Names

    /// Sids in a text, with the names of those whom they stand for.
    func named(_ text: String) -> String {
        var text = text
        for client in clients where !client.sid.isEmpty { text = text.replacing(client.sid, with: client.name) }
        for (sid, name) in names { text = text.replacing(sid, with: name) }
        return text
    }

    /// Tracks are called by their names.
    var names: [String: String] = [:]
}
