internal import Foundation
internal import SocketIO

extension SocketIOHTTPResponse {
    /// To a plain request for the address of a WebSocket, as many proxies make of one that asks for it (RFC 9110
    /// §15.5.22).
    static let upgradeRequired = SocketIOHTTPResponse(
        status: 426,
        headers: [("Upgrade", "websocket"), ("Content-Type", "text/plain; charset=utf-8")],
        body: .bytes(
            Array("This address is a WebSocket. A proxy in front of this server has to pass Upgrade on.\n".utf8)))
}

/// What the server answers outside Socket.IO: the page, `/health`, `/health/ready`, `/metrics`, `/ice-servers`,
/// `/rooms/token`. The whole route table is `answer`.
struct WebRoutes: Sendable {
    let page: StaticFiles?
    let metrics: @Sendable () async -> String
    let readiness: Readiness
    let iceServers: ICEServersRoute
    let roomToken: RoomTokenRoute

    func answer(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse {
        if request.path == RoomTokenRoute.path { return roomToken.answer(request) }
        guard request.method == "GET" || request.method == "HEAD" else {
            return .text("This address answers GET only.\n", status: 405)
        }
        switch request.path {
        case "/health": return .text("ok\n")
        case Readiness.path: return await readiness.answer()
        case "/metrics": return .text(await metrics(), contentType: "text/plain; version=0.0.4; charset=utf-8")
        case "/ice-servers": return iceServers.answer(request)
        default: return pageFile(request)
        }
    }

    private func pageFile(_ request: SocketIOHTTPRequest) -> SocketIOHTTPResponse {
        guard let page else {
            return .text("The web page's files were not found next to this server.\n", status: 404)
        }
        guard let file = page.file(at: request.path) else { return .text("There is no such page.\n", status: 404) }
        var headers = Self.securityHeaders
        headers.append(("ETag", file.entityTag))
        headers.append(("Cache-Control", "no-cache"))
        if request.header("If-None-Match") == file.entityTag {
            return SocketIOHTTPResponse(status: 304, headers: headers)
        }
        headers.append(("Content-Type", file.contentType))
        return SocketIOHTTPResponse(status: 200, headers: headers, body: .bytes(file.body))
    }

    /// Scripts, styles and connections from this server only; camera and microphone for this page only.
    private static let securityHeaders: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'self'; img-src 'self' data:; media-src 'self' blob:; connect-src 'self' ws: wss:; "
                + "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
        ),
        ("Permissions-Policy", "camera=(self), microphone=(self)"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ]
}
