internal import RTCEngine
internal import RTCNetwork

/// What the loop knows of a worker: it holds this weakly, and this holds the worker weakly.
final class MediaWorkerLink: SocketReader, TimerTarget, InterfaceListener {
    let timer = LoopTimer()
    /// Of what is read for the worker.
    var tokens: Set<UInt64> = []
    private weak var worker: MediaWorker?
    private let loop: NetworkLoop

    init(_ worker: MediaWorker) {
        self.worker = worker
        loop = worker.loop
        timer.target = self
    }

    deinit { loop.forget(Array(tokens)) }

    /// The sockets are closed, and nothing is to be told any more.
    func leave() {
        forgetAll()
        timer.target = nil
    }

    /// The sockets are closed.
    func forgetAll() {
        loop.forget(Array(tokens))
        tokens = []
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        worker?.assumeIsolated { $0.socketReadable(token, &batch) }
    }

    func timerFired(at now: Instant) {
        worker?.assumeIsolated { $0.endStrangers(at: now) }
    }

    func interfacesChanged(_ interfaces: [NetworkInterface]) {
        worker?.assumeIsolated { $0.interfacesChanged(interfaces) }
    }
}
