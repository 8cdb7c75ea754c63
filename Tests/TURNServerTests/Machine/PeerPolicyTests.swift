import RTCWire
import Testing

@testable import TURNServer

/// RFC 8656 §21.4.1, RFC 6890.
@Suite struct PeerPolicyTests {
    private static let always = [
        "8.8.8.8", "192.0.2.1", "203.0.113.7", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0",
        "11.0.0.0", "169.253.0.1", "223.255.255.255", "192.0.1.0", "198.20.0.0",
        "2600::1", "2001:db8::1", "2a00:1450::8a",
        // Public addresses inside: a peer behind NAT64, 6to4, Teredo, ISATAP.
        "64:ff9b::808:808", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7", "2600::5efe:808:808",
    ]
    private static let never = [
        "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "febf::1", "ff02::1", "ff0e::1", "100::1",
        // IPv4-compatible, -mapped and -translated, whatever is inside.
        "::7f00:1", "::808:808", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
        // What must not be reached, inside of what may.
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::", "64:ff9b::ffff:ffff",
        "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:e000:1::",
        "2001:0:7f00:1:0:0:f7f7:f7f7", "2001:0:808:808:0:0:80ff:fffe",
        "2600::5efe:7f00:1", "2600::200:5efe:7f00:1",
    ]
    private static let privates = [
        "10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
        "192.0.0.1", "198.18.0.1", "198.19.255.255",
        "fc00::1", "fdff::1", "fec0::1", "64:ff9b:1::1",
        "64:ff9b::a00:1", "2002:c0a8:101::1", "2001:0:808:808:0:0:f5ff:fffe", "2600::5efe:a00:1",
    ]

    @Test(arguments: always)
    func `public addresses are reached`(text: String) {
        #expect(PeerPolicy().permits(address(text)))
    }

    @Test(arguments: never)
    func `what is no peer's is never reached, in whatever form`(text: String) {
        #expect(!PeerPolicy().permits(address(text)))
        var policy = PeerPolicy()
        policy.allowsPrivateRanges = true
        policy.allowed = [IPPrefix("0.0.0.0/0"), IPPrefix("::/0")].compactMap { $0 }
        #expect(!policy.permits(address(text)))
    }

    @Test(arguments: privates)
    func `private ranges are reached if they are allowed`(text: String) throws {
        #expect(!PeerPolicy().permits(address(text)))
        var policy = PeerPolicy()
        policy.allowsPrivateRanges = true
        #expect(policy.permits(address(text)))
        policy.denied = [try #require(IPPrefix(text))]
        #expect(!policy.permits(address(text)))
    }

    @Test(arguments: ["8.8.8.8", "64:ff9b::808:808"])
    func `the host's own addresses are reached only where that is said to be insecure`(text: String) throws {
        var policy = PeerPolicy()
        policy.host = [address("8.8.8.8")]
        policy.allowed = [try #require(IPPrefix("0.0.0.0/0"))]
        #expect(!policy.permits(address(text)))
        #expect(policy.permits(address("8.8.8.9")))
        policy.insecurelyAllowed = [try #require(IPPrefix("8.8.8.8/32")), try #require(IPPrefix("64:ff9b::/96"))]
        #expect(policy.permits(address(text)))
    }

    @Test func `one private range is reached without the others, and its hole is not`() throws {
        var policy = PeerPolicy()
        policy.allowed = [try #require(IPPrefix("10.1.0.0/16"))]
        policy.denied = [try #require(IPPrefix("10.1.2.0/24"))]
        #expect(policy.permits(address("10.1.0.1")))
        #expect(policy.permits(address("64:ff9b::a01:1")))
        #expect(!policy.permits(address("10.1.2.1")))
        #expect(!policy.permits(address("64:ff9b::a01:201")))
        #expect(!policy.permits(address("10.2.0.1")))
    }

    @Test func `loopback is reached only where it is named`() throws {
        var policy = PeerPolicy()
        policy.insecurelyAllowed = [try #require(IPPrefix("127.1.0.0/16"))]
        #expect(policy.permits(address("127.1.1.1")))
        #expect(!policy.permits(address("127.0.0.1")))
        #expect(!policy.permits(address("::1")))
        policy.denied = [try #require(IPPrefix("127.1.1.1"))]
        #expect(!policy.permits(address("127.1.1.1")))
    }

    @Test func `public addresses can be denied`() throws {
        var policy = PeerPolicy()
        policy.denied = [try #require(IPPrefix("203.0.113.0/24")), try #require(IPPrefix("2600::/16"))]
        #expect(!policy.permits(address("203.0.113.200")))
        #expect(policy.permits(address("203.0.114.1")))
        #expect(!policy.permits(address("2600::1")))
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("10.9.8.7/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"),
        ("1.2.3.4", "1.2.3.4/32"), ("1.2.3.4/32", "1.2.3.4/32"), ("fe80::1/10", "fe80::/10"), ("::/0", "::/0"),
        ("2001:db8::5", "2001:db8::5/128"), ("2001:db8::ffff/65", "2001:db8::/65"),
        ("2001:db8:0:0:8000::1/65", "2001:db8:0:0:8000::/65"),
    ])
    func `a prefix is read`(text: String, normal: String) {
        #expect(IPPrefix(text)?.description == normal)
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "x/8",
    ])
    func `anything else is no prefix`(text: String) {
        #expect(IPPrefix(text) == nil)
    }
}
