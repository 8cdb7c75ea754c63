import Testing

@testable import ChatServer

struct NetworkSiteTests {
    @Test(arguments: [
        ("192.0.2.7:4000", "192.0.2.7"), ("192.0.2.7:4001", "192.0.2.7"), ("[::ffff:192.0.2.7]:4000", "192.0.2.7"),
        ("[2001:db8:1:2::7]:80", "20:1:d:b8:0:1:0:2/64"), ("[2001:db8:1:2:ffff::]:9", "20:1:d:b8:0:1:0:2/64"),
        ("[2001:db8:1:3::7]:80", "20:1:d:b8:0:1:0:3/64"), ("[fe80::1%eth0]:80", "fe:80:0:0:0:0:0:0/64"), ("", ""),
    ])
    func `a host of IPv6 is a whole network, and one of IPv4 is one however it comes`(address: String, site: String) {
        #expect(NetworkSite.name(of: address) == site)
    }
}
