import RTCEngine
import RTCWire
import TURNServer

/// Datagrams of a stranger and of a client that has an allocation and a channel, cut out of the input by their lengths:
/// the server neither crashes nor sends to an address that its policy denies, and strangers leave nothing behind.
func fuzzTURNServer(_ bytes: RawSpan) {
    var server = FuzzedServer()
    let stranger = TURNClientPath(.udp, socket: 1, remote: TransportAddress(.v4(0xc000_0263), port: 9))
    var reader = ByteReader(bytes)
    while let tag = reader.readUInt8(), let length = reader.readUInt16() {
        guard let datagram = reader.readBytes(min(Int(length), reader.remaining)) else { return }
        server.now = server.now + .milliseconds(Int64(tag) * 40)
        switch tag % 4 {
        case 0:
            let before = server.machine.statistics.allocationsMade
            precondition(server.receive(datagram, from: stranger) == .none)
            precondition(server.machine.statistics.allocationsMade == before)
        case 1: _ = server.receive(datagram, from: FuzzedServer.client)
        // The same, signed as the client would: what only users reach.
        case 2: _ = server.receive(server.signed(datagram), from: FuzzedServer.client)
        default: server.peerSends(datagram)
        }
    }
}

/// A server with one client, who has an address and a channel.
private struct FuzzedServer {
    static let client = TURNClientPath(.udp, socket: 1, remote: TransportAddress(.v4(0xc000_020a), port: 4_000))
    static let peer = TransportAddress(.v4(0xc633_6414), port: 7_000)
    private static let credential = STUNLongTermCredential(username: "user", realm: "roost", password: "secret")
    private static let key = STUNIntegrityKey.sha1(HMACSHA1(key: credential.key(.md5)))

    var machine: TURNServerMachine
    var now = Instant(nanoseconds: 1_000_000_000)
    private var relay: TURNRelayID?
    private var nonce: [UInt8] = []
    private var transaction: UInt64 = 0

    init() {
        var configuration = TURNServerConfiguration(
            relayAddresses: [.init(local: .v4(0xcb00_7101)), .init(local: .v6(0x2001_0db8 << 32, 1))],
            accounts: TURNAccounts(users: ["user": "secret"], secrets: ["shared"]))
        configuration.relayPorts = 50_000...50_031
        machine = TURNServerMachine(configuration: configuration, random: .seeded(1))
        ask(.allocate, [.turn(.requestedTransport(17))])
        ask(.allocate, [.turn(.requestedTransport(17))])
        ask(.channelBind, [.turn(.channelNumber(0x4000)), .turn(.xorPeerAddress(Self.peer))])
    }

    private mutating func ask(_ method: STUNMethod, _ attributes: [STUNAttribute]) {
        transaction += 1
        let id = STUNTransactionID(high: 0, low: transaction)
        let request = STUNMessage(.request, method, transactionID: id, attributes: attributes)
        _ = receive(sign(request), from: Self.client)
    }

    private func sign(_ request: STUNMessage) -> [UInt8] {
        var request = request
        guard !nonce.isEmpty else { return request.encoded(signedWith: nil, fingerprint: false) }
        request.attributes += [.username("user"), .realm("roost"), .nonce(nonce)]
        return request.encoded(signedWith: Self.key, fingerprint: false)
    }

    /// What is a request becomes one of the client's.
    func signed(_ datagram: [UInt8]) -> [UInt8] {
        guard var request = try? STUNMessage(parsing: datagram.span.bytes, keepingMalformed: true),
            request.kind == .request
        else { return datagram }
        request.attributes += request.malformedAttributes.map { STUNAttribute.other(type: $0, value: []) }
        request.attributes.removeAll {
            switch $0 {
            case .username, .realm, .nonce, .passwordAlgorithm, .passwordAlgorithms: true
            default: false
            }
        }
        return sign(request)
    }

    mutating func receive(_ datagram: [UInt8], from client: TURNClientPath) -> TURNServerMachine.Forwarding {
        machine.tick(at: now)
        let forwarding = machine.receive(datagram.span.bytes, from: client, at: now)
        check(forwarding, datagram.count)
        perform(answering: datagram.count)
        return forwarding
    }

    mutating func peerSends(_ datagram: [UInt8]) {
        guard let relay else { return }
        check(machine.receive(datagram.span.bytes, on: relay, from: Self.peer, at: now), datagram.count)
        perform(answering: datagram.count)
    }

    private func check(_ forwarding: TURNServerMachine.Forwarding, _ size: Int) {
        switch forwarding {
        case .none: break
        case .toPeer(let peer, _, let data):
            precondition(machine.configuration.policy.permits(peer.ip))
            precondition(data.upperBound <= size)
        case .toClient(_, let header, let data):
            precondition(data.upperBound <= size && Int(header.length) == data.count)
        }
    }

    private mutating func perform(answering size: Int) {
        while let output = machine.pollOutput() {
            switch output {
            case .send(let answer, _):
                precondition(answer.count <= size + 200)
                guard let message = try? STUNMessage(parsing: answer.span.bytes) else {
                    preconditionFailure("an answer that cannot be read")
                }
                if let fresh = message.nonce { nonce = fresh }
            case .open(let id, _):
                if id.place == 0 { relay = id }
                machine.relayOpened(id, at: now)
            case .close(let id): if id == relay { relay = nil }
            }
        }
    }
}
