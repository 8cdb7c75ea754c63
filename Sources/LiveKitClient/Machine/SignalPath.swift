internal import Foundation
internal import LiveKitProtocol

/// What is asked of the server when the WebSocket is opened.
struct SignalPath: Sendable, Equatable {
    /// The version of LiveKit's signaling protocol that we announce: its Swift SDK's. From 17 on servers may leave
    /// behind pictures what we do not take off (packet trailers).
    static let protocolVersion = 16
    /// The version of what participants send to each other: 2 has data streams whose header may have the whole content
    /// in it, and RPC by streams.
    static let clientProtocol = 2

    var path = "/rtc"
    var query: [QueryItem]
    var token: String

    struct QueryItem: Sendable, Equatable {
        var name: String
        var value: String
    }
}

extension RoomClientMachine {
    /// The path and query to open: `/rtc`, where clients have two peer connections.
    func signalPath(_ purpose: Purpose) -> SignalPath {
        var items: [(String, String)] = [
            ("protocol", String(SignalPath.protocolVersion)), ("version", options.version),
            ("auto_subscribe", options.autoSubscribe ? "1" : "0"), ("adaptive_stream", "0"),
            ("client_protocol", String(SignalPath.clientProtocol)), ("capabilities", "CAP_COMPRESSION_DEFLATE_RAW"),
        ]
        if !options.operatingSystem.isEmpty { items.append(("os", options.operatingSystem)) }
        switch purpose {
        case .join: items += Self.items(options.attributes)
        // Our own attributes as they are now, without those that were removed. Attributes that came from the token are
        // in the newest token.
        case .rejoin: items += Self.items(roster.local.attributes.filter { options.attributes[$0.key] != nil })
        case .resume(let reason):
            items += [("reconnect", "1"), ("sid", session.sid), ("reconnect_reason", String(reason.rawValue))]
        }
        return SignalPath(query: items.map { .init(name: $0.0, value: $0.1) }, token: token)
    }

    private static func items(_ attributes: [String: String]) -> [(String, String)] {
        guard !attributes.isEmpty, let json = try? JSONEncoder().encode(attributes) else { return [] }
        let text = json.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        return [("attributes", text)]
    }
}
