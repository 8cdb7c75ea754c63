import RTCWire
import Testing

@Suite struct SessionDescriptionTests {
    static let small = """
        v=0
        o=- 42 1 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=mid:0
        a=rtpmap:111 opus/48000/2

        """

    @Test(arguments: SDPVectors.names)
    func `parsing and serialising gives the same text`(name: String) throws {
        let text = try SDPVectors.text(name)
        let description = try SessionDescription(parsing: text)
        #expect(description.text == text)
        #expect(try SessionDescription(parsing: description.text) == description)
    }

    @Test(arguments: SDPVectors.names)
    func `no prefix of a captured description traps, and what parses is stable`(name: String) throws {
        let bytes = Array(try SDPVectors.text(name).utf8)
        // Every byte of the short ones. Of the long ones, whose lines repeat: the first 400 bytes, and every 67th.
        let isShort = bytes.count < 1_000
        for length in 0...bytes.count where isShort || length < 400 || length % 67 == 0 {
            let text = String(decoding: bytes[..<length], as: UTF8.self)
            guard let description = try? SessionDescription(parsing: text) else { continue }
            #expect(try SessionDescription(parsing: description.text) == description)
        }
    }

    @Test func `any single byte of a description may be wrong without a trap`() throws {
        let bytes = Array(try SDPVectors.text("server_subscriber_offer_datachannel_only").utf8)
        for index in bytes.indices {
            for wrong: UInt8 in [0, 0x0a, 0x20, 0x3a, 0xff] {
                var damaged = bytes
                damaged[index] = wrong
                guard let description = try? SessionDescription(parsing: String(decoding: damaged, as: UTF8.self))
                else { continue }
                #expect(try SessionDescription(parsing: description.text) == description)
            }
        }
    }

    @Test func `takes line feeds alone, and writes CR LF`() throws {
        let description = try SessionDescription(parsing: Self.small)
        #expect(description.text.utf8.count == Self.small.utf8.count + 9)
        #expect(description.media.first?.mid == "0")
    }

    @Test(arguments: ["\n", "\r\n\r\n", "  \n", "\0", ""])
    func `white space behind the last line is ignored`(junk: String) throws {
        let clean = try SessionDescription(parsing: Self.small)
        #expect(try SessionDescription(parsing: Self.small.dropLast() + junk) == clean)
    }

    @Test func `keeps what it does not know, in its place`() throws {
        let text = Self.small.replacing("a=mid:0\n", with: "a=x-new:1 2:3\nz=9\na=mid:0\na=x-flag\n")
        let description = try SessionDescription(parsing: text)
        #expect(description.text == text.replacing("\n", with: "\r\n"))
        #expect(description.media[0].values(of: "x-new") == ["1 2:3"])
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        var replace: String
        var with: String
        var line: Int
        var reason: SDPError.Reason

        init(_ replace: String, _ with: String, _ line: Int, _ reason: SDPError.Reason) {
            self.replace = replace
            self.with = with
            self.line = line
            self.reason = reason
        }

        var testDescription: String { "\(with.prefix(30)) -> \(reason)" }
    }

    static let faults: [Fault] = [
        Fault("v=0", "v=1", 1, .unsupportedVersion),
        Fault("v=0\n", "", 1, .expected("v")),
        Fault("o=- 42 1 IN IP4 127.0.0.1\n", "", 2, .expected("o")),
        Fault("o=- 42 1", "o=- 42", 2, .malformedOrigin),
        Fault("o=- 42 1", "o=- -1 1", 2, .malformedOrigin),
        Fault("o=- 42 1", "o=- 42 99999999999999999999", 2, .malformedOrigin),
        Fault("s=-\n", "", 3, .expected("s")),
        Fault("t=0 0\n", "", 5, .missingTiming),
        Fault("c=IN", "t=0 0\nc=IN", 7, .misplaced("t")),
        Fault("c=IN", "v=0\nc=IN", 7, .misplaced("v")),
        Fault("c=IN", "C=IN", 7, .notALine),
        Fault("c=IN", "c IN", 7, .notALine),
        Fault("c=IN", "\nc=IN", 7, .notALine),
        Fault("c=IN", "a=:x\nc=IN", 7, .notALine),
        Fault("c=IN", "c=I\rN", 7, .forbiddenCharacter),
        Fault("c=IN", "c=I\0N", 7, .forbiddenCharacter),
        Fault("m=audio 9 UDP/TLS/RTP/SAVPF 111", "m=audio 9 UDP/TLS/RTP/SAVPF", 6, .malformedMedia),
        Fault("m=audio 9", "m=audio 65536", 6, .malformedMedia),
        Fault("m=audio 9", "m=audio +9", 6, .malformedMedia),
        Fault("m=audio 9", "m=audio 9/x", 6, .malformedMedia),
        Fault("a=mid:0", "a=mid:", 8, .malformedAttribute(name: "mid")),
        Fault("a=mid:0", "a=mid:0 1", 8, .malformedAttribute(name: "mid")),
        Fault("111 opus/48000/2", "111 opus", 9, .malformedAttribute(name: "rtpmap")),
        Fault("111 opus/48000/2", "128 opus/48000/2", 9, .malformedAttribute(name: "rtpmap")),
        Fault("111 opus/48000/2", "111 opus/0", 9, .malformedAttribute(name: "rtpmap")),
        Fault("a=mid:0", "a=fmtp:111", 8, .malformedAttribute(name: "fmtp")),
        Fault("a=mid:0", "a=rtcp-fb:111", 8, .malformedAttribute(name: "rtcp-fb")),
        Fault("a=mid:0", "a=extmap:0 urn:x", 8, .malformedAttribute(name: "extmap")),
        Fault("a=mid:0", "a=extmap:1/both urn:x", 8, .malformedAttribute(name: "extmap")),
        Fault("a=mid:0", "a=setup:maybe", 8, .malformedAttribute(name: "setup")),
        Fault("a=mid:0", "a=fingerprint:sha-256 00:11", 8, .malformedAttribute(name: "fingerprint")),
        Fault("a=mid:0", "a=fingerprint:sha-256 0011", 8, .malformedAttribute(name: "fingerprint")),
        Fault("a=mid:0", "a=ssrc:4294967296 cname:x", 8, .malformedAttribute(name: "ssrc")),
        Fault("a=mid:0", "a=ssrc-group:FID 1 x", 8, .malformedAttribute(name: "ssrc-group")),
        Fault("a=mid:0", "a=ice-ufrag:abc", 8, .malformedAttribute(name: "ice-ufrag")),
        Fault("a=mid:0", "a=ice-pwd:short", 8, .malformedAttribute(name: "ice-pwd")),
        Fault("a=mid:0", "a=sctp-port:70000", 8, .malformedAttribute(name: "sctp-port")),
        Fault("a=mid:0", "a=max-message-size:-1", 8, .malformedAttribute(name: "max-message-size")),
    ]

    @Test(arguments: faults)
    func `refuses a fault and names its line`(fault: Fault) {
        let text = Self.small.replacing(fault.replace, with: fault.with)
        #expect(throws: SDPError(line: fault.line, reason: fault.reason)) { try SessionDescription(parsing: text) }
    }

    @Test func `an error shows nothing of the text`() throws {
        let text = Self.small.replacing("a=mid:0", with: "a=ice-pwd:secret")
        let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: text) }
        #expect("\(try #require(error))" == "line 8 of the session description: the attribute ice-pwd is malformed")
    }

    @Test func `refuses more than the limits`() throws {
        let head = "v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\n"
        #expect(throws: SDPError(line: 1, reason: .tooLong)) {
            try SessionDescription(parsing: head + String(repeating: "a=x\n", count: SDPLimits.bytes / 4))
        }
        #expect(throws: SDPError(line: SDPLimits.linesPerSection + 4, reason: .tooManyLines)) {
            try SessionDescription(parsing: head + String(repeating: "a=x\n", count: SDPLimits.linesPerSection))
        }
        #expect(throws: SDPError(line: SDPLimits.mediaSections + 5, reason: .tooManyMediaSections)) {
            let section = "m=audio 0 RTP/SAVPF 0\n"
            return try SessionDescription(
                parsing: head + String(repeating: section, count: SDPLimits.mediaSections + 1))
        }
    }

    @Test func `port 0 means rejected, except where a=bundle-only stands`() throws {
        let text = try SDPVectors.text("firefox_max_bundle_simulcast_offer")
        let description = try SessionDescription(parsing: text)
        #expect(description.media.map(\.port) == [9, 0])
        #expect(description.media.map(\.isRejected) == [false, false])
        let plain = try SessionDescription(parsing: text.replacing("a=bundle-only\r\n", with: ""))
        #expect(plain.media.map(\.isRejected) == [false, true])
    }
}
