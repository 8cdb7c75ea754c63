import COpenSSL
import ChatModel
import Foundation
import LiveKitProtocol
import Testing

@testable import ChatServer

struct ProviderTokenTests {
    /// PKCS #8 of a key that OpenSSL makes for each test.
    static func key() throws -> (pem: String, key: OpaquePointer) {
        let key = try #require(copenssl_generate_ec_key(NID_X9_62_prime256v1))
        let output = try #require(BIO_new(BIO_s_mem()))
        defer { BIO_free(output) }
        #expect(PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return (String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self), key)
    }

    static func configuration(key: String) -> APNsConfiguration {
        APNsConfiguration(key: key, keyID: "KEY1234567", teamID: "TEAM123456", topics: ["org.example.app"])
    }

    private let start = Timestamp(milliseconds: 1_795_435_200_000)

    /// Whether OpenSSL takes a signature of R and S, put into DER for it.
    private func isSigned(_ message: [UInt8], _ signature: [UInt8], by key: OpaquePointer) throws -> Bool {
        let pair = try #require(ECDSA_SIG_new())
        defer { ECDSA_SIG_free(pair) }
        let r = BN_bin2bn(Array(signature.prefix(32)), 32, nil)
        let s = BN_bin2bn(Array(signature.suffix(32)), 32, nil)
        #expect(ECDSA_SIG_set0(pair, r, s) == 1)
        var der = [UInt8](repeating: 0, count: 80)
        let length = der.withUnsafeMutableBufferPointer { bytes -> Int32 in
            var place = bytes.baseAddress
            return i2d_ECDSA_SIG(pair, &place)
        }
        let context = try #require(EVP_MD_CTX_new())
        defer { EVP_MD_CTX_free(context) }
        #expect(EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1)
        return EVP_DigestVerify(context, der, Int(length), message, message.count) == 1
    }

    @Test func `a token says whose it is, and OpenSSL takes its signature`() throws {
        let (pem, key) = try Self.key()
        defer { EVP_PKEY_free(key) }
        var tokens = try ProviderTokens(Self.configuration(key: pem))
        // R and S are short now and then, and are 32 bytes all the same.
        for number in 0..<200 {
            let text = try tokens.token(at: start.advanced(by: .seconds(2_400 * number)))
            let parts = text.split(separator: ".")
            try #require(parts.count == 3)
            let signature = try #require(Base64.decode(parts[2].utf8, as: .token))
            #expect(signature.count == 64)
            #expect(try isSigned(Array((parts[0] + "." + parts[1]).utf8), signature, by: key))
            #expect(try !isSigned(Array((parts[0] + "." + parts[1] + "x").utf8), signature, by: key))
        }
        let parts = try tokens.token(at: start).split(separator: ".")
        let json = parts.prefix(2).compactMap { Base64.decode($0.utf8, as: .token) }.map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(
            json == [#"{"alg":"ES256","kid":"KEY1234567","typ":"JWT"}"#, #"{"iss":"TEAM123456","iat":1795435200}"#])
    }

    @Test func `a token serves for forty minutes, and is made anew before them only once in twenty`() throws {
        let (pem, key) = try Self.key()
        defer { EVP_PKEY_free(key) }
        var tokens = try ProviderTokens(Self.configuration(key: pem))
        func token(after seconds: Int) throws -> String {
            try tokens.token(at: start.advanced(by: .seconds(seconds)))
        }
        func expired(_ text: String, after seconds: Int) -> Bool {
            tokens.tokenExpired(text, at: start.advanced(by: .seconds(seconds)))
        }
        let first = try token(after: 0)
        #expect(try token(after: 2_399) == first)
        let second = try token(after: 2_400)
        #expect(second != first)

        // Of the one before nothing is to be learned.
        #expect(expired(first, after: 2_401))
        #expect(try token(after: 2_401) == second)
        #expect(expired(second, after: 2_401))
        let third = try token(after: 2_401)
        #expect(third != second)
        #expect(!expired(third, after: 3_600))
        #expect(try token(after: 3_600) == third)
        #expect(expired(third, after: 3_601))
    }

    @Test(arguments: ["", "no key", "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n"])
    func `what is no key is refused`(text: String) {
        #expect(throws: APNsFault.notAKey) { try ProviderTokens(Self.configuration(key: text)) }
    }

    @Test func `a key on another curve is refused`() {
        // P-384, made by `openssl genpkey`.
        let pem = """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDC7ZZdOuUkjCY0TUh70
            Yy3iDon628LKmQ7yH+rKN1bSuTYfTx89WiQ99H5qixpszrChZANiAATJDL69u55H
            /3kUjUB9H0kdLvyT//ZOfOBeUXolFQhDonhiHcQZv+PTCzfKq7qF3LnTygygOPL2
            pjg9kERprGCZI7AbbvI1AmWeLC4mSLIxNgNjKEsCYqbHSjcdU+7z+YE=
            -----END PRIVATE KEY-----
            """
        #expect(throws: APNsFault.notAKey) { try ProviderTokens(Self.configuration(key: pem)) }
    }
}
