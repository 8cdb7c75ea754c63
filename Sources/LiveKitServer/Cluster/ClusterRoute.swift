internal import Foundation

/// What of a cluster a path names. Paths go on as they are put together here, never as they came.
enum ClusterRoute: Equatable {
    /// A WebSocket, of a client or of a worker of agents; without an upgrade there is nothing.
    case signaling(path: String)
    case validation(path: String)
    /// Any service of LiveKit's by Twirp.
    case service(path: String)
    case exchange(ExchangeRoute, path: String)
    /// `/twirp/` and what is no method of LiveKit's.
    case noMethod
    case event

    /// Nil for paths of others.
    init?(_ path: String) {
        switch path {
        case "/rtc", "/rtc/v1", "/agent": self = .signaling(path: path)
        case "/rtc/validate", "/rtc/v1/validate": self = .validation(path: path)
        case LiveKitCluster.webhookPath: self = .event
        case _ where path.hasPrefix("/twirp/"): self = Self.isMethod(path) ? .service(path: path) : .noMethod
        default:
            guard let exchange = ExchangeRoute(path: path), let path = exchange.safePath else { return nil }
            self = .exchange(exchange, path: path)
        }
    }

    /// As `/twirp/livekit.RoomService/ListRooms`.
    private static func isMethod(_ path: String) -> Bool {
        let parts = path.dropFirst("/twirp/".count).split(separator: "/", omittingEmptySubsequences: false)
        let prefix = "livekit."
        guard parts.count == 2, parts[0].hasPrefix(prefix) else { return false }
        return [parts[0].dropFirst(prefix.count), parts[1]].allSatisfy { name in
            !name.isEmpty && name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0.isWord }
        }
    }
}

extension ExchangeRoute {
    /// The path that names it and nothing else to any server; nil where there is none.
    fileprivate var safePath: String? {
        switch self {
        case .endpoint(let kind, _, .liveKits): return "/\(kind.rawValue)/\(Form.liveKits.folder)"
        case .endpoint(let kind, let room, .ours):
            // RFC 3986 §5.2.4: such a segment is no name, escaped or not.
            guard room != ".", room != ".." else { return nil }
            return "/\(kind.rawValue)" + (room.isEmpty ? "" : "/" + Self.escaped(room))
        case .session(let kind, let id, let form):
            let isName = !id.isEmpty && id.utf8.allSatisfy { $0.isWord || "-_~".utf8.contains($0) }
            return isName ? "/\(kind.rawValue)/\(form.folder)/\(id)" : nil
        // It is refused before anything goes on.
        case .unreadable(let kind): return "/\(kind.rawValue)"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            byte.isWord || "-._~".utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", byte)
        }.joined()
    }
}

extension UInt8 {
    /// A letter or a digit of ASCII.
    fileprivate var isWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
