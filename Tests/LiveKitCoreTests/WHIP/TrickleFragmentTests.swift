import Testing

@testable import LiveKitCore

/// RFC 8840 §9.
@Suite struct TrickleFragmentTests {
    @Test func `candidates, their sections and the credential are read, and the rest is passed over`() throws {
        let fragment = try TrickleFragment(
            parsing: """
                a=group:BUNDLE 0 1\r
                a=ice-options:trickle\r
                a=ice-ufrag:EsAw\r
                a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r
                m=audio 9 UDP/TLS/RTP/SAVPF 0\r
                a=mid:0\r
                a=candidate:1 1 udp 5 192.0.2.1 61764 typ host\r
                m=video 9 UDP/TLS/RTP/SAVPF 96\r
                a=ice-ufrag:EsAw\r
                a=mid:1\r
                a=candidate:2 1 udp 4 192.0.2.1 61766 typ host\r
                a=end-of-candidates\r

                """)
        #expect(fragment.usernameFragment == "EsAw" && fragment.password == "P2uYro0UCOQ4zxjKXaWCBui1")
        #expect(
            fragment.candidates == [
                .init(mid: "0", line: "candidate:1 1 udp 5 192.0.2.1 61764 typ host"),
                .init(mid: "1", line: "candidate:2 1 udp 4 192.0.2.1 61766 typ host"),
            ])
        #expect(fragment.isComplete)
    }

    @Test func `what is no fragment says where it is none`() {
        func malformation(_ text: String) -> TrickleFragment.Malformation? {
            do throws(TrickleFragment.Malformation) {
                _ = try TrickleFragment(parsing: text)
                return nil
            } catch {
                return error
            }
        }
        #expect(malformation("") == nil)
        #expect(malformation("a=mid:0\r\nnonsense") == .line(1))
        #expect(malformation("a=candidate") == .line(0))
        #expect(malformation("a=candidate:\0\r\na=x") == .line(0))
        // RFC 8839 §5.4: four characters of a name at least, and 22 of a password.
        #expect(malformation("a=mid:0\r\na=ice-ufrag:new") == .line(1))
        #expect(malformation("a=ice-pwd:tooshorttooshorttoosh") == .line(0))
        // What nobody sees would be lost where a description ends with it.
        #expect(malformation("a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\u{15}\r\na=x") == .line(0))
        #expect(malformation("a=candidate:1\u{2028}nonsense\r\n\u{0b}\r\na=x") == .line(1))
        #expect(malformation("a=ice-ufrag:aaaa\r\na=ice-ufrag:bbbb\r\n") == .twoCredentials)
        #expect(malformation(String(repeating: "a=x\r\n", count: 20_000)) == .tooLong(limit: 65_536))
        #expect(malformation(String(repeating: "a=candidate:1\r\n", count: 257)) == .tooManyCandidates(limit: 256))
    }
}
