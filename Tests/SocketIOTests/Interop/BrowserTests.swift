import Foundation
import SocketIO
import Testing

/// The official JavaScript client in Chromium against our server, which also serves the page and the client.
struct BrowserTests {
    @Test func `the official JavaScript client works over every transport`() async throws {
        let client = try await PythonPeer.run("browser.py", ["client"]).first ?? ""
        let page = PythonPeer.repository().path + "/Interop/socketio/page.html"
        try await TestServer.run {
            $0.fallback = { request in
                switch request.path {
                case "/":
                    SocketIOHTTPResponse(headers: [("Content-Type", "text/html")], body: .file(path: page))
                case "/client.js":
                    SocketIOHTTPResponse(headers: [("Content-Type", "text/javascript")], body: .file(path: client))
                default: .text("Not found", status: 404)
                }
            }
        } _: { server in
            let lines = try await PythonPeer.run("browser.py", [server.url])
            #expect(
                lines == [
                    "echo(['polling']) polling", "echo(['websocket']) websocket",
                    "echo(['polling', 'websocket']) websocket", "namespaces() ok", "rooms() ok", "reconnect() ok",
                    "done",
                ])
        }
    }
}
