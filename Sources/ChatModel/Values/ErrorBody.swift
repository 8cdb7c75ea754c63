/// What a request that failed is answered with: `{"error": {"code": "…", "message": "…", "field": "…"}}`.
public struct ErrorBody: Codable, Sendable, Equatable {
    public var error: Detail

    public struct Detail: Codable, Sendable, Equatable {
        /// For programs; `docs/openapi.yaml` lists them.
        public var code: String
        /// For people, in English.
        public var message: String
        /// Which part of the request is meant; left out when none is.
        public var field: String?
    }

    public init(code: String, message: String, field: String? = nil) {
        error = Detail(code: code, message: message, field: field)
    }
}
