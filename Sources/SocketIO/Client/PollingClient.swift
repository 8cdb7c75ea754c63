import NIOCore
import NIOHTTP1

/// The long-polling transport of a client: one GET and one POST at a time, each on its own connection.
/// Lives on one event loop.
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
    private let endpoint: ClientEndpoint
    private let loop: any EventLoop
    private let report: (Fact) -> Void
    private var isClosed = false
    /// Done when the POST under way has ended, however it did.
    private var posted: EventLoopFuture<Void>
    /// Whether the next GET, the next POST may begin.
    private(set) var mayPoll = true, mayPost = true

    init(endpoint: ClientEndpoint, loop: any EventLoop, limit: Int, report: @escaping (Fact) -> Void) {
        gets = HTTPClientConnection(endpoint: endpoint, loop: loop, limit: limit)
        posts = HTTPClientConnection(endpoint: endpoint, loop: loop, limit: limit)
        self.endpoint = endpoint
        self.loop = loop
        self.report = report
        posted = loop.makeSucceededVoidFuture()
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
        let response = posts.perform(.POST, target, body: body)
        posted = response.map { _ in }.recover { _ in }
        response.whenComplete { result in
            self.mayPost = true
            self.finished(result) { _ in .posted }
        }
    }

    private func finished(_ result: Result<HTTPClientConnection.Response, any Error>, fact: ([UInt8]) -> Fact) {
        guard !isClosed else { return }
        switch result {
        case .success(let response) where response.status == 200: report(fact(response.body))
        case .success(let response): report(.failed(.refusal(response.status, response.body)))
        case .failure(let error): report(.failed(endpoint.closeReason(error)))
        }
    }

    /// Closes both connections at once; nothing is reported afterwards.
    func close(within limit: TimeAmount = .seconds(3)) -> EventLoopFuture<Void> {
        isClosed = true
        return gets.close(within: limit).and(posts.close(within: limit)).map { _ in }
    }

    /// Sends the last bodies, after the one that is under way, and closes. A server that does not answer holds nobody
    /// up for longer than `limit`.
    func close(saying bodies: [[UInt8]], target: String, within limit: TimeAmount) -> EventLoopFuture<Void> {
        isClosed = true
        let deadline = NIODeadline.now() + limit
        let said = loop.makePromise(of: Void.self)
        let patience = loop.scheduleTask(in: limit) { said.succeed() }
        // Only now: the server takes a lost GET for the end of the session, and would not hear what we say.
        bodies.reduce(posted) { before, body in
            before.flatMap { self.posts.perform(.POST, target, body: body) }.map { _ in }
        }.whenComplete { _ in said.succeed() }
        return said.futureResult.flatMap {
            patience.cancel()
            return self.close(within: max(.zero, deadline - .now()))
        }
    }
}

extension EngineIOClientCloseReason {
    /// An HTTP status other than the one hoped for, in Engine.IO's words if the body is its JSON.
    static func refusal(_ status: Int, _ body: [UInt8]) -> EngineIOClientCloseReason {
        let json = RawJSON(body)
        let message = (json?["message"] ?? json)?.string.map(oneLine)
        return .refused(status: status, message: message ?? meaning(of: status))
    }

    /// Short and without line breaks, whatever a stranger's server sends.
    static func oneLine(_ text: String) -> String {
        text.prefix(200).split { $0.isNewline || $0.unicodeScalars.contains { $0.value < 0x20 } }.joined(separator: " ")
    }

    private static func meaning(of status: Int) -> String {
        switch status {
        case 200..<300, 404, 405, 410, 501: "it is no Socket.IO server"
        case 300..<400: "it sends clients to another address"
        case 400: "it does not understand the request"
        case 401, 403, 407: "it does not let us in"
        case 429, 503: "it is too busy or out of service"
        case 500...: "it is out of order"
        default: "no reason given"
        }
    }
}
