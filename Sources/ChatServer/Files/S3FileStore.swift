internal import AsyncHTTPClient
package import ChatModel
internal import LiveKitProtocol
internal import NIOCore
internal import NIOHTTP1

/// Files in a bucket of a store that speaks S3's protocol (https://docs.aws.amazon.com/AmazonS3/latest/API/).
///
/// An upload is a multipart upload, whose parts the store itself keeps and lists, so nothing of it is lost with this
/// server. All parts but the last have the size that S3 takes at least.
package struct S3FileStore: FileStore {
    package struct Configuration: Sendable {
        /// As `https://s3.example.org`, without a path.
        package var endpoint: String
        package var bucket: String
        package var region: String
        package var accessKey: String
        package var secretKey: String

        package init(endpoint: String, bucket: String, region: String, accessKey: String, secretKey: String) {
            self.endpoint = endpoint
            self.bucket = bucket
            self.region = region
            self.accessKey = accessKey
            self.secretKey = secretKey
        }
    }

    /// What S3 takes at least: "Amazon S3 multipart upload limits", 5 MiB.
    package let partSize = 5 << 20
    package let takesShortParts = false

    private let configuration: Configuration
    private let host: String
    private let signer: SignatureV4
    private let now: @Sendable () -> Timestamp

    private static let timeout = TimeAmount.seconds(60)
    private static let ofBytes = [(name: "content-type", value: "application/octet-stream")]

    /// - Parameter now: the time that signatures name.
    package init(_ configuration: Configuration, now: @escaping @Sendable () -> Timestamp) {
        self.configuration = configuration
        host = Self.host(of: configuration.endpoint)
        signer = SignatureV4(
            accessKey: configuration.accessKey, secretKey: configuration.secretKey, region: configuration.region,
            service: "s3")
        self.now = now
    }

    /// As the client writes it into `Host`, which is signed: without the port that the scheme has anyway.
    static func host(of endpoint: String) -> String {
        let isTLS = endpoint.hasPrefix("https://")
        let host = String(endpoint.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" })
        let usual = isTLS ? ":443" : ":80"
        return host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host
    }

    /// Path-style addresses, which every store takes.
    private func path(_ object: StoredObject) -> String {
        let folder =
            switch object.part {
            case .content: "files"
            case .thumbnail: "thumbnails"
            }
        return "/\(configuration.bucket)/\(folder)/\(object.id)"
    }

    // MARK: Requests

    private func send(
        _ method: String, _ object: StoredObject, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) async throws -> HTTPClientResponse {
        let (time, path) = (now(), path(object))
        let hash = Hex.text(SHA256.digest(of: body))
        let signed =
            headers + [("x-amz-content-sha256", hash), ("x-amz-date", SignatureV4.text(of: time))]
        let authorization = signer.authorization(
            of: .init(method: method, path: path, query: query, headers: signed + [("host", host)]),
            payloadHash: hash, at: time)
        let search = query.isEmpty ? "" : "?" + SignatureV4.canonicalQuery(query)
        var request = HTTPClientRequest(url: configuration.endpoint + path + search)
        request.method = HTTPMethod(rawValue: method)
        request.headers = HTTPHeaders(signed.map { ($0.name, $0.value) })
        request.headers.add(name: "authorization", value: authorization)
        if !body.isEmpty || method == "PUT" || method == "POST" { request.body = .bytes(ByteBuffer(bytes: body)) }
        return try await HTTPClient.shared.execute(request, timeout: Self.timeout)
    }

    /// A request whose answer is small.
    ///
    /// - Throws: `FileStoreFault` for every status but those of success.
    @discardableResult
    private func ask(
        _ method: String, _ object: StoredObject, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) async throws -> (headers: HTTPHeaders, body: S3Answer) {
        let response = try await send(method, object, query: query, headers: headers, body: body)
        let answer = S3Answer(String(buffer: try await response.body.collect(upTo: 1 << 20)))
        try Self.check(response.status, answer)
        return (response.headers, answer)
    }

    private static func check(_ status: HTTPResponseStatus, _ answer: S3Answer) throws {
        // A request for completion can fail after its answer has begun with 200.
        let code = answer.first("Code") ?? ""
        guard (200...299).contains(status.code), !answer.isError else {
            if code == "NoSuchKey" || code == "NoSuchUpload" || status == .notFound { throw FileStoreFault.missing }
            throw FileStoreFault.answer(status: Int(status.code), code: code)
        }
    }

    // MARK: Uploads

    package func begin(_ id: FileID) async throws -> String {
        let answer = try await ask("POST", StoredObject(id), query: [("uploads", "")]).body
        guard let handle = answer.first("UploadId") else { throw FileStoreFault.notUnderstood }
        return handle
    }

    private struct Part: Sendable {
        let number: Int
        let tag: String
        let size: Int64
    }

    /// ListParts, page by page.
    private func parts(of upload: StoredUpload) async throws -> [Part] {
        var parts: [Part] = []
        while true {
            var query = [(name: "uploadId", value: upload.handle)]
            if let last = parts.last { query.append(("part-number-marker", "\(last.number)")) }
            let answer = try await ask("GET", StoredObject(upload.id), query: query).body
            let page = answer.all("Part").compactMap { item -> Part? in
                let item = S3Answer(item)
                guard let number = item.first("PartNumber").flatMap({ Int($0) }), let tag = item.first("ETag"),
                    let size = item.first("Size").flatMap({ Int64($0) })
                else { return nil }
                return Part(number: number, tag: tag, size: size)
            }
            parts += page
            guard answer.first("IsTruncated") == "true", !page.isEmpty else { return parts }
        }
    }

    package func offset(of upload: StoredUpload) async throws -> Int64 {
        do {
            var offset: Int64 = 0
            for (index, part) in try await parts(of: upload).enumerated() {
                guard part.number == index + 1 else { break }
                offset += part.size
            }
            return offset
        } catch FileStoreFault.missing {
            // Completed, and the server ended before it had written so.
            guard try await exists(StoredObject(upload.id)) else { throw FileStoreFault.missing }
            return upload.size
        }
    }

    package func append(_ bytes: [UInt8], to upload: StoredUpload, at offset: Int64) async throws {
        let number = offset / Int64(partSize) + 1
        try await ask(
            "PUT", StoredObject(upload.id), query: [("partNumber", "\(number)"), ("uploadId", upload.handle)],
            headers: Self.ofBytes, body: bytes)
    }

    package func complete(_ upload: StoredUpload) async throws {
        do {
            let list = try await parts(of: upload).map {
                "<Part><PartNumber>\($0.number)</PartNumber><ETag>\($0.tag)</ETag></Part>"
            }
            let body = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
            try await ask(
                "POST", StoredObject(upload.id), query: [("uploadId", upload.handle)],
                headers: [("content-type", "application/xml")], body: Array(body.utf8))
        } catch FileStoreFault.missing {
            guard try await exists(StoredObject(upload.id)) else { throw FileStoreFault.missing }
        }
    }

    // MARK: Objects

    package func put(_ bytes: [UInt8], as object: StoredObject) async throws {
        try await ask("PUT", object, headers: Self.ofBytes, body: bytes)
    }

    package func get(_ object: StoredObject) async throws -> [UInt8] {
        let response = try await send("GET", object)
        let body = try await response.body.collect(upTo: 8 << 20)
        guard response.status == .ok else {
            try Self.check(response.status, S3Answer(String(buffer: body)))
            throw FileStoreFault.notUnderstood
        }
        return [UInt8](buffer: body)
    }

    package func exists(_ object: StoredObject) async throws -> Bool {
        do {
            try await ask("HEAD", object)
            return true
        } catch FileStoreFault.missing {
            return false
        }
    }

    package func size(of object: StoredObject) async throws -> Int {
        guard let text = try await ask("HEAD", object).headers.first(name: "content-length"), let size = Int(text)
        else {
            throw FileStoreFault.notUnderstood
        }
        return size
    }

    package func read(_ object: StoredObject, _ range: Range<Int64>) async throws -> FileChunks {
        let response = try await send(
            "GET", object, headers: [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
        guard response.status == .partialContent || response.status == .ok else {
            let answer = S3Answer(String(buffer: try await response.body.collect(upTo: 1 << 20)))
            try Self.check(response.status, answer)
            throw FileStoreFault.notUnderstood
        }
        return response.body.map { [UInt8](buffer: $0) }
    }

    package func remove(_ id: FileID, handle: String?) async throws {
        if let handle, !handle.isEmpty {
            do {
                try await ask("DELETE", StoredObject(id), query: [("uploadId", handle)])
            } catch FileStoreFault.missing {
                // It is complete, or was taken away before.
            }
        }
        for part in [StoredObject.Part.content, .thumbnail] {
            do {
                try await ask("DELETE", StoredObject(id, part))
            } catch FileStoreFault.missing {
                // S3 says nothing of it; others do.
            }
        }
    }

    package func link(to object: StoredObject, as response: LinkedResponse, until end: Timestamp) -> String? {
        let time = now()
        let query = [
            (name: "response-cache-control", value: "private"),
            (name: "response-content-disposition", value: response.disposition),
            (name: "response-content-type", value: response.mediaType),
        ]
        let lifetime = max(1, (end.milliseconds - time.milliseconds) / 1_000)
        let search = signer.presignedQuery(
            of: .init(method: "GET", path: path(object), query: query, headers: [("host", host)]),
            lifetime: Int(lifetime), at: time)
        return configuration.endpoint + path(object) + "?" + search
    }
}

/// An answer of S3's, of which single elements are wanted: XML without attributes that matter.
struct S3Answer: Sendable {
    private let text: String

    init(_ text: String) { self.text = text }

    var isError: Bool { text.contains("<Error>") }

    /// What is between the tags of the first element of this name.
    func first(_ name: String) -> String? { all(name, atMost: 1).first }

    func all(_ name: String) -> [String] { all(name, atMost: .max) }

    private func all(_ name: String, atMost most: Int) -> [String] {
        var found: [String] = []
        var rest = text[...]
        while found.count < most, let start = rest.firstRange(of: "<\(name)>") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "</\(name)>") else { break }
            found.append(Self.unescaped(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return found
    }

    /// XML 1.0 §4.6. Inside an element that has others the text stays readable, for tags are not escaped.
    private static func unescaped(_ text: Substring) -> String {
        guard text.contains("&") else { return String(text) }
        let names = [
            ("&quot;", "\""), ("&#34;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&"),
        ]
        return names.reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
    }
}
