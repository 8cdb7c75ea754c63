import Foundation
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import SocketIO

struct AcceptBackoffTests {
    private let start = NIODeadline.uptimeNanoseconds(1)

    /// Says hello to whoever is accepted.
    private final class Greeter: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "hello")), promise: nil)
        }
    }

    @Test func `a shortage pauses, and is logged once a minute`() {
        var backoff = AcceptBackoff()
        #expect(backoff.acceptFailed(errno: EMFILE, at: start) == .pause(logging: true))
        #expect(backoff.acceptFailed(errno: EMFILE, at: start) == .ignore)
        backoff.pauseEnded()
        #expect(backoff.acceptFailed(errno: ENFILE, at: start + .milliseconds(100)) == .pause(logging: false))
        backoff.pauseEnded()
        #expect(backoff.acceptFailed(errno: EMFILE, at: start + .minutes(1)) == .pause(logging: true))
    }

    @Test func `what is no shortage is passed on`() {
        var backoff = AcceptBackoff()
        #expect(backoff.acceptFailed(errno: ECONNABORTED, at: start) == .passOn)
        #expect(backoff.acceptFailed(errno: nil, at: start) == .passOn)
    }

    @Test func `a listener stops accepting, and goes on after the pause`() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = AcceptBackoffHandler(logger: Logger(label: "test"), pause: .milliseconds(10))
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .childChannelInitializer { $0.pipeline.addHandler(Greeter()) }
            .bind(host: "127.0.0.1", port: 0).get()
        // The failure and the look at the option are one task of the loop: the pause cannot end between them.
        let isAccepting = try await listener.eventLoop.submit {
            listener.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
            return try listener.syncOptions?.getOption(.autoRead)
        }.get()
        #expect(isAccepting == false)
        let client = try await RawSocket(port: listener.localAddress?.port ?? 0)
        #expect(await client.read(until: "hello") == "hello")
        try await listener.close()
    }
}
