import RTCWire
import Testing

@Suite struct ICECandidateTests {
    private func parse(_ text: String) -> Result<ICECandidate, ICECandidateError> {
        do throws(ICECandidateError) {
            return .success(try ICECandidate(parsing: text))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        "candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host",
        "candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host ufrag abcd",
        "candidate:842163049 1 udp 1677729535 203.0.113.7 46154 typ srflx raddr 10.0.1.1 rport 8998 generation 0",
        "candidate:0 1 udp 2122252543 2001:db8::1 60769 typ host",
        "candidate:3 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active ufrag x+/Y network-id 1 network-cost 10",
        "candidate:9 2 udp 7 198.51.100.9 3478 typ relay raddr 203.0.113.7 rport 46154",
        "candidate:1 1 udp 2122262783 9c8b7a6d-0000-4000-8000-001122334455.local 51472 typ host generation 0",
    ])
    func `what browsers send comes back word for word`(text: String) throws {
        #expect(try parse(text).get().attribute == text)
    }

    @Test func `every field is read`() throws {
        let candidate = try parse(
            "a=candidate:842163049 1 UDP 1677729535 203.0.113.7 46154 typ srflx raddr 10.0.1.1 rport 8998 "
                + "generation 0 ufrag sXP5 network-cost 999\r\n"
        ).get()
        #expect(candidate.foundation == "842163049")
        #expect(candidate.component == 1)
        #expect(candidate.transport == .udp)
        #expect(candidate.priority == 1_677_729_535)
        #expect(candidate.address == .ip(TransportAddress(.v4(0xcb00_7107), port: 46_154)))
        #expect(candidate.type == .serverReflexive)
        #expect(candidate.relatedAddress == TransportAddress(.v4(0x0a00_0101), port: 8_998))
        #expect(candidate.usernameFragment == "sXP5")
        #expect(candidate.extensions.map(\.name) == ["generation", "network-cost"])
    }

    @Test func `a name is kept as a name`() throws {
        let candidate = try parse("candidate:1 1 udp 1 f00d.LOCAL 4000 typ host").get()
        #expect(candidate.address == .mdns("f00d.LOCAL", port: 4_000))
        #expect(candidate.address.transportAddress == nil)
    }

    @Test func `a dangling extension and a related name are passed over`() throws {
        let candidate = try parse("candidate:1 1 udp 1 192.0.2.1 1 typ srflx raddr x.local rport 9 generation").get()
        #expect(candidate.relatedAddress == nil)
        #expect(candidate.extensions.isEmpty)
    }

    @Test(
        arguments: [
            ("", .truncated), ("candidate:", .truncated), ("candidate:1 1 udp 1 192.0.2.1", .truncated),
            ("candidate:1 1 udp 1 192.0.2.1 5000", .truncated),
            ("candidate:1 0 udp 1 192.0.2.1 1 typ host", .component),
            ("candidate:1 256 udp 1 192.0.2.1 1 typ host", .component),
            ("candidate:1 +1 udp 1 192.0.2.1 1 typ host", .component),
            ("candidate:1 1 sctp 1 192.0.2.1 1 typ host", .unknownTransport),
            ("candidate:1 1 udp 4294967296 192.0.2.1 1 typ host", .priority),
            ("candidate:1 1 udp 1 example.org 1 typ host", .address),
            ("candidate:1 1 udp 1 192.0.2.1 65536 typ host", .port),
            ("candidate:1 1 udp 1 192.0.2.1 1 type host", .type),
            ("candidate:1 1 udp 1 192.0.2.1 1 typ satellite", .type),
            ("candidate:1\u{e9} 1 udp 1 192.0.2.1 1 typ host", .foundation),
            ("candidate:123456789012345678901234567890123 1 udp 1 192.0.2.1 1 typ host", .foundation),
            ("candidate:1 1 udp 1 192.0.2.1 1 typ host " + String(repeating: "x", count: 1_024), .tooLong),
        ] as [(String, ICECandidateError)])
    func `says what is wrong`(text: String, error: ICECandidateError) {
        #expect(parse(text) == .failure(error))
    }

    @Test func `priorities follow RFC 8445 §5.1.2.1`() {
        #expect(ICECandidate.priority(of: .host, localPreference: 65_535) == 2_130_706_431)
        #expect(ICECandidate.priority(of: .relayed, localPreference: 0, component: 255) == 1)
        let ordered: [ICECandidate.CandidateType] = [.host, .peerReflexive, .serverReflexive, .relayed]
        let priorities = ordered.map { ICECandidate.priority(of: $0, localPreference: 65_535) }
        #expect(priorities == priorities.sorted(by: >))
    }
}
