import NIOCore

/// Takes what comes on a connection behind a request that was refused, before it is parsed.
final class HTTPDrain: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let discard: (_ count: Int) -> Void

    init(discard: @escaping (_ count: Int) -> Void) { self.discard = discard }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { discard(unwrapInboundIn(data).readableBytes) }
}
