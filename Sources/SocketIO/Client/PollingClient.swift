import NIOCore
import NIOHTTP1

/// The long-polling transport of a client: one GET and one POST at a time, each on its own connection.
final class PollingClient: @unchecked Sendable {
    enum Fact {
        /// A GET was answered.
        case polled([UInt8])
        /// A POST was taken.
        case posted
        case failed(EngineIOClientCloseReason)
    }

    private let gets: HTTPClientConnection
    private let posts: HTTPClientConnection
    private let loop: any EventLoop
    private let report: (Fact) -> Void
    private var isClosed = false
    /// Whether the next GET, the next POST may begin.
    private(set) var mayPoll = true, mayPost = true

    init(endpoint: ClientEndpoint, loop: any EventLoop, limit: Int, report: @escaping (Fact) -> Void) {
        gets = HTTPClientConnection(endpoint: endpoint, loop: loop, limit: limit)
        posts = HTTPClientConnection(endpoint: endpoint, loop: loop, limit: limit)
        self.loop = loop
        self.report = report
    }

    func poll(target: String) {
        mayPoll = false
        gets.perform(.GET, target).whenComplete { result in
            self.mayPoll = true
            self.finished(result) { .polled($0) }
        }
    }

    func post(_ body: [UInt8], target: String) {
        mayPost = false
        posts.perform(.POST, target, body: body).whenComplete { result in
            self.mayPost = true
            self.finished(result) { _ in .posted }
        }
    }

    private func finished(_ result: Result<HTTPClientConnection.Response, any Error>, fact: ([UInt8]) -> Fact) {
        guard !isClosed else { return }
        switch result {
        case .success(let response) where response.status == 200: report(fact(response.body))
        case .success(let response): report(.failed(.refusal(response.status, response.body)))
        case .failure(let error): report(.failed(EngineIOClientCloseReason(connectionError: error)))
        }
    }

    /// Closes both connections; nothing is reported afterwards. The last packet, if any, goes first.
    func close(saying packet: EngineIOPacket? = nil, target: String = "") -> EventLoopFuture<Void> {
        isClosed = true
        let gets = gets
        let posts = posts
        guard let packet, mayPost else { return gets.close().and(posts.close()).map { _ in } }
        let closed = gets.close()
        let body = EngineIOPayload.encode([packet])
        // A server that does not answer holds nobody up.
        let patience = loop.scheduleTask(in: .seconds(1)) { _ = posts.close() }
        // Whether the server heard it makes no difference now.
        let said = posts.perform(.POST, target, body: body).map { _ in }.recover { _ in }
        return said.flatMap {
            patience.cancel()
            return posts.close()
        }.and(closed).map { _ in }
    }
}

extension EngineIOClientCloseReason {
    /// An HTTP status other than 200: Engine.IO's JSON if the body is that.
    static func refusal(_ status: Int, _ body: [UInt8]) -> EngineIOClientCloseReason {
        let json = RawJSON(body)
        let message = (json?["message"] ?? json)?.string ?? "no reason given"
        return .refused(status: status, message: message)
    }
}
