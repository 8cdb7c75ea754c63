/// The query of an Engine.IO request.
public struct EngineIOQuery: Hashable, Sendable {
    /// The items in the order they came; a name may repeat.
    public let items: [Item]

    /// A name and its value, both without percent encoding.
    public struct Item: Hashable, Sendable {
        /// Without percent encoding.
        public let name: String
        /// Without percent encoding; empty when there was no `=`.
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(items: [Item]) { self.items = items }

    /// Reads `a=1&b=2`: percent encoding and `+` for a space (as browsers write forms). A broken escape stays as
    /// it is.
    public init(_ text: some StringProtocol) {
        items = String(text).split(separator: "&").map { pair in
            let parts = String(pair).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Item(
                name: Self.decode(parts.first ?? ""), value: parts.count > 1 ? Self.decode(parts[1]) : "")
        }
    }

    /// The first value of a name; nil if it is missing.
    public subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// The text of a query, percent encoded (RFC 3986 §2.1).
    public var encoded: String {
        items.map { Self.encode($0.name) + "=" + Self.encode($0.value) }.joined(separator: "&")
    }

    private static func decode(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
                if digits.count == 2 {
                    bytes.append(UInt8(truncatingIfNeeded: digits[0] << 4 | digits[1]))
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What an HTTP request to the Engine.IO path wants, told from its method and query alone.
public enum EngineIORequest: Hashable, Sendable {
    /// A GET with `transport=polling` and no session.
    case openByPolling
    /// A WebSocket without session.
    case openByWebSocket
    /// A GET of a session.
    case poll(sid: String)
    /// A POST of a session.
    case post(sid: String)
    /// A WebSocket with a session: the start of an upgrade.
    case upgrade(sid: String)
    /// A CORS preflight.
    case preflight

    /// The checks of the official server, in its order.
    public init(method: String, query: EngineIOQuery, wantsWebSocket: Bool) throws(EngineIORefusal) {
        if method == "OPTIONS" {
            self = .preflight
            return
        }
        guard let transport = query["transport"].flatMap(EngineIOTransport.init(rawValue:)) else {
            throw .unknownTransport
        }
        if let sid = query["sid"], !sid.isEmpty {
            switch (transport, method, wantsWebSocket) {
            case (.webSocket, "GET", true): self = .upgrade(sid: sid)
            case (.polling, "GET", false): self = .poll(sid: sid)
            case (.polling, "POST", false): self = .post(sid: sid)
            default: throw .badRequest
            }
            return
        }
        guard method == "GET" else { throw .badHandshakeMethod }
        guard query["EIO"] == "4" else { throw .unsupportedProtocolVersion }
        switch (transport, wantsWebSocket) {
        case (.webSocket, true): self = .openByWebSocket
        case (.polling, false): self = .openByPolling
        case (.webSocket, false), (.polling, true): throw .badRequest
        }
    }
}
