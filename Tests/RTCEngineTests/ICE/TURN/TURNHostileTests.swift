import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A server that answers whatever it likes, right credentials or none.
@Suite struct TURNHostileTests {
    private static func attribute(_ random: inout EngineRandom) -> STUNAttribute {
        let number = random.next()
        let address = TransportAddress(
            number & 1 == 0 ? .v4(UInt32(truncatingIfNeeded: number >> 8)) : .v6(number, 1),
            port: UInt16(truncatingIfNeeded: number >> 40))
        switch number >> 33 % 14 {
        case 0: return .errorCode(STUNErrorCode(UInt16(300 + number >> 20 % 400), reason: "no"))
        case 1: return .realm("realm \(number % 5)")
        case 2: return .nonce(Array("obMatJos2AAA\(["A", "B", "C", "D"][Int(number % 4)])\(number % 7)".utf8))
        case 3: return .passwordAlgorithms([UInt16(number % 4)])
        case 4: return .alternateServer(address)
        case 5: return .turn(.lifetime(UInt32(truncatingIfNeeded: number)))
        case 6: return .turn(.xorRelayedAddress(address))
        case 7: return .turn(.xorPeerAddress(address))
        case 8: return .turn(.data([UInt8](repeating: 1, count: Int(number % 100))))
        case 9: return .turn(.mobilityTicket([1]))
        case 10: return .xorMappedAddress(address)
        case 11: return .turn(.channelNumber(UInt16(truncatingIfNeeded: number)))
        case 12: return .other(type: UInt16(truncatingIfNeeded: number >> 16), value: [1, 2])
        default: return .alternateDomain("other")
        }
    }

    @Test(arguments: 0..<200)
    func `nothing that a server sends breaks an allocation or makes it grow`(seed: UInt64) {
        var random = EngineRandom.seeded(seed)
        var script = TURNScript(seed % 2 == 0 ? .udp : .tcp, additionalIPv6: seed % 3 == 0) {
            $0.mobility = seed % 5 == 0
        }
        if seed % 4 == 0 { script.allocate() } else { script.allocation.start(at: script.now) }
        var requests: [STUNMessage] = []
        var sent = 0
        for _ in 0..<300 {
            let new = script.sent()
            sent += new.count
            requests = (requests + new).suffix(10)
            let id = requests.randomElement(using: &random)?.transactionID ?? .init(high: 0, low: 0)
            let methods: [STUNMethod] = [.allocate, .refresh, .createPermission, .channelBind, .data, .binding]
            let kinds: [STUNClass] = [.success, .error, .error, .indication, .request]
            let message = STUNMessage(
                kinds[Int(random.next() % 5)], requests.last?.method ?? methods[Int(random.next() % 6)],
                transactionID: id, attributes: (0..<Int(random.next() % 6)).map { _ in Self.attribute(&random) })
            var bytes = message.encoded(
                signedWith: random.next() % 3 == 0 ? nil : script.allocation.authentication.key, fingerprint: false)
            if random.next() % 8 == 0, !bytes.isEmpty {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            script.receive(bytes)
            let peer = TransportAddress(.v4(UInt32(random.next() % 300)), port: 9)
            _ = script.allocation.carry([1, 2, 3], to: peer, at: script.now)
            if random.next() % 4 == 0 { script.allocation.use(peer, at: script.now) }
            sent += script.pass(.milliseconds(Int64(random.next() % 20_000))).count
            #expect(script.allocation.held.count <= 32)
        }
        // One request for each permission and channel, and their repetitions: never a storm.
        #expect(sent < 20_000)
    }
}
