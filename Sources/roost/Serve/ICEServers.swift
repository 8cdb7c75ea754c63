internal import Foundation
internal import SocketIO
internal import TURNServer

/// An entry of W3C's RTCConfiguration.
struct ICEServer: Encodable {
    let urls: [String]
    let username: String
    let credential: String
}

/// The TURN servers that clients are told of, with a credential: whoever sees the page gets one for some hours.
enum ICEServers: Sendable {
    case none
    /// The one of this process.
    case ours(CallRelay)
    /// Those at these URLs, which others run, or the same people on another machine.
    case others([String], TURNCredentials)

    /// For how long a credential makes relayed addresses. Those that it has made
    /// last as long as they are refreshed.
    private static let hours = 12

    /// The one of this process, if it has one.
    var relay: CallRelay? {
        guard case .ours(let relay) = self else { return nil }
        return relay
    }

    /// What a client is to use that has asked for this host.
    func list(asked host: String?, at now: Date = Date()) -> [ICEServer] {
        let urls: [String]
        let credentials: TURNCredentials
        switch self {
        case .none: return []
        case .ours(let relay): (urls, credentials) = (relay.urls(asked: host), .secret(relay.secret))
        case .others(let known, let taken): (urls, credentials) = (known, taken)
        }
        guard !urls.isEmpty else { return [] }
        let expires = Int64(now.timeIntervalSince1970) + Int64(Self.hours * 3_600)
        let issued = credentials.issue(name: CallRelay.randomText(), expires: expires)
        return [ICEServer(urls: urls, username: issued.username, credential: issued.password)]
    }
}

/// `GET /ice-servers`: what a `RTCPeerConnection` is to be made with. Without TURN there is nothing to tell.
struct ICEServersRoute: Sendable {
    let iceServers: ICEServers

    private struct Answer: Encodable {
        let iceServers: [ICEServer]
    }

    func answer(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let answer = Answer(iceServers: iceServers.list(asked: request.header("Host")))
        guard let body = try? encoder.encode(answer) else { return .text("", status: 500) }
        return SocketIOHTTPResponse(
            status: 200,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: .bytes([UInt8](body)))
    }
}
