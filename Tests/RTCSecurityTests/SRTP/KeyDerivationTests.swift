import RTCEngine
import Testing

@testable import RTCSecurity

struct KeyDerivationTests {
    /// RFC 3711 Appendix B.2
    @Test func `the counter mode keystream is the one of RFC 3711 B.2`() throws {
        let key = bytes("2B7E151628AED2A6ABF7158809CF4F3C")
        let stream = try SRTPKeyDerivation.keystream(
            key: key, counter: bytes("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000"), count: 0xff02 * 16)

        #expect(
            Array(stream.prefix(48))
                == bytes(
                    """
                    E03EAD0935C95E80E166B16DD92B4EB4
                    D23513162B02D0F72A43A2FE4A5F97AB
                    41E95B3BB0A2E8DD477901E4FCA894C0
                    """))
        #expect(
            Array(stream.suffix(48))
                == bytes(
                    """
                    EC8CDF7398607CB0F2D21675EA9EA1E4
                    362B7C3C6773516318A077D7FC5073AE
                    6A2CC3787889374FBEB4C81B17BA6C44
                    """))
    }

    /// RFC 3711 Appendix B.3
    @Test func `session keys are derived as in RFC 3711 B.3`() throws {
        let derivation = try SRTPKeyDerivation(
            masterKey: bytes("E1F97A0D3E018BE0D64FA32C06DE4139"), masterSalt: bytes("0EC675AD498AFEEBB6960B3AABE6"))

        #expect(try derivation.derive(.rtpEncryption, count: 16) == bytes("C61E7A93744F39EE10734AFE3FF7A087"))
        #expect(try derivation.derive(.rtpSalt, count: 14) == bytes("30CBBC08863D8C85D49DB34A9AE1"))
        #expect(
            try derivation.derive(.rtpAuthentication, count: 94)
                == bytes(
                    """
                    CEBE321F6FF7716B6FD4AB49AF256A15
                    6D38BAA48F0A0ACF3C34E2359E6CDBCE
                    E049646C43D9327AD175578EF7227098
                    6371C10C9A369AC2F94A8C5FBCDDDC25
                    6D6E919A48B610EF17C2041E47403576
                    6B68642C59BBFC2F34DB60DBDFB2
                    """))
    }

    @Test func `session keys of AES-256 are derived as in RFC 6188 7_4`() throws {
        let derivation = try SRTPKeyDerivation(
            masterKey: bytes("f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6"),
            masterSalt: bytes("3b04803de51ee7c96423ab5b78d2"))
        #expect(
            try derivation.derive(.rtpEncryption, count: 32)
                == bytes("5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4"))
        #expect(try derivation.derive(.rtpSalt, count: 14) == bytes("fa31791685ca444a9e07c6c64e93"))
        #expect(
            try derivation.derive(.rtpAuthentication, count: 20) == bytes("fd9c32d39ed5fbb5a9dc96b30818454d1313dc05"))
    }

    @Test(arguments: [(15, 14), (24, 14), (16, 0), (16, 13), (16, 16)])
    func `refuses a master key or salt of a wrong length`(key: Int, salt: Int) {
        #expect(throws: SRTPError.malformed) {
            try SRTPKeyDerivation(
                masterKey: [UInt8](repeating: 1, count: key), masterSalt: [UInt8](repeating: 1, count: salt))
        }
    }

    /// RFC 2202 §3, test cases 1 and 2; the last four bytes of each message arrive as the word.
    @Test func `HMAC-SHA1 is the one of RFC 2202`() throws {
        let first = try #require(SHA1Authenticator(key: [UInt8](repeating: 0x0b, count: 20)))
        let second = try #require(SHA1Authenticator(key: Array("Jefe".utf8)))
        func digest(_ authenticator: SHA1Authenticator, _ text: String) throws -> [UInt8] {
            let message = Array(text.utf8)
            let word = message.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return try message.withUnsafeBytes { raw in
                let base = try #require(raw.baseAddress)
                let digest = try #require(authenticator.digest(base, count: message.count - 4, word: word))
                return digest.withBytes { [UInt8](UnsafeRawBufferPointer(start: $0, count: 20)) }
            }
        }
        #expect(try digest(first, "Hi There") == bytes("b617318655057264e28bc0b6fb378c8ef146be00"))
        #expect(
            try digest(second, "what do ya want for nothing?") == bytes("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"))
    }
}
