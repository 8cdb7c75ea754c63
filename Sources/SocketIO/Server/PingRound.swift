import NIOCore

/// When the WebSockets of one event loop are pinged that are to be pinged equally often: one timer for all of them,
/// which takes a part of them at a time. Touched on that loop only.
final class PingRound: @unchecked Sendable {
    private static let turnCount = 8

    private let loop: any EventLoop
    private let step: TimeAmount
    /// Who is pinged together.
    private var turns = Array(repeating: [ObjectIdentifier: WebSocketPeerHandler](), count: turnCount)
    private var next = 0
    /// Runs while there is anybody.
    private var timer: RepeatedTask?

    init(every interval: TimeAmount, on loop: any EventLoop) {
        self.loop = loop
        step = .nanoseconds(max(1_000_000, interval.nanoseconds / Int64(Self.turnCount)))
    }

    /// - Returns: the turn that it gets: the latest one, so that about a whole interval lies before it.
    func add(_ handler: WebSocketPeerHandler) -> Int {
        let turn = (next + Self.turnCount - 1) % Self.turnCount
        turns[turn][ObjectIdentifier(handler)] = handler
        if timer == nil {
            timer = loop.scheduleRepeatedTask(initialDelay: step, delay: step) { [self] _ in takeTurn() }
        }
        return turn
    }

    func remove(_ handler: WebSocketPeerHandler, from turn: Int) {
        turns[turn][ObjectIdentifier(handler)] = nil
        guard turns.allSatisfy(\.isEmpty) else { return }
        timer?.cancel()
        timer = nil
    }

    private func takeTurn() {
        let handlers = turns[next].values
        next = (next + 1) % Self.turnCount
        for handler in handlers { handler.ping() }
    }
}
