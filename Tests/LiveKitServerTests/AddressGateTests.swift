import RTCEngine
import RTCWire
import Testing

@testable import LiveKitServer

@Suite struct AddressGateTests {
    private static let start = Instant.zero + .seconds(Int64(100))

    @Test func `each address asks so often, and is told when to ask again`() {
        let gate = AddressGate(perMinute: 3)
        for port in 1...3 { #expect(gate.take("192.0.2.1:\(port)", at: Self.start) == nil) }
        #expect(gate.take("192.0.2.1:4", at: Self.start) == 20)
        #expect(gate.take("192.0.2.2:1", at: Self.start) == nil)
        #expect(gate.take("192.0.2.1:5", at: Self.start + .seconds(Int64(20))) == nil)
        #expect(gate.take("192.0.2.1:6", at: Self.start + .milliseconds(20_500)) == 20)
    }

    @Test(arguments: [
        ("192.0.2.1:80", "192.0.2.1"), ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ("[2001:db8:1:2::3]:80", "2001:db8:1:2::"), ("[2001:db8:1:2:ffff::]:1", "2001:db8:1:2::"),
        ("[fe80::1%eth0]:80", "fe80::"),
    ])
    func `a network of IPv6 is one, and an address of IPv4 what it is however it comes`(
        address: String, site: String
    ) {
        #expect(AddressGate.site(of: address) == IPAddress(site))
    }

    @Test(arguments: ["", "nowhere", "nowhere:1", ":", "[]:1"])
    func `what is no address is one of those`(address: String) {
        #expect(AddressGate.site(of: address) == nil)
    }
}
