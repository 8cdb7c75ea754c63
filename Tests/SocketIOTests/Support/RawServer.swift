import NIOCore
import NIOPosix

/// A TCP server of a test: answers the first bytes of each connection with a fixed text, and closes.
struct RawServer {
    let port: Int

    private final class Answerer: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let answer: String

        init(_ answer: String) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)))
                .whenComplete { _ in channel.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Runs `body` with a server that answers with `answer`; an empty one only closes.
    static func run<Result>(_ answer: String, _ body: (RawServer) async throws -> Result) async throws -> Result {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(Answerer(answer)) }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(RawServer(port: listener.localAddress?.port ?? 0))
            try await listener.close()
            return result
        } catch {
            try? await listener.close()
            throw error
        }
    }
}
