import NIOCore

/// What belongs to one event loop of a server. Touched on that loop only.
final class LoopContext: @unchecked Sendable {
    let loop: any EventLoop
    /// Position among the server's loops: picks a room's shard.
    let index: Int
    /// Links with something written and not yet flushed.
    private var links: [WebSocketLink] = []
    /// By their interval, of which there are few.
    private var pingRounds: [TimeAmount: PingRound] = [:]

    init(loop: any EventLoop, index: Int) {
        self.loop = loop
        self.index = index
    }

    /// Writes to a WebSocket. All that is written while the loop handles one batch of ready sockets leaves in one
    /// system call per channel.
    func write(_ buffer: ByteBuffer, to link: WebSocketLink, promise: EventLoopPromise<Void>? = nil) {
        guard link.channel.eventLoop === loop else {
            link.channel.writeAndFlush(buffer, promise: promise)
            return link.noteWritten(buffer.readableBytes)
        }
        link.channel.write(buffer, promise: promise)
        guard !link.needsFlush else { return }
        link.needsFlush = true
        links.append(link)
        if links.count == 1 { loop.execute { self.flush() } }
    }

    /// The pings of the loop's WebSockets that have this interval.
    func pings(every interval: TimeAmount) -> PingRound {
        if let round = pingRounds[interval] { return round }
        let round = PingRound(every: interval, on: loop)
        pingRounds[interval] = round
        return round
    }

    private func flush() {
        let pending = links
        links.removeAll(keepingCapacity: true)
        for link in pending {
            link.needsFlush = false
            link.channel.flush()
        }
    }
}
