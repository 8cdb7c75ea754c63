import NIOCore
import NIOHTTP1
import NIOPosix

/// Posts bodies to one URL, one after the other, over a connection that is kept.
package actor HTTPPoster {
    private let endpoint: ClientEndpoint
    private let target: String
    private let loop: any EventLoop
    private let timeout: Duration
    private var connection: HTTPClientConnection?

    /// Of an answer's body, which nobody reads.
    private static let responseLimit = 1 << 20

    /// Whether a text is the URL of an HTTP server.
    package static func canPost(to url: String) -> Bool { (try? ServerURL(url)) != nil }

    /// - Parameter timeout: for making the connection, and then for the answer.
    package init(url text: String, timeout: Duration = .seconds(10)) throws(SocketIOClientError) {
        let url = try ServerURL(text)
        var configuration = SocketIOClientConfiguration()
        configuration.connectTimeout = timeout
        self.timeout = timeout
        endpoint = ClientEndpoint(url: url, configuration: configuration)
        target = url.query.items.isEmpty ? url.path : url.path + "?" + url.query.encoded
        loop = MultiThreadedEventLoopGroup.singleton.next()
    }

    /// The answer's status.
    package func post(_ body: [UInt8], headers: [(name: String, value: String)]) async throws -> Int {
        let connection =
            self.connection
            ?? HTTPClientConnection(
                endpoint: endpoint, loop: loop, limit: Self.responseLimit)
        self.connection = connection
        let (loop, target) = (loop, target)
        let answer = loop.flatSubmit { connection.perform(.POST, target, body: body, headers: headers) }
        let patience = loop.scheduleTask(in: TimeAmount(timeout) * 2) { _ = connection.close() }
        defer { patience.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await answer.get().status
            } onCancel: {
                loop.execute { _ = connection.close() }
            }
        } catch {
            // The next one begins with a new connection.
            self.connection = nil
            loop.execute { _ = connection.close() }
            throw error
        }
    }

    /// Closes the connection.
    package func close() {
        guard let connection else { return }
        self.connection = nil
        loop.execute { _ = connection.close() }
    }
}
