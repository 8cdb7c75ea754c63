import NIOHTTP1

/// Cross-origin rules (Fetch standard, "CORS protocol"). They hold for WebSockets too, which browsers would let any
/// page open.
enum CORS {
    /// The headers for a response; `forbidden` if the page's origin may not connect.
    static func headers(
        _ request: HTTPHeaders, _ configuration: SocketIOServerConfiguration
    ) throws(EngineIORefusal) -> [(name: String, value: String)] {
        // A page without an origin of its own (a file, a sandboxed frame) sends `null`: only `any` covers it.
        guard let origin = request.first(name: "origin") else { return [] }
        let isSame = request.first(name: "host").map { origin.hasSuffix("://" + $0) } ?? false
        switch configuration.origins {
        case .any: break
        case .sameOrigin:
            guard isSame else { throw .forbidden }
        case .these(let allowed):
            guard isSame || allowed.contains(origin) else { throw .forbidden }
        }
        var headers = [(name: "Access-Control-Allow-Origin", value: origin), (name: "Vary", value: "Origin")]
        if configuration.allowsCredentials { headers.append(("Access-Control-Allow-Credentials", "true")) }
        return headers
    }

    /// What a preflight adds.
    static func preflight(_ request: HTTPHeaders) -> [(name: String, value: String)] {
        [
            ("Access-Control-Allow-Methods", "GET,POST"),
            (
                "Access-Control-Allow-Headers",
                request.first(name: "access-control-request-headers") ?? "Content-Type"
            ),
            ("Access-Control-Max-Age", "600"),
        ]
    }
}
