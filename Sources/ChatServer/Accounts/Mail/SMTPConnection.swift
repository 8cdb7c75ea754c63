internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Carries a `SMTPDialogue` over TCP and TLS.
enum SMTPConnection {
    private static let connectTimeout = TimeAmount.seconds(20)

    /// Hands in a letter, over a connection of its own.
    ///
    /// - Parameter tls: what certificates are trusted.
    /// - Throws: `SMTPFault`.
    static func deliver(_ letter: SMTPLetter, to server: SMTPServer, tls: NIOSSLContext) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let outcome = loop.makePromise(of: Void.self)
        ClientBootstrap(group: loop).connectTimeout(connectTimeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if server.security == .tls { try pipeline.addHandler(makeTLS(server, tls)) }
                    try pipeline.addHandler(SMTPHandler(letter, server, tls, outcome))
                }
            }
            .connect(host: server.host, port: server.port)
            // What NIO says of it has the address in it.
            .whenFailure { _ in outcome.fail(SMTPFault.connection("nobody listens there, or its name is unknown")) }
        try await outcome.futureResult.get()
    }

    static func makeTLS(_ server: SMTPServer, _ tls: NIOSSLContext) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: tls, serverHostname: server.certificateName)
    }
}

private final class SMTPHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let letter: SMTPLetter
    private let server: SMTPServer
    private let tls: NIOSSLContext
    private let outcome: EventLoopPromise<Void>
    private var dialogue: SMTPDialogue
    private var replies = SMTPReplyReader()
    private var deadline: Scheduled<Void>?

    init(_ letter: SMTPLetter, _ server: SMTPServer, _ tls: NIOSSLContext, _ outcome: EventLoopPromise<Void>) {
        self.letter = letter
        self.server = server
        self.tls = tls
        self.outcome = outcome
        dialogue = SMTPDialogue(letter, to: server, from: "[127.0.0.1]")
    }

    func channelActive(context: ChannelHandlerContext) {
        if let address = context.localAddress, let ip = address.ipAddress {
            // RFC 5321 §4.1.3.
            let name = ip.contains(":") ? "[IPv6:\(ip)]" : "[\(ip)]"
            dialogue = SMTPDialogue(letter, to: server, from: name)
        }
        wait(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        replies.append(unwrapInboundIn(data).readableBytesView)
        do {
            while let reply = try replies.next() {
                try perform(dialogue.replyReceived(reply), context)
            }
        } catch {
            outcome.fail(error as? SMTPFault ?? SMTPFault.connection("TLS could not begin"))
            context.close(promise: nil)
        }
    }

    private func perform(_ actions: [SMTPDialogue.Action], _ context: ChannelHandlerContext) throws {
        for action in actions {
            switch action {
            case .send(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
                wait(context)
            case .startTLS:
                // What came with the answer came from whoever is in between, not from the server.
                guard replies.isEmpty else { throw SMTPFault.malformedReply }
                try context.pipeline.syncOperations.addHandler(
                    SMTPConnection.makeTLS(server, tls), position: .first)
                try perform(dialogue.tlsStarted(), context)
            case .delivered: outcome.succeed(())
            case .failed(let fault): outcome.fail(fault)
            case .close: context.close(promise: nil)
            }
        }
    }

    /// Gives the next answer its time.
    private func wait(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        let (outcome, command) = (outcome, dialogue.command)
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(dialogue.patience)) {
            outcome.fail(SMTPFault.noAnswer(to: command))
            channel.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        outcome.fail(Self.isAboutCertificate(error) ? SMTPFault.notTrusted : SMTPFault.connection("it broke off"))
        context.close(promise: nil)
    }

    private static func isAboutCertificate(_ error: any Error) -> Bool {
        switch error {
        case NIOSSLError.unableToValidateCertificate: true
        case NIOSSLError.handshakeFailed(.sslError(let errors)):
            // The library tells the reason only within a longer text.
            errors.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
        case is NIOSSLExtraError: true
        default: false
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        outcome.fail(SMTPFault.connection("it closed the connection at \(dialogue.command)"))
        context.fireChannelInactive()
    }
}
