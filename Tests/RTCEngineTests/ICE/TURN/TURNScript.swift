import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A TURN server that a test writes out, answer by answer, for one allocation in virtual time.
struct TURNScript {
    static let server = endpoint("198.51.100.1", 3478)
    static let relayed = endpoint("198.51.100.1", 50_000)
    static let mapped = endpoint("203.0.113.7", 4_000)
    static let nonce: [UInt8] = Array("first nonce".utf8)
    static let key = STUNIntegrityKey.sha1(
        HMACSHA1(key: STUNLongTermCredential(username: "user", realm: "roost", password: "secret").key(.md5)))

    var allocation: TURNAllocation
    var now = Instant.zero
    var grants: [TURNAllocation.Grant] = []
    var ends: [TURNFailure] = []
    var redirections: [TransportAddress] = []
    var wishesForAnotherPath = 0

    init(
        _ transport: TURNServer.Transport = .udp, additionalIPv6: Bool = false,
        _ change: (inout TURNConfiguration) -> Void = { _ in }
    ) {
        var configuration = TURNConfiguration()
        // A test that wants to see them says so.
        configuration.keepaliveInterval = .seconds(Int64(1_000_000))
        change(&configuration)
        let server = TURNServer(
            address: Self.server, transport: transport, host: "turn.example.org", username: "user", password: "secret",
            url: "turn:turn.example.org")
        allocation = TURNAllocation(
            server, configuration, additionalIPv6: additionalIPv6, random: .seeded(7))
    }

    /// What was sent to the server since the last look; everything else it has told is noted.
    mutating func sent() -> [STUNMessage] {
        var messages: [STUNMessage] = []
        while let output = allocation.pollOutput() {
            switch output {
            case .send(let bytes):
                if let message = try? STUNMessage(parsing: bytes.span.bytes) { messages.append(message) }
            case .allocated(let grant): grants.append(grant)
            case .redirected(let address, _): redirections.append(address)
            case .wantsAnotherPath: wishesForAnotherPath += 1
            case .ended(let failure): ends.append(failure)
            }
        }
        return messages
    }

    /// The one request that was sent.
    mutating func request() throws -> STUNMessage {
        let messages = sent()
        return try #require(messages.count == 1 ? messages.first : nil)
    }

    /// The first request that leaves within this time, which passes.
    mutating func first(within interval: Interval) throws -> STUNMessage {
        let messages = pass(interval)
        return try #require(messages.first)
    }

    @discardableResult
    mutating func receive(_ bytes: [UInt8]) -> (TURNAllocation.Receipt, [UInt8]) {
        var bytes = bytes
        let receipt = allocation.receive(&bytes, at: now)
        return (receipt, bytes)
    }

    mutating func succeed(_ request: STUNMessage, _ attributes: [STUNAttribute], key: STUNIntegrityKey? = key) {
        let response = STUNMessage(
            .success, request.method, transactionID: request.transactionID, attributes: attributes)
        receive(response.encoded(signedWith: key, fingerprint: false))
    }

    mutating func refuse(
        _ request: STUNMessage, _ error: STUNErrorCode, _ attributes: [STUNAttribute] = [],
        key: STUNIntegrityKey? = nil
    ) {
        let response = STUNMessage(
            .error, request.method, transactionID: request.transactionID,
            attributes: [.errorCode(error)] + attributes)
        receive(response.encoded(signedWith: key, fingerprint: false))
    }

    /// 401 or 438 as a server says them.
    mutating func challenge(
        _ request: STUNMessage, _ error: STUNErrorCode = .unauthenticated, nonce: [UInt8] = nonce
    ) {
        refuse(request, error, [.realm("roost"), .nonce(nonce)])
    }

    static func granted(lifetime: UInt32 = 600) -> [STUNAttribute] {
        [.turn(.xorRelayedAddress(relayed)), .turn(.lifetime(lifetime)), .xorMappedAddress(mapped)]
    }

    /// Through the challenge to the address.
    mutating func allocate(lifetime: UInt32 = 600) {
        allocation.start(at: now)
        if let first = try? request() { challenge(first) }
        if let second = try? request() { succeed(second, Self.granted(lifetime: lifetime)) }
        _ = sent()
    }

    /// Lets `interval` pass, and gives what was sent meanwhile.
    mutating func pass(_ interval: Interval) -> [STUNMessage] {
        var messages: [STUNMessage] = []
        let end = now + interval
        while let wake = allocation.nextWake, wake <= end {
            now = max(now, wake)
            allocation.tick(at: now)
            messages += sent()
        }
        now = end
        return messages
    }
}

extension STUNMessage {
    var nonces: [[UInt8]] {
        attributes.compactMap { if case .nonce(let value) = $0 { value } else { nil } }
    }
}
