import NIOCore
import NIOHTTP1
import NIOPosix

/// Posts bodies to one URL, one after the other, over a connection that is kept, and to where its server sends it on.
package actor HTTPPoster {
    private let endpoint: ClientEndpoint
    private let loop: any EventLoop
    private let timeout: Duration
    private var connection: HTTPClientConnection?

    /// Of an answer's body, which nobody reads. The connection of one that is larger, or does not come soon after its
    /// head, is not kept.
    private static let responseLimit = 1 << 20
    private static let responseTime = TimeAmount.seconds(1)
    /// So many redirections of one body are followed.
    private static let redirectionLimit = 5

    /// Whether a text is the URL of an HTTP server.
    package static func canPost(to url: String) -> Bool { (try? ServerURL(url)) != nil }

    /// - Parameter timeout: for making a connection. A post has twice as long, wherever it is sent on to.
    package init(url text: String, timeout: Duration = .seconds(10)) throws(SocketIOClientError) {
        let url = try ServerURL(text)
        var configuration = SocketIOClientConfiguration()
        configuration.connectTimeout = timeout
        self.timeout = timeout
        endpoint = ClientEndpoint(url: url, configuration: configuration)
        loop = MultiThreadedEventLoopGroup.singleton.next()
    }

    /// The status of the last answer, whatever becomes of its body. A redirection that keeps method and body (RFC 9110
    /// §15.4.8, §15.4.9) is followed with the same headers; others are the answer.
    package func post(_ body: [UInt8], headers: [(name: String, value: String)]) async throws -> Int {
        let end = NIODeadline.now() + TimeAmount(timeout) * 2
        var answer = try await post(body, to: endpoint.url, headers, until: end)
        var url = endpoint.url
        for _ in 0..<Self.redirectionLimit {
            guard let next = answer.redirection(from: url) else { break }
            url = next
            answer = try await post(body, to: url, headers, until: end)
        }
        return answer.status
    }

    private func post(
        _ body: [UInt8], to url: ServerURL, _ headers: [(name: String, value: String)], until end: NIODeadline
    ) async throws -> HTTPClientConnection.Response {
        let isKept = url == endpoint.url
        let connection = isKept ? keptConnection() : makeConnection(to: url)
        let (loop, target) = (loop, url.target)
        // Of the head alone: it says what has become of the request (RFC 9110 §15).
        let answer = loop.makePromise(of: HTTPClientConnection.Response.self)
        let whole = loop.flatSubmit {
            connection.perform(.POST, target, body: body, headers: headers) { answer.succeed($0) }
        }
        whole.cascadeFailure(to: answer)
        let patience = loop.scheduleTask(deadline: end) {
            // A connection that is still being made does not fail for being closed.
            answer.fail(HTTPRequester.Failure.late)
            _ = connection.close()
        }
        defer {
            patience.cancel()
            if !isKept { loop.execute { _ = connection.close() } }
        }
        do {
            let head = try await withTaskCancellationHandler {
                try await answer.futureResult.get()
            } onCancel: {
                // As above.
                answer.fail(CancellationError())
                loop.execute { _ = connection.close() }
            }
            guard isKept else { return head }
            let isWhole = await Self.ends(whole, on: loop, by: min(end, NIODeadline.now() + Self.responseTime))
            if !isWhole { close() }
            return head
        } catch {
            // The next one begins with a new connection.
            if isKept { close() }
            throw error
        }
    }

    /// Whether this comes, and in time.
    private static func ends(
        _ whole: EventLoopFuture<HTTPClientConnection.Response>, on loop: any EventLoop, by end: NIODeadline
    ) async -> Bool {
        let isWhole = loop.makePromise(of: Bool.self)
        whole.whenSuccess { _ in isWhole.succeed(true) }
        whole.whenFailure { _ in isWhole.succeed(false) }
        let patience = loop.scheduleTask(deadline: end) { isWhole.succeed(false) }
        defer { patience.cancel() }
        return await withTaskCancellationHandler {
            (try? await isWhole.futureResult.get()) ?? false
        } onCancel: {
            isWhole.succeed(false)
        }
    }

    private func keptConnection() -> HTTPClientConnection {
        let kept = connection ?? makeConnection(to: endpoint.url)
        connection = kept
        return kept
    }

    private func makeConnection(to url: ServerURL) -> HTTPClientConnection {
        HTTPClientConnection(
            endpoint: ClientEndpoint(url: url, configuration: endpoint.configuration), loop: loop,
            limit: Self.responseLimit)
    }

    /// Whether it keeps a connection.
    package var isConnected: Bool { connection != nil }

    /// Closes the connection.
    package func close() {
        guard let connection else { return }
        self.connection = nil
        loop.execute { _ = connection.close() }
    }
}

extension HTTPClientConnection.Response {
    /// Where the same body is to be posted instead; nil where this is the answer.
    fileprivate func redirection(from url: ServerURL) -> ServerURL? {
        guard status == 307 || status == 308 else { return nil }
        return headers.first { $0.name.lowercased() == "location" }.flatMap { url.redirected(to: $0.value) }
    }
}
