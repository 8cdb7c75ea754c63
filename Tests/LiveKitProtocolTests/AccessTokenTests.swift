import Foundation
import SwiftProtobuf
import Testing

@testable import LiveKitProtocol

/// An API key of these tests; its secret is long enough.
func testKey(
    _ id: String = "APIroost", secret: String = "a-secret-of-forty-two-bytes-for-the-tests!"
) throws -> APIKey {
    try APIKey(id, secret: secret)
}

private let now = Date(timeIntervalSince1970: 1_767_323_045)

private func refusal(_ text: String, keys: APIKeys, at time: Date = now) -> AccessTokenRefusal? {
    do throws(AccessTokenRefusal) {
        _ = try AccessToken(verifying: text, with: keys, at: time)
        return nil
    } catch {
        return error
    }
}

/// A token with this payload, signed as it should be whatever the header says.
private func token(
    _ payload: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#, key: APIKey
) throws -> String {
    let text = Base64.encodeForToken(header.utf8) + "." + Base64.encodeForToken(payload.utf8)
    let code = try #require(SHA256.authenticationCode(of: Array(text.utf8), key: key.secret))
    return text + "." + Base64.encodeForToken(code)
}

struct AccessTokenTests {
    @Test func `what was signed is read again, with every claim`() throws {
        let key = try testKey()
        var claims = AccessToken.Claims()
        claims.name = "Ann \u{457} \"/\\"
        claims.kind = "agent"
        claims.kindDetails = ["cloud_agent"]
        claims.metadata = #"{"seat":4}"#
        claims.attributes = ["a": "1", "ї": ""]
        claims.sip = SIPGrants()
        claims.sip?.call = true
        claims.roomPreset = "preset"
        claims.roomConfig = .with {
            $0.name = "standup"
            $0.emptyTimeout = 30
            $0.agents = [.with { $0.agentName = "scribe" }]
            $0.tags = ["k": "v"]
        }
        claims.video = VideoGrants()
        claims.video?.room = "standup"
        claims.video?.roomJoin = true
        claims.video?.canSubscribe = false
        claims.video?.canPublishSources = ["camera"]
        let token = AccessToken(identity: "ann", claims: claims, at: now, validFor: 60)
        let again = try AccessToken(verifying: try token.signed(with: key), with: APIKeys(key), at: now)
        #expect(again == token)
    }

    @Test func `what says nothing is left out of the payload`() throws {
        let key = try testKey()
        var claims = AccessToken.Claims()
        claims.video = VideoGrants()
        claims.video?.roomJoin = true
        claims.video?.room = "standup"
        claims.video?.canPublish = false
        let text = try AccessToken(identity: "ann", claims: claims, at: now).signed(with: key)
        let payload = try #require(
            Base64.decode(Array(text.split(separator: ".", omittingEmptySubsequences: false)[1].utf8), as: .token))
        #expect(
            String(decoding: payload, as: UTF8.self)
                == #"{"exp":1767344645,"iat":1767323045,"iss":"APIroost","nbf":1767323045,"sub":"ann","#
                + #""video":{"canPublish":false,"room":"standup","roomJoin":true}}"#)
    }

    @Test func `a token of LiveKit's Python package with every claim is read`() throws {
        let vectors = try JSONDecoder().decode(TokenVectors.self, from: LiveKitVectors.data("tokens.json"))
        let keys = APIKeys(try testKey(vectors.key, secret: vectors.secret))
        let token = try AccessToken(verifying: vectors.full, with: keys, at: now)
        #expect(token.identity == "ann" && token.notBefore == now && token.expires == now + 6 * 3_600)
        var claims = AccessToken.Claims()
        claims.name = "Ann ї"
        claims.kind = "agent"
        claims.metadata = #"{"seat":4}"#
        claims.attributes = ["a": "1", "ї": "2"]
        claims.sip = SIPGrants()
        claims.sip?.admin = true
        claims.sip?.call = true
        claims.agent = AgentGrants()
        claims.agent?.admin = true
        claims.agent?.simulationAdmin = true
        claims.agent?.databaseAdmin = true
        claims.agent?.dispatchAdmin = true
        claims.inference = InferenceGrants()
        claims.inference?.perform = true
        claims.observability = ObservabilityGrants()
        claims.observability?.write = true
        claims.sha256 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        claims.roomPreset = "preset"
        claims.roomConfig = .with {
            $0.name = "standup"
            $0.emptyTimeout = 30
            $0.departureTimeout = 20
            $0.maxParticipants = 5
            $0.metadata = "m"
            $0.tags = ["k": "v"]
        }
        var video = VideoGrants()
        video.roomCreate = true
        video.roomList = true
        video.roomRecord = true
        video.roomAdmin = true
        video.roomJoin = true
        video.room = "standup"
        video.destinationRoom = "other"
        video.canPublish = true
        video.canSubscribe = false
        video.canPublishData = false
        video.canPublishSources = ["camera", "microphone"]
        video.canUpdateOwnMetadata = true
        video.ingressAdmin = true
        video.hidden = true
        video.recorder = true
        video.agent = true
        video.canManageAgentSession = true
        video.canSubscribeMetrics = true
        claims.video = video
        #expect(token.claims == claims)
        #expect(token.claims.participantKind == .agent)
        #expect(refusal(vectors.plain, keys: keys, at: now) == nil)
    }

    private struct TokenVectors: Decodable {
        let key: String
        let secret: String
        let full: String
        let plain: String
    }

    @Test func `the key that a token names verifies it, and only that`() throws {
        let (old, new) = (try testKey("old"), try testKey("new", secret: String(repeating: "n", count: 32)))
        let keys = try APIKeys([old, new])
        let token = AccessToken(identity: "ann", at: now)
        #expect(refusal(try token.signed(with: old), keys: keys) == nil)
        #expect(refusal(try token.signed(with: new), keys: keys) == nil)
        // The right name with the other's secret.
        let forged = try token.signed(with: try testKey("new"))
        #expect(refusal(forged, keys: keys) == .wrongSignature)
        #expect(refusal(try token.signed(with: try testKey("gone")), keys: keys) == .unknownKey)
    }

    // LiveKit's verifier: good before exp + 1 min, and from nbf - 1 min on.
    @Test(
        arguments: [
            (-61, .notYetValid(now)), (-60, nil), (0, nil), (3_600, nil), (3_659, nil),
            (3_660, .expired(now + 3_600)), (1e9, .expired(now + 3_600)),
        ] as [(TimeInterval, AccessTokenRefusal?)])
    func `clocks may be a minute apart`(offset: TimeInterval, expected: AccessTokenRefusal?) throws {
        let key = try testKey()
        let text = try AccessToken(identity: "ann", at: now, validFor: 3_600).signed(with: key)
        #expect(refusal(text, keys: APIKeys(key), at: now + offset) == expected)
    }

    @Test(
        arguments: [
            (#"{"iss":"APIroost","sub":"ann"}"#, .noExpiry),
            (#"{"iss":"APIroost","sub":"ann","exp":null}"#, .noExpiry),
            (#"{"iss":"APIroost","exp":"1767326645"}"#, .unreadableClaim("exp")),
            (#"{"iss":"APIroost","exp":1767326645,"nbf":1767323106}"#, .notYetValid(now + 61)),
            (#"{"sub":"ann","exp":1767326645}"#, .noIssuer),
            (#"{"iss":"","exp":1767326645}"#, .noIssuer),
            (#"{"iss":7,"exp":1767326645}"#, .unreadableClaim("iss")),
            (#"{"iss":"APIroost","exp":1767326645,"video":true}"#, .unreadableClaim("video")),
            (#"{"iss":"APIroost","exp":1767326645,"video":{"roomJoin":"yes"}}"#, .unreadableClaim("video.roomJoin")),
            (#"{"iss":"APIroost","exp":1767326645,"video":{"canPublish":1}}"#, .unreadableClaim("video.canPublish")),
            (#"{"iss":"APIroost","exp":1767326645,"attributes":{"a":1}}"#, .unreadableClaim("attributes.a")),
            (#"{"iss":"APIroost","exp":1767326645,"name":["a"]}"#, .unreadableClaim("name")),
            (#"{"iss":"APIroost","exp":1767326645,"roomConfig":{"name":7}}"#, .unreadableClaim("roomConfig")),
            // RFC 7519 §4.
            (#"{"iss":"APIroost","sub":"ann","sub":"bob","exp":1767326645}"#, .malformed),
            (#"{"iss":"APIroost","exp":1767326645,"video":{"roomJoin":true,"roomJoin":false}}"#, .malformed),
            (#"{"iss":"APIroost","iss":"other","exp":1767326645}"#, .malformed),
            (#"["iss"]"#, .malformed), ("", .malformed), ("{", .malformed), (#"{"iss":"APIroost"}x"#, .malformed),
        ] as [(String, AccessTokenRefusal)])
    func `a signed payload that is not as it should be is refused`(
        payload: String, expected: AccessTokenRefusal
    ) throws {
        let key = try testKey()
        #expect(refusal(try token(payload, key: key), keys: APIKeys(key)) == expected)
    }

    @Test(
        arguments: [
            #"{"iss":"APIroost","sub":"ann","exp":1767326645,"somethingNew":{"a":[1,null]},"video":{"newer":true}}"#,
            #"{"iss":"APIroost","sub":"ann","exp":1767326645.75,"identity":"somebody else","aud":["x"]}"#,
            #"{"iss":"APIroost","sub":"ann","exp":1767326645,"name":null,"video":null,"attributes":null,"kind":null}"#,
            #"{"iss":"APIroost","sub":"ann","exp":1767326645,"attributes":{"team":null,"role":"host"}}"#,
            #"{"iss":"APIroost","jti":"ann","exp":1767326645}"#,
            #"{"iss":"APIroost","sub":"","jti":"ann","exp":1767326645,"roomConfig":{"newer":{"a":1}}}"#,
            #"{"iss":"APIroost","sub":"ann","exp":1e300}"#,
            // Of a clock that is an hour ahead (RFC 7519 §4.1.6).
            #"{"iss":"APIroost","sub":"ann","exp":1767326645,"iat":1767326645}"#,
            #" { "exp" : 1767326645 , "sub" : "\u0061nn" , "iss" : "APIroost" } "#,
        ])
    func `a payload with something new, null or older is taken`(payload: String) throws {
        let key = try testKey()
        let read = try AccessToken(verifying: try token(payload, key: key), with: APIKeys(key), at: now)
        #expect(read.identity == "ann")
        // And what was read can be signed once more, as a token that is renewed is.
        #expect(try !read.signed(with: key).isEmpty)
    }

    @Test(
        arguments: [
            ("ingress", .ingress), ("AGENT", .agent), ("connector", .connector), ("", .standard), ("robot", .standard),
        ] as [(String, LiveKitParticipantInfo.Kind)])
    func `kinds have LiveKit's names`(name: String, kind: LiveKitParticipantInfo.Kind) {
        var claims = AccessToken.Claims()
        claims.kind = name
        #expect(claims.participantKind == kind)
        claims.kindDetails = ["forwarded", name, "bridge_rtsp"]
        #expect(claims.participantKindDetails == [.forwarded, .bridgeRtsp])
    }

    @Test func `every value of these enums has a name in tokens`() {
        #expect(LiveKitTrackSource.allCases.allSatisfy { $0.claimName != nil })
        #expect(LiveKitParticipantInfo.Kind.allCases.allSatisfy { $0.claimName != nil })
        #expect(LiveKitParticipantInfo.KindDetail.allCases.allSatisfy { $0.claimName != nil })
    }

    @Test func `a time that is no time is not signed`() throws {
        let token = AccessToken(identity: "ann", at: now, validFor: .infinity)
        let key = try testKey()
        #expect(throws: SigningError.notEncodable) { try token.signed(with: key) }
    }
}

struct SignedTextTests {
    /// RFC 7515, appendix A.1: the header and payload have line breaks, the key is of bytes that are no text.
    private static let example =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
        + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let exampleKey =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"

    @Test func `RFC 7515 A_1 verifies, and its token expired in 2011`() throws {
        let key = try APIKey("joe", secret: try #require(Base64.decode(Self.exampleKey.utf8, as: .token)))
        #expect(try SignedText(Self.example).isSigned(by: key))
        let keys = APIKeys(key)
        let expires = Date(timeIntervalSince1970: 1_300_819_380)
        #expect(refusal(Self.example, keys: keys, at: expires) == nil)
        #expect(refusal(Self.example, keys: keys, at: now) == .expired(expires))
    }

    // RFC 4231, cases 2 and 6: a short key, and one longer than a block.
    @Test func `the code is HMAC-SHA-256`() {
        func hex(_ bytes: [UInt8]?) -> String { (bytes ?? []).map { String(format: "%02x", $0) }.joined() }
        #expect(
            hex(SHA256.authenticationCode(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            hex(
                SHA256.authenticationCode(
                    of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                    key: [UInt8](repeating: 0xaa, count: 131)))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        #expect(hex(SHA256.digest(of: [])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            hex(SHA256.authenticationCode(of: [], key: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test(
        arguments: [
            (#"{"alg":"none"}"#, .anotherAlgorithm), (#"{"alg":"None","typ":"JWT"}"#, .anotherAlgorithm),
            (#"{"alg":"HS512"}"#, .anotherAlgorithm), (#"{"alg":"RS256"}"#, .anotherAlgorithm),
            (#"{"alg":"hs256"}"#, .anotherAlgorithm), (#"{"alg":""}"#, .anotherAlgorithm),
            (#"{"alg":"HS256","alg":"none"}"#, .malformed), (#"{"alg":"none","alg":"HS256"}"#, .malformed),
            (#"{"alg":null}"#, .malformed), (#"{"alg":["HS256"]}"#, .malformed), (#"{"typ":"JWT"}"#, .malformed),
            (#"{"ALG":"HS256"}"#, .malformed), ("[]", .malformed), ("", .malformed),
            (#"{"alg":"HS256","crit":["b64"],"b64":false}"#, .criticalExtension),
            (#"{"alg":"HS256","crit":[]}"#, .criticalExtension),
            (#"{"alg":"HS256","kid":"x","typ":"at+jwt","jku":"https://example.org"}"#, nil),
        ] as [(String, AccessTokenRefusal?)])
    func `nothing but HS256, though the signature be right`(header: String, expected: AccessTokenRefusal?) throws {
        let key = try testKey()
        let text = try token(#"{"iss":"APIroost","sub":"ann","exp":1767326645}"#, header: header, key: key)
        #expect(refusal(text, keys: APIKeys(key)) == expected)
    }

    @Test func `no bit of a token can be changed`() throws {
        let key = try testKey()
        let keys = APIKeys(key)
        let text = Array(try AccessToken(identity: "ann", at: now).signed(with: key).utf8)
        #expect(refusal(String(decoding: text, as: UTF8.self), keys: keys) == nil)
        for index in text.indices {
            for bit in 0..<7 {
                var changed = text
                changed[index] ^= 1 << bit
                #expect(refusal(String(decoding: changed, as: UTF8.self), keys: keys) != nil)
            }
        }
    }

    @Test func `missing, empty, doubled and padded parts are refused`() throws {
        let key = try testKey()
        let keys = APIKeys(key)
        let text = try AccessToken(identity: "ann", at: now).signed(with: key)
        let parts = text.split(separator: ".").map(String.init)
        for wrong in [
            "", ".", "..", "...", parts[0], parts[0] + "." + parts[1], text + ".", "." + text, text + "." + parts[2],
            text + "=", " " + text, text + "\n", parts[0] + "=." + parts[1] + "." + parts[2], "Bearer " + text,
        ] {
            #expect(refusal(wrong, keys: keys) == .malformed, "\(wrong)")
        }
        #expect(refusal(parts[0] + "." + parts[1] + ".", keys: keys) == .wrongSignature)
        // The first half of the right signature.
        let half = try #require(Base64.decode(parts[2].utf8, as: .token)).prefix(16)
        #expect(refusal("\(parts[0]).\(parts[1]).\(Base64.encodeForToken(half))", keys: keys) == .wrongSignature)
    }

    @Test func `what is too long is not looked at`() throws {
        let key = try testKey()
        var claims = AccessToken.Claims()
        claims.metadata = String(repeating: "m", count: AccessToken.longest)
        let text = try AccessToken(identity: "ann", claims: claims, at: now).signed(with: key)
        #expect(refusal(text, keys: APIKeys(key)) == .tooLong(limit: AccessToken.longest))
        // As much metadata as LiveKit allows is not too long.
        claims.metadata = String(repeating: "m", count: 512 * 1_024)
        #expect(
            refusal(
                try AccessToken(identity: "ann", claims: claims, at: now).signed(with: key), keys: APIKeys(key)) == nil)
    }

    @Test func `nesting without an end is refused`() throws {
        let key = try testKey()
        let deep = String(repeating: "[", count: 200_000)
        #expect(refusal(try token(deep, key: key), keys: APIKeys(key)) == .malformed)
        let closed = deep + String(repeating: "]", count: 200_000)
        let text = try token(#"{"iss":"APIroost","exp":1767326645,"x":\#(closed)}"#, key: key)
        #expect(refusal(text, keys: APIKeys(key)) == .malformed)
    }
}

struct APIKeyTests {
    @Test(
        arguments: [
            ("", "x", .noName), ("key", "", .noSecret(key: "key")),
            ("key", String(repeating: "s", count: 31), .shortSecret(key: "key", bytes: 31)),
            ("key", String(repeating: "s", count: 32), nil), ("key", String(repeating: "ї", count: 16), nil),
        ] as [(String, String, APIKeyProblem?)])
    func `a secret has 32 bytes at least`(id: String, secret: String, expected: APIKeyProblem?) {
        #expect(problem { () throws(APIKeyProblem) in _ = try APIKey(id, secret: secret) } == expected)
    }

    @Test func `a short one is taken where that is asked for, an empty one never`() {
        #expect(
            problem { () throws(APIKeyProblem) in
                _ = try APIKey("devkey", secret: "secret", allowsShortSecret: true)
            } == nil)
        #expect(
            problem { () throws(APIKeyProblem) in _ = try APIKey("devkey", secret: "", allowsShortSecret: true) }
                == .noSecret(key: "devkey"))
    }

    @Test func `two keys of one name are a mistake`() throws {
        let keys = [try testKey("a"), try testKey("b"), try testKey("a")]
        #expect(problem { () throws(APIKeyProblem) in _ = try APIKeys(keys) } == .repeated(key: "a"))
    }

    @Test func `a secret is not printed, logged or dumped`() throws {
        let key = try testKey("shown", secret: "hidden-hidden-hidden-hidden-hidden")
        // The letter h as a number, which is in no other part of what is printed.
        let byte = "\(UInt8(ascii: "h"))"
        var dumped = ""
        dump(APIKeys(key), to: &dumped)
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped, "\(APIKeys(key))"] {
            #expect(text.contains("shown") && !text.contains("hidden") && !text.contains(byte))
        }
    }

    private func problem(_ body: () throws(APIKeyProblem) -> Void) -> APIKeyProblem? {
        do throws(APIKeyProblem) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
