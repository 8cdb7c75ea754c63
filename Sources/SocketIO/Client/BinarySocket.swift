import NIOCore
import NIOPosix

/// A WebSocket to a server that speaks neither Engine.IO nor Socket.IO over it: messages of bytes, both ways. For
/// modules of this package whose protocol is one of binary messages.
package final class BinarySocket: Sendable {
    /// Where it goes and how.
    package struct Target: Sendable {
        /// `ws`, `wss`, `http` or `https`, a host and perhaps a port and a path; no query.
        package var url: String
        /// What comes behind the URL's own path.
        package var path: String
        package var query: [(name: String, value: String)] = []
        package var headers: [(name: String, value: String)] = []
        /// Until it is open: for TCP, TLS and the server's answer together.
        package var connectTimeout: Duration = .seconds(10)
        /// The largest message taken, in bytes.
        package var messageLimit = 2 << 20
        /// Whether the server's certificate is checked.
        package var verifiesCertificates = true

        package init(url: String, path: String) {
            self.url = url
            self.path = path
        }
    }

    /// What happens on it, in order; nothing after `closed`.
    package enum Fact: Sendable {
        case open
        case message([UInt8])
        case closed(Failure)
    }

    /// Why it is closed.
    package enum Failure: Error, Sendable, Hashable {
        /// The URL is not one of a server.
        case invalidURL
        /// The server answered the request for the WebSocket with this status, and these words of plain text, if any.
        case refused(status: Int, message: String = "")
        /// It could not be made, or is lost; a part of a sentence: what the server gave as its reason, if it gave one.
        case lost(String)
    }

    private let loop: any EventLoop
    private let client: NIOLoopBoundBox<WebSocketClient?>

    /// Connects at once. `report` is called on a thread of the socket's own and is not to block it.
    package init(to target: Target, report: @escaping @Sendable (Fact) -> Void) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        self.loop = loop
        client = NIOLoopBoundBox.makeEmptyBox(valueType: WebSocketClient.self, eventLoop: loop)
        let client = client
        guard let url = try? ServerURL(target.url), url.query.items.isEmpty else {
            report(.closed(.invalidURL))
            return
        }
        var configuration = SocketIOClientConfiguration()
        configuration.headers = target.headers
        configuration.connectTimeout = target.connectTimeout
        configuration.verifiesCertificates = target.verifiesCertificates
        let endpoint = ClientEndpoint(url: url, configuration: configuration)
        let query = EngineIOQuery(items: target.query.map { .init(name: $0.name, value: $0.value) }).encoded
        let base = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        let path = base + target.path + (query.isEmpty ? "" : "?" + query)
        let limit = target.messageLimit
        loop.execute {
            client.value = WebSocketClient(
                endpoint: endpoint, target: path, loop: loop, limit: limit, answerTimeout: target.connectTimeout
            ) { _, fact in
                switch fact {
                case .connected: report(.open)
                case .packet(.binary(let bytes)): report(.message(Array(bytes)))
                // A text: nothing of a protocol of binary messages.
                case .packet: break
                case .closed(.refused(let status, _), let words):
                    report(.closed(.refused(status: status, message: words)))
                case .closed(.serverClosed, let words) where !words.isEmpty: report(.closed(.lost(words)))
                case .closed(let reason, _): report(.closed(.lost(reason.words)))
                }
            }
        }
    }

    /// Sends a message; nothing if it is not open.
    package func send(_ message: [UInt8]) {
        loop.execute { [client] in client.value?.send([.binary(message[...])]) }
    }

    /// Sends what was given to `send`, and closes. Nothing is reported afterwards.
    package func close() {
        loop.execute { [client] in
            client.value?.close()
            client.value = nil
        }
    }

    /// Closes as `close` does, and is back when the server has all that was given to `send` and has answered the
    /// goodbye, or after `limit`. Nothing is reported afterwards.
    package func finish(within limit: Duration = .seconds(3)) async {
        try? await loop.flatSubmit { [client, loop] () -> EventLoopFuture<Void> in
            guard let last = client.value else { return loop.makeSucceededVoidFuture() }
            client.value = nil
            return last.finish(within: TimeAmount(limit))
        }.get()
    }
}

extension EngineIOClientCloseReason {
    /// A part of a sentence.
    var words: String {
        switch self {
        case .local, .serverClosed: "the server closed the connection"
        case .heartbeatMissed: "the server did not answer"
        case .transportFailed(let text), .protocolError(let text): text
        case .refused(let status, _): "the server answered with status \(status)"
        }
    }
}
