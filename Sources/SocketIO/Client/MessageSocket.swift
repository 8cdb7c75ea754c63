import NIOCore
import NIOHTTP1
import NIOPosix

/// A WebSocket to a server, whose messages come when its owner wants them: for passing them on to somebody who may be
/// slower. From any thread.
package final class MessageSocket: Sendable {
    /// What happens on it, in order; nothing after `closed`.
    package enum Fact: Sendable {
        case message([UInt8], isText: Bool)
        /// The server closes, with this code and reason if it gave any; it is answered without our doing.
        case goodbye(code: UInt16?, reason: String)
        case closed
    }

    /// Why there is none.
    package enum Failure: Error, Sendable {
        /// The server answered the request for it with something else.
        case refused(SocketIOHTTPResponse)
        /// It cannot be reached, or did not answer in time; a part of a sentence.
        case unreachable(String)
    }

    private let channel: any Channel
    private let handler: NIOLoopBound<MessageSocketHandler>

    fileprivate init(_ channel: any Channel, _ handler: MessageSocketHandler) {
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    /// Makes the connection. Nothing is read from it before `start`.
    ///
    /// - Parameters:
    ///   - target: as `RemoteServer.target` makes it.
    ///   - messageLimit: the largest message taken, in bytes.
    ///   - timeout: for the server's answer.
    package static func connect(
        to server: RemoteServer, target: String, headers: [(name: String, value: String)], messageLimit: Int,
        timeout: Duration = .seconds(15)
    ) async throws(Failure) -> MessageSocket {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let outcome: Result<MessageSocket, Failure>
        do {
            outcome = try await loop.flatSubmit {
                attempt(server, target, headers, messageLimit, timeout, on: loop)
            }.get()
        } catch {
            throw .unreachable(server.endpoint.closeReason(error).words)
        }
        return try outcome.get()
    }

    private static func attempt(
        _ server: RemoteServer, _ target: String, _ headers: [(name: String, value: String)], _ messageLimit: Int,
        _ timeout: Duration, on loop: any EventLoop
    ) -> EventLoopFuture<Result<MessageSocket, Failure>> {
        var request = server.endpoint.head(.GET, target)
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        let attempt = NIOLoopBound(Attempt(loop.makePromise()), eventLoop: loop)
        server.endpoint.connect(on: loop) { [request] channel in
            try WebSocketHandshakeHandler.install(on: channel, endpoint: server.endpoint, request: request) {
                outcome in
                switch outcome {
                case .accepted:
                    let handler = MessageSocketHandler(limit: messageLimit)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    try channel.syncOptions?.setOption(.autoRead, value: false)
                    let isWanted = attempt.value.end(.success(MessageSocket(channel, handler)))
                    if !isWanted { channel.close(promise: nil) }
                case .refused(let head, let body):
                    let headers = head.headers.map { (name: $0.name, value: $0.value) }
                    attempt.value.end(
                        .failure(
                            .refused(
                                SocketIOHTTPResponse(
                                    status: Int(head.status.code), headers: headers, body: .bytes(body)))))
                case .failed(let reason): attempt.value.end(.failure(.unreachable(reason.words)))
                }
            }
        }.whenComplete { result in
            switch result {
            case .success(let channel): attempt.value.connected(channel)
            case .failure(let error):
                attempt.value.end(.failure(.unreachable(server.endpoint.closeReason(error).words)))
            }
        }
        attempt.value.patience = loop.scheduleTask(in: TimeAmount(timeout)) {
            attempt.value.end(.failure(.unreachable("no answer from \(server)")))
        }
        return attempt.value.promise.futureResult
    }

    /// Has messages read, and told to `report`, on the socket's own thread, which it is not to block.
    package func start(report: @escaping @Sendable (Fact) -> Void) {
        channel.eventLoop.execute { [channel, handler] in
            handler.value.start(report)
            channel.setOption(.autoRead, value: true).whenComplete { _ in }
        }
    }

    /// Sends a message.
    ///
    /// - Parameter written: called when the system has taken it, or when it never will.
    package func send(_ message: [UInt8], isText: Bool, written: @escaping @Sendable () -> Void) {
        let channel = channel
        channel.eventLoop.execute {
            let opcode = isText ? WebSocketOpcode.text : WebSocketOpcode.binary
            channel.writeAndFlush(Self.frame(message, opcode)).whenComplete { _ in written() }
        }
    }

    /// Has messages read, or left with the server. Asked on the socket's thread, so that the latest wish holds.
    package func updateReading(_ isWanted: @escaping @Sendable () -> Bool) {
        let channel = channel
        channel.eventLoop.execute { channel.setOption(.autoRead, value: isWanted()).whenComplete { _ in } }
    }

    /// Says goodbye with a close frame, after what was sent before, and closes when the server has answered, or soon.
    package func close(code: UInt16?, reason: String) {
        channel.eventLoop.execute { [handler] in handler.value.close(code, reason) }
    }

    /// Ends it after what was sent before, without a word, as when a client is gone.
    package func end() {
        let channel = channel
        channel.eventLoop.execute {
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
            MessageSocketHandler.closeSoon(channel)
        }
    }

    fileprivate static func frame(_ payload: [UInt8], _ opcode: UInt8) -> ByteBuffer {
        var frame = ByteBuffer()
        frame.reserveCapacity(payload.count + WebSocketFraming.headLimit)
        WebSocketFraming.write(payload[...], opcode: opcode, mask: .random(in: 0...UInt32.max), into: &frame)
        return frame
    }
}

/// A connection that is being made: it has one outcome, whatever else happens afterwards. On its loop.
private final class Attempt {
    let promise: EventLoopPromise<Result<MessageSocket, MessageSocket.Failure>>
    var patience: Scheduled<Void>?
    private var channel: (any Channel)?
    private var hasFailed = false
    private var isOver = false

    init(_ promise: EventLoopPromise<Result<MessageSocket, MessageSocket.Failure>>) { self.promise = promise }

    func connected(_ channel: any Channel) {
        self.channel = channel
        if hasFailed { channel.close(promise: nil) }
    }

    /// False when there was another outcome before.
    @discardableResult
    func end(_ outcome: Result<MessageSocket, MessageSocket.Failure>) -> Bool {
        guard !isOver else { return false }
        isOver = true
        patience?.cancel()
        if case .failure = outcome {
            hasFailed = true
            channel?.close(promise: nil)
        }
        promise.succeed(outcome)
        return true
    }
}

/// The receiving end of a `MessageSocket`.
private final class MessageSocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Phase {
        case open
        /// We have said goodbye: the server's is waited for, and nothing else is of interest.
        case closing
        /// The server's goodbye or a fault came.
        case ended
    }

    private var reader: WebSocketReader
    private var phase = Phase.open
    private let reads = ReadsInTurn()
    private var report: ((MessageSocket.Fact) -> Void)?
    /// What came together with the answer to the handshake.
    private var early: [MessageSocket.Fact] = []
    private var isClosed = false
    private weak var channel: (any Channel)?
    private var pings: RepeatedTask?
    /// Pings since anything was last heard.
    private var unanswered = 0

    private static let pingInterval = TimeAmount.seconds(10)
    /// A server that is silent for so many pings is gone, though its host says nothing.
    private static let patience = 3

    init(limit: Int) { reader = WebSocketReader(side: .client, limit: limit) }

    func handlerAdded(context: ChannelHandlerContext) {
        channel = context.channel
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        pings = context.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.pingInterval, delay: Self.pingInterval
        ) { _ in
            let (handler, context) = loopBound.value
            handler.ping(context)
        }
    }

    private func ping(_ context: ChannelHandlerContext) {
        guard unanswered < Self.patience else { return context.close(promise: nil) }
        // Of a server that is not read from, no answer is seen.
        let isReading = (try? context.channel.syncOptions?.getOption(.autoRead)) ?? true
        if isReading { unanswered += 1 }
        context.writeAndFlush(NIOAny(MessageSocket.frame([], WebSocketOpcode.ping)), promise: nil)
    }

    func start(_ report: @escaping (MessageSocket.Fact) -> Void) {
        self.report = report
        let facts = early
        early = []
        for fact in facts { report(fact) }
        // What it holds may hold us, and nothing follows.
        if isClosed { self.report = nil }
    }

    private func tell(_ fact: MessageSocket.Fact) {
        guard let report else { return early.append(fact) }
        report(fact)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads.take(unwrapInboundIn(data)) { receive($0, context) }
    }

    private func receive(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        if case .ended = phase { return }
        unanswered = 0
        do throws(WebSocketFault) {
            try reader.receive(buffer.readableBytesSpan) { received($0, context) }
        } catch {
            sendClose(error.code, error.text, context.channel)
            phase = .ended
            context.close(promise: nil)
        }
    }

    private func received(_ message: WebSocketReader.Message, _ context: ChannelHandlerContext) {
        if case .ended = phase { return }
        switch message {
        case .text(let bytes): tell(.message(bytes, isText: true))
        case .binary(let bytes): tell(.message(bytes, isText: false))
        case .ping(let payload):
            context.writeAndFlush(NIOAny(MessageSocket.frame(payload, WebSocketOpcode.pong)), promise: nil)
        case .pong, .fragment: break
        case .close(let code, let reason):
            // RFC 6455 §5.5.1: one close frame of each side.
            if case .open = phase { sendClose(code, "", context.channel) }
            phase = .ended
            tell(.goodbye(code: code, reason: reason))
            context.close(promise: nil)
        }
    }

    func close(_ code: UInt16?, _ reason: String) {
        guard case .open = phase, let channel else { return }
        phase = .closing
        sendClose(code, reason, channel)
        // The server's answer has to be seen, whoever was slow before.
        channel.setOption(.autoRead, value: true).whenComplete { _ in }
        Self.closeSoon(channel)
    }

    static func closeSoon(_ channel: any Channel) {
        let patience = channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in patience.cancel() }
    }

    private func sendClose(_ code: UInt16?, _ reason: String, _ channel: any Channel) {
        let payload = WebSocketFraming.closePayload(code, reason)
        channel.writeAndFlush(MessageSocket.frame(payload, WebSocketOpcode.close), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        pings?.cancel()
        pings = nil
        guard !isClosed else { return }
        isClosed = true
        tell(.closed)
        report = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
