/// What the server tells a client in the `open` packet.
public struct EngineIOHandshake: Hashable, Sendable {
    /// The session's id: a secret, since whoever knows it may speak for the session.
    public var sid: String
    /// Transports that the client may move to: `websocket` or nothing.
    public var upgrades: [String]
    /// How often the server pings.
    public var pingInterval: Duration
    /// How long a ping may stay unanswered.
    public var pingTimeout: Duration
    /// The largest body of a POST, and the largest frame, that the server takes, in bytes.
    public var maxPayload: Int

    public init(sid: String, upgrades: [String], pingInterval: Duration, pingTimeout: Duration, maxPayload: Int) {
        self.sid = sid
        self.upgrades = upgrades
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.maxPayload = maxPayload
    }

    /// The `open` packet that carries it.
    public var packet: EngineIOPacket {
        var json: [UInt8] = []
        json += #"{"sid":"#.utf8
        json.appendJSONString(sid)
        json += #","upgrades":["#.utf8
        for (index, upgrade) in upgrades.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.appendJSONString(upgrade)
        }
        json += #"],"pingInterval":\#(pingInterval.wholeMilliseconds)"#.utf8
        json += #","pingTimeout":\#(pingTimeout.wholeMilliseconds),"maxPayload":\#(maxPayload)}"#.utf8
        return .text(.open, json[...])
    }

    /// Reads the body of an `open` packet; nil if it lacks a field or holds nonsense.
    public init?(_ body: ArraySlice<UInt8>) {
        guard let json = RawJSON(body), let sid = json["sid"]?.string, !sid.isEmpty,
            let interval = json["pingInterval"]?.double, (1...86_400_000).contains(interval),
            let timeout = json["pingTimeout"]?.double, (1...86_400_000).contains(timeout)
        else { return nil }
        self.init(
            sid: sid, upgrades: json["upgrades"]?.elements?.compactMap(\.string) ?? [],
            pingInterval: .milliseconds(Int(interval)), pingTimeout: .milliseconds(Int(timeout)),
            // Servers before 4.3 do not say it; 1,000,000 is what they take.
            maxPayload: json["maxPayload"]?.int.flatMap { $0 > 0 ? $0 : nil } ?? 1_000_000)
    }
}

extension Duration {
    /// In milliseconds, rounded down.
    var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

/// A request that Engine.IO refuses, with the code and message of the official server.
public enum EngineIORefusal: Int, Error, Hashable, Sendable {
    case unknownTransport = 0
    case unknownSession = 1
    case badHandshakeMethod = 2
    case badRequest = 3
    case forbidden = 4
    case unsupportedProtocolVersion = 5

    /// The message of the official server.
    public var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedProtocolVersion: "Unsupported protocol version"
        }
    }

    /// The HTTP status that goes with it.
    public var status: Int { self == .forbidden ? 403 : 400 }

    /// The response's body.
    public var json: String { #"{"code":\#(rawValue),"message":"\#(message)"}"# }
}

/// The transports of Engine.IO 4 that Roost speaks.
public enum EngineIOTransport: String, Hashable, Sendable {
    case polling
    case webSocket = "websocket"
}
