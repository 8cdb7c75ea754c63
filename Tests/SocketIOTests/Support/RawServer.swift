import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import SocketIO

/// A TCP server of a test: answers the first bytes of each connection with a fixed text, and closes. Or answers the
/// first GETs, and is silent and deaf to all else.
struct RawServer {
    let port: Int
    /// The bytes that came, as text, from all connections.
    let requests: AsyncStream<String>

    /// What is answered to one GET after the other, of whichever connection.
    private final class Polls: Sendable {
        private let left: Mutex<[String]>
        init(_ answers: [String]) { left = Mutex(answers.reversed()) }
        func next() -> String? { left.withLock { $0.popLast() } }
    }

    private final class Answerer: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let answer: String
        let polls: Polls?
        let staysOpen: Bool
        let requests: AsyncStream<String>.Continuation

        init(_ answer: String, polls: Polls?, staysOpen: Bool, requests: AsyncStream<String>.Continuation) {
            self.answer = answer
            self.polls = polls
            self.staysOpen = staysOpen
            self.requests = requests
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let channel = context.channel
            let request = String(buffer: unwrapInboundIn(data))
            requests.yield(request)
            if let polls {
                guard request.hasPrefix("GET"), let answer = polls.next() else {
                    // The end of TLS would be answered by itself.
                    channel.setOption(.autoRead, value: false).whenFailure { _ in channel.close(promise: nil) }
                    return
                }
                return context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            }
            let staysOpen = staysOpen
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)))
                .whenComplete { _ in if !staysOpen { channel.close(promise: nil) } }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Runs `body` with a server that answers with `answer`; an empty one only closes.
    ///
    /// - Parameters:
    ///   - polls: answers to the first GETs; whatever else comes has none.
    ///   - staysOpen: does not close behind the answer.
    ///   - context: for one that speaks TLS.
    static func run<Result>(
        _ answer: String = "", polls: [String]? = nil, staysOpen: Bool = false, context: NIOSSLContext? = nil,
        _ body: (RawServer) async throws -> Result
    ) async throws -> Result {
        let answers = polls.map(Polls.init)
        let (requests, continuation) = AsyncStream.makeStream(of: String.self)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                    try pipeline.addHandler(
                        Answerer(answer, polls: answers, staysOpen: staysOpen, requests: continuation))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(RawServer(port: listener.localAddress?.port ?? 0, requests: requests))
            try await listener.close()
            return result
        } catch {
            try? await listener.close()
            throw error
        }
    }
}
