import Foundation
import SwiftProtobuf
import Testing

@testable import LiveKitProtocol

struct JoinRequestTests {
    private static let request = LiveKitJoinRequest.with {
        $0.clientInfo = .with {
            $0.sdk = .swift
            $0.protocol = 16
        }
        $0.metadata = "ї~?>"
        $0.publisherOffer = .with {
            $0.type = "offer"
            $0.sdp = String(repeating: "v=0\r\n", count: 500)
        }
    }

    private static func wrapped(_ request: [UInt8], compression: Int = 0) throws -> [UInt8] {
        try LiveKitWrappedJoinRequest.with {
            $0.compression = LiveKitWrappedJoinRequest.Compression(rawValue: compression) ?? .none
            $0.joinRequest = Data(request)
        }.serializedBytes()
    }

    private static func refusal(_ parameter: String, limit: Int = LiveKitJoinRequest.largestParameter)
        -> JoinRequestRefusal?
    {
        do throws(JoinRequestRefusal) {
            _ = try LiveKitJoinRequest(parameter: parameter, limit: limit)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the Python SDK's request is read: gzip, URL-safe, padded`() throws {
        let request = try LiveKitJoinRequest(parameter: try LiveKitVectors.text("join-request-python.txt"))
        #expect(try request == LiveKitJoinRequest(jsonString: try LiveKitVectors.text("join-request-python.json")))
        #expect(request.clientInfo.sdk == .python && request.clientInfo.protocol == 18)
        #expect(request.publisherOffer.sdp.hasPrefix("v=0\r\n") && request.publisherOffer.sdp.utf8.count > 14_000)
    }

    @Test func `either alphabet, with padding and without, and a space for a plus`() throws {
        var padded = 0
        for count in 4...6 {
            var request = Self.request
            // Wherever its bytes fall into base64's groups, there is a plus and a slash.
            request.metadata = String(repeating: "?>", count: count)
            let bytes = try Self.wrapped(try request.serializedBytes())
            let standard = Base64.encodeStandard(bytes)
            #expect(standard.contains("+") && standard.contains("/"))
            padded += standard.hasSuffix("=") ? 1 : 0
            for parameter in [
                standard, Base64.encodeForToken(bytes), standard.replacing("=", with: ""),
                standard.replacing("+", with: " "), standard.replacing("+", with: "-"),
            ] {
                #expect(try LiveKitJoinRequest(parameter: parameter) == request)
            }
        }
        #expect(padded == 2)
    }

    @Test func `a request that nobody wrapped is read too`() throws {
        let bare: [UInt8] = try Self.request.serializedBytes()
        #expect(try LiveKitJoinRequest(parameter: Base64.encodeForToken(bare)) == Self.request)
    }

    @Test func `a wrapper of a newer client is still a wrapper`() throws {
        // The field 999, a text: "new".
        let bytes = try Self.wrapped(try Self.request.serializedBytes()) + [0xba, 0x3e, 0x03, 0x6e, 0x65, 0x77]
        #expect(try LiveKitJoinRequest(parameter: Base64.encodeForToken(bytes)) == Self.request)
    }

    @Test func `what cannot be read is refused with its reason`() throws {
        let bytes: [UInt8] = try Self.request.serializedBytes()
        func parameter(_ bytes: [UInt8]) -> String { Base64.encodeForToken(bytes) }
        #expect(Self.refusal("") == .empty)
        #expect(Self.refusal("====") == .notBase64)
        #expect(Self.refusal("CAES%2B") == .notBase64)
        #expect(Self.refusal("A") == .notBase64)
        #expect(Self.refusal(parameter([0x22, 0x7f])) == .malformed)
        #expect(Self.refusal(parameter(try Self.wrapped([0x0a, 0x7f]))) == .malformed)
        #expect(Self.refusal(parameter(try Self.wrapped(bytes, compression: 2))) == .unknownCompression(2))
        #expect(Self.refusal(parameter(try Self.wrapped(bytes, compression: 1))) == .notGzip)
        #expect(Self.refusal(parameter(bytes), limit: 100) == .tooLarge(limit: 100))
    }

    @Test func `a few bytes that unpack to a great many are refused`() throws {
        // 2 MiB of zeros, packed by Python's gzip into some 2,000 bytes.
        let bomb = try LiveKitVectors.data("zeros.gz")
        #expect(bomb.count < 3_000)
        let parameter = Base64.encodeForToken(try Self.wrapped([UInt8](bomb), compression: 1))
        #expect(Self.refusal(parameter) == .tooLarge(limit: 1 << 20))
    }

    @Test(
        arguments: [
            .empty, .tooLarge(limit: 7), .notBase64, .unknownCompression(9), .notGzip, .malformed,
        ] as [JoinRequestRefusal])
    func `each refusal is one sentence`(refusal: JoinRequestRefusal) {
        #expect(refusal.description.hasPrefix("The join request ") && refusal.description.hasSuffix("."))
    }
}

struct GzipTests {
    /// "hello hello hello", packed by Python's gzip.
    private static let hello: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40,
        0x90, 0x00, 0x80, 0x88, 0xf9, 0xe5, 0x11, 0x00, 0x00, 0x00,
    ]

    private static func result(_ bytes: [UInt8], limit: Int = 17) -> Result<String, Gzip.Fault> {
        Result { () throws(Gzip.Fault) in String(decoding: try Gzip.decompress(bytes, limit: limit), as: UTF8.self) }
    }

    @Test func `just as much as is allowed comes out`() {
        #expect(Self.result(Self.hello) == .success("hello hello hello"))
        #expect(Self.result(Self.hello, limit: 16) == .failure(.tooLarge))
    }

    @Test func `what is cut short, changed or followed by more is damaged`() {
        for count in 0..<Self.hello.count {
            #expect(Self.result(Array(Self.hello.prefix(count)), limit: 100) == .failure(.damaged))
        }
        #expect(Self.result(Self.hello + [0], limit: 100) == .failure(.damaged))
        var changed = Self.hello
        changed[21] ^= 1
        #expect(Self.result(changed, limit: 100) == .failure(.damaged))
        // zlib's own format is not gzip.
        #expect(Self.result([0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]) == .failure(.damaged))
    }
}

struct Base64Tests {
    // RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the RFC's examples`(text: String, encoded: String) {
        #expect(Base64.encodeStandard(text.utf8) == encoded)
        #expect(Base64.decode(encoded.utf8, as: .standard) == Array(text.utf8))
        let token = encoded.replacing("=", with: "")
        #expect(Base64.encodeForToken(text.utf8) == token)
        #expect(Base64.decode(token.utf8, as: .token) == Array(text.utf8))
    }

    @Test func `every byte survives, in both alphabets`() {
        for count in 0...3 {
            let bytes = (0...255).map { UInt8($0) } + [UInt8](repeating: 0xff, count: count)
            #expect(Base64.decode(Base64.encodeStandard(bytes).utf8, as: .standard) == bytes)
            #expect(Base64.decode(Base64.encodeForToken(bytes).utf8, as: .token) == bytes)
        }
    }

    @Test(arguments: ["Zg==", "Zm9+", "Zm9/", "Zm 9", "Z", "Zh", "Zm9vYmF", "Zg\n"])
    func `a token has one spelling`(text: String) {
        #expect(Base64.decode(text.utf8, as: .token) == nil)
    }

    @Test(arguments: ["Zg", "Zg=", "Zg===", "Zm9v=", "Zm9-", "Z=g=", "Zg==Zg==", "Zh=="])
    func `the standard form wants its padding, and nothing behind it`(text: String) {
        #expect(Base64.decode(text.utf8, as: .standard) == nil)
    }
}
