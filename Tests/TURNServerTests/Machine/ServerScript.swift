import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// A server and its clients in virtual time: a test says what arrives and looks at what leaves.
struct ServerScript {
    static let relay = address("203.0.113.1")
    static let relay6 = address("2001:db8::1")
    static let peer = endpoint("198.51.100.20", 7_000)
    static let ports: ClosedRange<UInt16> = 50_000...50_099
    /// 2026-01-01.
    static let unixTime: Int64 = 1_767_225_600

    var machine: TURNServerMachine
    var now = Instant(nanoseconds: 5_000_000_000)
    /// Sockets that are open, by what they were to be bound to.
    var sockets: [TURNRelayID: TransportAddress] = [:]
    /// Ports that another program has.
    var occupied: Set<UInt16> = []
    /// The system has no sockets left.
    var isOutOfSockets = false
    /// How many sockets were asked for.
    var attempts = 0
    private var sent: [(bytes: [UInt8], client: TURNClientPath)] = []

    init(
        users: [String: String] = ["ann": "secret", "bob": "word"], secrets: [String] = [], hasIPv6: Bool = true,
        relay: IPAddress = relay, _ change: (inout TURNServerConfiguration) -> Void = { _ in }
    ) {
        var configuration = TURNServerConfiguration(
            relayAddresses: [.init(local: relay)] + (hasIPv6 ? [.init(local: Self.relay6)] : []),
            accounts: TURNAccounts(users: users, secrets: secrets))
        configuration.relayPorts = Self.ports
        change(&configuration)
        machine = TURNServerMachine(configuration: configuration, random: .seeded(11))
        machine.wallClockRead(unixTime: Self.unixTime, at: now)
    }

    // MARK: In

    @discardableResult
    mutating func receive(_ bytes: [UInt8], from client: TURNClientPath) -> TURNServerMachine.Forwarding {
        defer { perform() }
        return machine.receive(bytes.span.bytes, from: client, at: now)
    }

    mutating func receive(
        _ bytes: [UInt8], on relay: TransportAddress, from peer: TransportAddress
    ) throws -> TURNServerMachine.Forwarding {
        let id = try #require(sockets.first { $0.value == relay }?.key)
        defer { perform() }
        return machine.receive(bytes.span.bytes, on: id, from: peer, at: now)
    }

    mutating func pass(_ seconds: Int) {
        let end = now + .seconds(Int64(seconds))
        while let wake = machine.nextWake, wake <= end {
            now = max(now, wake)
            machine.tick(at: now)
            perform()
            if let next = machine.nextWake, next <= now { break }
        }
        now = end
    }

    // MARK: Out

    mutating func perform() {
        while let output = machine.pollOutput() {
            switch output {
            case .send(let bytes, let client): sent.append((bytes, client))
            case .open(let id, let address):
                attempts += 1
                if isOutOfSockets || occupied.contains(address.port) || sockets.values.contains(address) {
                    machine.relayFailed(id, at: now)
                } else {
                    sockets[id] = address
                    machine.relayOpened(id, at: now)
                }
            case .close(let id): sockets[id] = nil
            }
        }
    }

    /// What was sent since the last look.
    mutating func takeSent() -> [(bytes: [UInt8], client: TURNClientPath)] {
        defer { sent = [] }
        return sent
    }

    /// The one message that was sent to this client.
    mutating func answer(to client: TURNClientPath) throws -> (message: STUNMessage, bytes: [UInt8]) {
        let all = takeSent()
        let one = try #require(all.count == 1 ? all.first : nil, "\(all.count) messages were sent")
        #expect(one.client == client)
        return (try STUNMessage(parsing: one.bytes.span.bytes), one.bytes)
    }
}

/// A client of the server in a script.
struct ScriptedClient {
    var path: TURNClientPath
    var username: String
    var password: String
    var nonce: [UInt8] = []
    /// Signs with the newer hash and names the algorithm, as RFC 8489 has it.
    var algorithm: STUNPasswordAlgorithm?
    var offered: [UInt16] = []
    var hidesName = false
    private var transaction: UInt64

    init(
        _ username: String = "ann", _ password: String = "secret", _ transport: TURNClientPath.Transport = .udp,
        at remote: TransportAddress = endpoint("192.0.2.10", 4_000), socket: Int = 1
    ) {
        path = TURNClientPath(transport, socket: socket, remote: remote)
        self.username = username
        self.password = password
        transaction = UInt64(remote.port) << 32
    }

    var credential: STUNLongTermCredential {
        STUNLongTermCredential(username: username, realm: "roost", password: password)
    }

    var key: STUNIntegrityKey {
        if let algorithm { return .sha256(HMACSHA256(key: credential.key(algorithm))) }
        return .sha1(HMACSHA1(key: credential.key(.md5)))
    }

    /// A request, signed if there is a nonce.
    mutating func request(_ method: STUNMethod, _ attributes: [TURNAttribute] = []) -> [UInt8] {
        transaction += 1
        return encode(method, attributes.map { .turn($0) }, transaction)
    }

    func encode(_ method: STUNMethod, _ attributes: [STUNAttribute], _ transaction: UInt64) -> [UInt8] {
        var message = STUNMessage(
            .request, method, transactionID: STUNTransactionID(high: 7, low: transaction), attributes: attributes)
        guard !nonce.isEmpty else { return message.encoded(signedWith: nil, fingerprint: false) }
        message.attributes.append(hidesName ? .userHash(credential.userHash) : .username(username))
        message.attributes += [.realm("roost"), .nonce(nonce)]
        if let algorithm {
            message.attributes += [.passwordAlgorithms(offered), .passwordAlgorithm(algorithm.rawValue)]
        }
        return message.encoded(signedWith: key, fingerprint: false)
    }

    /// Sends a request and gives the answer.
    mutating func ask(
        _ script: inout ServerScript, _ method: STUNMethod, _ attributes: [TURNAttribute] = []
    ) throws -> STUNMessage {
        script.receive(request(method, attributes), from: path)
        return try script.answer(to: path).message
    }

    /// Takes the nonce of a challenge.
    mutating func meetChallenge(_ script: inout ServerScript) throws {
        let challenge = try ask(&script, .allocate, [.requestedTransport(17)])
        #expect(challenge.errorCode?.code == 401)
        nonce = try #require(challenge.nonce)
        offered = challenge.passwordAlgorithms ?? []
    }

    /// To an allocation; its relayed addresses.
    @discardableResult
    mutating func allocate(
        _ script: inout ServerScript, _ attributes: [TURNAttribute] = []
    ) throws -> [TransportAddress] {
        if nonce.isEmpty { try meetChallenge(&script) }
        let answer = try ask(&script, .allocate, [.requestedTransport(17)] + attributes)
        #expect(answer.kind == .success, "\(String(describing: answer.errorCode))")
        return answer.relayedAddresses
    }

    /// With a permission for each of these.
    mutating func permit(_ script: inout ServerScript, _ peers: TransportAddress...) throws {
        let answer = try ask(&script, .createPermission, peers.map { .xorPeerAddress($0) })
        #expect(answer.kind == .success, "\(String(describing: answer.errorCode))")
    }

    mutating func bind(_ script: inout ServerScript, _ number: UInt16, to peer: TransportAddress) throws {
        let answer = try ask(&script, .channelBind, [.channelNumber(number), .xorPeerAddress(peer)])
        #expect(answer.kind == .success, "\(String(describing: answer.errorCode))")
    }

    static func indication(_ data: [UInt8], to peer: TransportAddress, _ more: [TURNAttribute] = []) -> [UInt8] {
        STUNMessage(
            .indication, .send, transactionID: STUNTransactionID(high: 1, low: 2),
            attributes: ([.xorPeerAddress(peer), .data(data)] + more).map { .turn($0) }
        ).encoded(signedWith: nil, fingerprint: false)
    }

    static func channelData(_ data: [UInt8], on number: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(uint32: ChannelDataHeader(number: number, length: UInt16(data.count)).word)
        return bytes + data
    }
}

/// An address that a test writes out; a wrong one stops the test.
func address(_ text: String) -> IPAddress {
    guard let ip = IPAddress(text) else { fatalError("not an address: \(text)") }
    return ip
}

func endpoint(_ text: String, _ port: UInt16) -> TransportAddress {
    TransportAddress(address(text), port: port)
}

extension TURNAddressFamily {
    /// Neither IPv4 nor IPv6.
    static let unheardOf = TURNAddressFamily(rawValue: 7)
}

extension STUNMessage {
    func isSigned(in bytes: [UInt8], with key: STUNIntegrityKey) -> Bool {
        isAuthentic(in: bytes.span.bytes, key: key)
    }
    var reservationToken: UInt64? {
        turnValue { if case .reservationToken(let value) = $0 { value } else { nil } }
    }
    var addressError: (TURNAddressFamily, UInt16)? {
        turnValue { if case .addressErrorCode(let family, let error) = $0 { (family, error.code) } else { nil } }
    }
    var unknownTypes: [UInt16]? {
        attributes.compactMap { if case .unknownAttributes(let types) = $0 { types } else { nil } }.first
    }
}
