internal import ChatModel
internal import LiveKitProtocol

/// AWS's Signature Version 4 ("Authenticating Requests", https://docs.aws.amazon.com/AmazonS3/latest/API/
/// sig-v4-authenticating-requests.html), as S3 and the stores that speak its protocol ask for.
struct SignatureV4: Sendable {
    let accessKey: String
    let secretKey: String
    let region: String
    let service: String

    /// What is signed of a request.
    struct Request: Sendable {
        var method: String
        /// Percent encoded, as it is sent.
        var path: String
        var query: [(name: String, value: String)] = []
        /// Names in lower case. `host` is among them.
        var headers: [(name: String, value: String)]
    }

    static let algorithm = "AWS4-HMAC-SHA256"
    /// In the place of a body's digest, where the body is not known to who signs.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// The value of `Authorization`.
    ///
    /// - Parameter payloadHash: the body's digest in hexadecimal. S3 wants it in `x-amz-content-sha256`, too.
    func authorization(of request: Request, payloadHash: String, at time: Timestamp) -> String {
        let signature = signature(of: request, payloadHash: payloadHash, at: time)
        return "\(Self.algorithm) Credential=\(credential(at: time)), SignedHeaders=\(Self.signedHeaders(request)), "
            + "Signature=\(signature)"
    }

    /// The query of a request that is signed by it, for whoever has the URL.
    ///
    /// - Parameter lifetime: in seconds; S3 takes at most a week.
    func presignedQuery(of request: Request, lifetime: Int, at time: Timestamp) -> String {
        var request = request
        request.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", credential(at: time)),
            ("X-Amz-Date", Self.text(of: time)), ("X-Amz-Expires", "\(lifetime)"),
            ("X-Amz-SignedHeaders", Self.signedHeaders(request)),
        ]
        let signature = signature(of: request, payloadHash: Self.unsignedPayload, at: time)
        return Self.canonicalQuery(request.query) + "&X-Amz-Signature=" + signature
    }

    private func signature(of request: Request, payloadHash: String, at time: Timestamp) -> String {
        let headers = request.headers.sorted { $0.name < $1.name }.map { "\($0.name):\(Self.trimmed($0.value))\n" }
        let canonical = [
            request.method, request.path, Self.canonicalQuery(request.query), headers.joined(),
            Self.signedHeaders(request), payloadHash,
        ].joined(separator: "\n")
        let text = [
            Self.algorithm, Self.text(of: time), scope(at: time), Hex.text(SHA256.digest(of: Array(canonical.utf8))),
        ].joined(separator: "\n")
        return Hex.text(Self.code(of: text, key: signingKey(at: time)))
    }

    private func signingKey(at time: Timestamp) -> [UInt8] {
        [Self.day(of: time), region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) { key, text in
            Self.code(of: text, key: key)
        }
    }

    /// An empty code, which is of no use to anybody, where OpenSSL has no memory.
    private static func code(of text: String, key: [UInt8]) -> [UInt8] {
        SHA256.authenticationCode(of: Array(text.utf8), key: key) ?? []
    }

    private func scope(at time: Timestamp) -> String { "\(Self.day(of: time))/\(region)/\(service)/aws4_request" }

    private func credential(at time: Timestamp) -> String { "\(accessKey)/\(scope(at: time))" }

    // MARK: Texts

    private static func signedHeaders(_ request: Request) -> String {
        request.headers.map(\.name).sorted().joined(separator: ";")
    }

    /// Sorted by name, then by value, each encoded.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }.map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// All but the unreserved characters of RFC 3986 §2.3.
    static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes += Hex.text([byte]).uppercased().utf8
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Without spaces around it, and with one where there were several.
    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }

    /// ISO 8601's basic form, to the second: `20130524T000000Z`.
    static func text(of time: Timestamp) -> String {
        String(time.description.prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" }) + "Z"
    }

    private static func day(of time: Timestamp) -> String { String(text(of: time).prefix(8)) }
}

/// Bytes as pairs of hexadecimal digits.
enum Hex {
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
