internal import ChatCore

/// One thing that clients can ask for.
struct Route: Sendable {
    enum Access: Sendable {
        case anybody
        /// Whoever has a link, or a token of another kind, which the route checks itself.
        case link
        /// Whoever is logged in.
        case user
    }

    let method: String
    /// Under `/api/v1`; a part between braces takes any one part of a path.
    let pattern: String
    let access: Access
    let answer: @Sendable (APIRequest) async throws -> APIResponse
    let counters = RequestCounters()

    init(
        _ method: String, _ pattern: String, for access: Access = .user,
        _ answer: @escaping @Sendable (APIRequest) async throws -> APIResponse
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        self.answer = answer
    }
}

/// All routes. `docs/openapi.yaml` describes each, and a test holds the two against each other.
struct RouteTable: Sendable {
    let routes: [Route]
    /// By how many parts the path has.
    private let byLength: [Int: [(parts: [Substring], route: Route)]]

    init(_ routes: [Route]) {
        self.routes = routes
        byLength = Dictionary(grouping: routes.map { ($0.pattern.split(separator: "/"), $0) }) { $0.0.count }
    }

    enum Match: Sendable {
        case found(Route, [String: String])
        /// There is something here, and it takes these methods.
        case otherMethod([String])
        case nothing
    }

    /// - Parameter path: behind `/api/v1`, percent encoded.
    func match(_ method: String, _ path: Substring) -> Match {
        let parts = path.split(separator: "/").map { Self.decode($0) }
        var methods: [String] = []
        for (pattern, route) in byLength[parts.count] ?? [] {
            guard let parameters = Self.match(pattern, parts) else { continue }
            if route.method == method { return .found(route, parameters) }
            if !methods.contains(route.method) { methods.append(route.method) }
        }
        return methods.isEmpty ? .nothing : .otherMethod(methods)
    }

    private static func match(_ pattern: [Substring], _ parts: [String?]) -> [String: String]? {
        var parameters: [String: String] = [:]
        for (wanted, part) in zip(pattern, parts) {
            // A broken escape is part of no path of ours.
            guard let part else { return nil }
            if wanted.hasPrefix("{") {
                parameters[String(wanted.dropFirst().dropLast())] = part
            } else if wanted != part {
                return nil
            }
        }
        return parameters
    }

    /// Without percent encoding (RFC 3986 §2.1); nil where it is broken, or what it encodes is no UTF-8.
    private static func decode(_ part: Substring) -> String? {
        guard part.utf8.contains(UInt8(ascii: "%")) else { return String(part) }
        var bytes: [UInt8] = []
        var rest = part.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
