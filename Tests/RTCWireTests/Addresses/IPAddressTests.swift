import Testing

@testable import RTCWire

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2::3", "2001:db8:1:2::"), ("2001:db8:1:2:ffff::", "2001:db8:1:2::"), ("fe80::1", "fe80::"),
        ("::1", "::"), ("::fffe:c000:201", "::"), ("0:0:0:1::ffff:c000:201", "0:0:0:1::"),
    ])
    func `a site is a /64 of IPv6, or an address of IPv4 however it comes`(address: String, site: String) throws {
        let ip = try #require(IPAddress(address))
        #expect(ip.site == IPAddress(site))
        #expect(ip.site.site == ip.site)
    }
}
