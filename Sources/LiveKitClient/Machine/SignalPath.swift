internal import Foundation
internal import LiveKitProtocol

/// What is asked of the server when the WebSocket is opened.
struct SignalPath: Sendable, Equatable {
    /// The server's "protocol" that we speak: what LiveKit's own SDKs of today do.
    static let protocolVersion = 16
    /// Of what participants say to each other: streams of data whose beginning may carry all of them, and calls in
    /// streams.
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
    /// `/rtc`, which stands for two peer connections.
    func signalPath(_ purpose: Purpose) -> SignalPath {
        var items: [(String, String)] = [
            ("protocol", String(SignalPath.protocolVersion)), ("version", options.version),
            ("auto_subscribe", options.autoSubscribe ? "1" : "0"), ("adaptive_stream", "0"),
            ("client_protocol", String(SignalPath.clientProtocol)), ("capabilities", "CAP_COMPRESSION_DEFLATE_RAW"),
        ]
        if !options.operatingSystem.isEmpty { items.append(("os", options.operatingSystem)) }
        switch purpose {
        case .join: items += Self.items(options.attributes)
        // As they are by now, without those that were removed. The newest token has the others.
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
