import Logging
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a listener does when connections cannot be accepted because the system has run out of something.
///
/// NIO keeps the listener open and tries again at once, and the connection that waits makes it readable still: without
/// a pause the loop would spin, and serve the connections it has slowly.
struct AcceptBackoff {
    /// The shortage is logged this often.
    static let logInterval = TimeAmount.minutes(1)

    private enum Phase {
        case accepting
        case pausing
    }

    enum FailureAction: Equatable {
        /// Not a shortage: somebody else's error.
        case passOn
        case ignore
        case pause(logging: Bool)
    }

    private var phase = Phase.accepting
    private var lastLog: NIODeadline?

    mutating func acceptFailed(errno code: CInt?, at now: NIODeadline) -> FailureAction {
        guard let code, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else { return .passOn }
        switch phase {
        case .pausing: return .ignore
        case .accepting:
            phase = .pausing
            let isDue = lastLog.map { now - $0 >= Self.logInterval } ?? true
            if isDue { lastLog = now }
            return .pause(logging: isDue)
        }
    }

    mutating func pauseEnded() { phase = .accepting }
}

/// Applies `AcceptBackoff` to a listening channel. Waiting clients stay in the system's queue meanwhile.
final class AcceptBackoffHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let logger: Logger
    private let pause: TimeAmount
    private var backoff = AcceptBackoff()

    init(logger: Logger, pause: TimeAmount = .milliseconds(100)) {
        self.logger = logger
        self.pause = pause
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let code = (error as? IOError)?.errnoCode
        switch backoff.acceptFailed(errno: code, at: .now()) {
        case .passOn: context.fireErrorCaught(error)
        case .ignore: break
        case .pause(let isLogged):
            if isLogged, let code {
                logger.error(
                    "cannot accept connections for now", metadata: ["because": "\(systemText(of: code))"])
            }
            pauseAccepting(context)
        }
    }

    private func pauseAccepting(_ context: ChannelHandlerContext) {
        let channel = context.channel
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        channel.setOption(.autoRead, value: false).whenFailure { _ in channel.close(promise: nil) }
        context.eventLoop.scheduleTask(in: pause) {
            loopBound.value.backoff.pauseEnded()
            // A listener that was closed meanwhile has nothing to go on with.
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
    }
}
