internal import RTCEngine
internal import RTCNetwork
internal import Synchronization

/// What others are told of a worker's load.
extension MediaWorker {
    /// How old the counts of datagrams may be that others see.
    private static let publishInterval = Interval.milliseconds(100)

    /// Something may have changed. Who is here is told at once: the next room is placed by it, and whoever was let in
    /// may look. Datagrams are told a little later: they come thousands of times a second.
    func publish() {
        statistics.tcpConnections = tcpConnections.count
        statistics.isDraining = isDraining
        // Without ports, once it is stopped, it is as it was.
        if !datagramPorts.isEmpty { statistics.datagramsUnsent = datagramPorts.reduce(0) { $0 + $1.outgoing.dropped } }
        if statistics.hasNews(since: told) { return publishAll() }
        guard !willPublish, statistics != told else { return }
        willPublish = true
        loop.schedule(publishTimer.timer, at: NetworkLoop.now + Self.publishInterval)
    }

    /// All that there is to tell.
    func publishAll() {
        told = statistics
        published.withLock { $0 = told }
    }

    /// The time has come.
    fileprivate func publishDue() {
        willPublish = false
        publishAll()
    }
}

/// Wakes a worker to tell what it has done. It keeps this, and this does not keep it.
final class PublishTimer: TimerTarget {
    let timer = LoopTimer()
    private weak var worker: MediaWorker?

    init(_ worker: MediaWorker) {
        self.worker = worker
        timer.target = self
    }

    func timerFired(at _: Instant) { worker?.assumeIsolated { $0.publishDue() } }
}
