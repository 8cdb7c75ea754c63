internal import ChatCore
internal import ChatModel
internal import SocketIO

/// What a route answers.
struct APIResponse: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// In the place of `body`, where it is large.
    var stream: SocketIOHTTPResponse.Body?

    /// - Parameter version: becomes the `ETag`.
    static func json(_ value: some Encodable, status: Int = 200, version: Int64? = nil) throws -> APIResponse {
        var headers = [(name: "Content-Type", value: "application/json")]
        if let version { headers.append(("ETag", "\"\(version)\"")) }
        return APIResponse(status: status, headers: headers, body: try JSONWriter.json(value))
    }

    static let nothing = APIResponse(status: 204)

    /// Answers of the API are for who asked and for now, where they do not say otherwise.
    var http: SocketIOHTTPResponse {
        let isKept = headers.contains { $0.name == "Cache-Control" }
        return SocketIOHTTPResponse(
            status: status,
            headers: headers + (isKept ? [] : [("Cache-Control", "no-store")]) + [
                ("X-Content-Type-Options", "nosniff")
            ],
            body: stream ?? .bytes(body))
    }
}

/// The one place where errors become answers.
extension APIResponse {
    init(_ error: ChatError) {
        let body = ErrorBody(code: error.code, message: error.message, field: error.field)
        status =
            switch error.kind {
            case .invalid: 400
            case .unauthenticated: 401
            case .forbidden: 403
            case .notFound: 404
            case .conflict: 409
            case .gone: 410
            case .outdated: 412
            case .tooLarge: 413
            case .tooMany: 429
            case .broken: 500
            case .unavailable: 503
            }
        self.body = (try? JSONWriter.json(body)) ?? []
        headers = [("Content-Type", "application/json")]
        switch error.kind {
        // RFC 9110 §10.2.3: whole seconds.
        case .tooMany(let wait): headers.append(("Retry-After", String(max(1, wait.components.seconds + 1))))
        // RFC 6750 §3.
        case .unauthenticated: headers.append(("WWW-Authenticate", "Bearer"))
        case .invalid, .forbidden, .notFound, .conflict, .gone, .outdated, .tooLarge, .broken, .unavailable: break
        }
    }
}
