internal import CDatagram
public import RTCEngine
internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One thread with its sockets, its timers and the actors that live on it.
///
/// A `PeerConnection` is an actor whose executor is its loop. What its user calls arrives as jobs; what the network
/// delivers is handled on the same thread, synchronously, so that the packet path neither locks nor awaits. While the
/// thread sleeps, another one may do a piece of its work (`visit`), which costs less than waking it.
///
/// Who guards what: `inbox` is touched by all threads. Everything else belongs to who has the `turn`: the loop's thread
/// while it is awake, or its visitor.
public final class NetworkLoop: SerialExecutor, @unchecked Sendable {
    /// The loop that peer connections share when they are given none.
    public static let shared = NetworkLoop(name: "roost-rtc")

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [any LoopCall] = []
        /// Readers that are gone.
        var forgotten: [UInt64] = []
        var isAwake = false
    }

    private let inbox = Mutex(Inbox())
    private let turn = Mutex(())
    /// The thread that has the turn; 0 while nobody has.
    private let holder = Atomic<UInt>(0)
    private let poller: Int32
    private let wakeup: (Int32, Int32)

    private struct Reader {
        weak var object: (any SocketReader)?
    }

    private var readers: [UInt64: Reader] = [:]
    private var nextToken: UInt64 = 1
    private var timers = TimerQueue()
    /// When the thread gets up by itself; nil for never.
    private var alarm: Instant?
    private var coalescing = WakeCoalescing()
    private var receiveBatch = ReceiveBatch()
    /// Tells connections when the host's addresses change.
    package private(set) lazy var interfaces = InterfaceWatcher(self)

    /// Starts the thread. It lives as long as the process: loops are made once, one a core at most.
    public init(name: String) {
        poller = cdatagram_poller_open()
        var descriptors: (Int32, Int32) = (-1, -1)
        let opened = withUnsafeMutableBytes(of: &descriptors) { bytes in
            cdatagram_wakeup_open(bytes.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
        wakeup = descriptors
        // Without these two descriptors there is no loop; a process that is out of descriptors at its start cannot go
        // on.
        precondition(poller >= 0 && opened >= 0, "no file descriptors are left for the network loop")
        cdatagram_poller_add(poller, descriptors.0, 0)
        let hasThread = DetachedThread.start(named: name) { self.run() }
        precondition(hasThread, "no thread could be started for the network loop")
    }

    /// The time that this loop gives to its machines: the system's monotonic clock.
    public static var now: Instant { Instant(nanoseconds: cdatagram_monotonic_ns()) }

    /// What the wall clock shows, in seconds since 1970.
    package static var unixTime: Int64 { cdatagram_realtime_ns() / 1_000_000_000 }

    /// What to add to `now` to get the time since 1970.
    package static var wallClockOffset: Interval {
        Interval(nanoseconds: cdatagram_realtime_ns() - cdatagram_monotonic_ns())
    }

    // MARK: Executor

    /// Takes a job of an actor that lives here. From any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        if mustWake { signal() }
    }

    /// Runs `call` on the loop's thread, before the jobs that are enqueued later. From any thread. A job would cost a
    /// task.
    package func call(_ call: any LoopCall) {
        let mustWake = inbox.withLock { inbox in
            inbox.calls.append(call)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        if mustWake { signal() }
    }

    /// As `call`, but on the caller's thread if the loop's sleeps: it returns when the call is done, or sooner, when it
    /// has been left to the loop. From any thread.
    package func visit(_ call: any LoopCall) {
        let isAsleep = holder.load(ordering: .relaxed) == 0 && inbox.withLock { !$0.isAwake }
        guard isAsleep, turn.withLockIfAvailable({ _ in perform(call) }) != nil else { return self.call(call) }
    }

    /// Runs the call on the caller's thread. If the call has set an earlier timer, the loop's thread is woken for it.
    private func perform(_ call: any LoopCall) {
        take(Self.caller)
        defer { giveUp() }
        call.run()
        if let next = timers.next, alarm.map({ next < $0 }) ?? true {
            signal()
            // Once is enough, until the thread has slept again.
            alarm = .zero
        }
    }

    /// `turn` already orders its holders' accesses. Where threads wait for it, it does so in the kernel, which the
    /// thread sanitizer does not see; this exchange shows it the same order.
    private func take(_ caller: UInt) { _ = holder.exchange(caller, ordering: .acquiring) }

    private func giveUp() { holder.store(0, ordering: .releasing) }

    /// Stops the program unless the caller has the loop's turn.
    public func checkIsolated() {
        precondition(isCurrent, "must be called on the loop's thread")
    }

    /// Whether the caller has the loop's turn.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Whether the caller has this loop's turn: it runs on its thread, or in its place.
    var isCurrent: Bool { holder.load(ordering: .relaxed) == Self.caller }

    static var caller: UInt {
        #if canImport(Glibc)
            pthread_self()
        #else
            UInt(bitPattern: pthread_self())
        #endif
    }

    private func signal() {
        withUnsafeBytes(of: wakeup) { bytes in
            cdatagram_wakeup_signal(bytes.baseAddress?.assumingMemoryBound(to: Int32.self))
        }
    }

    /// These readers are gone. From any thread.
    package func forget(_ tokens: [UInt64]) {
        guard !tokens.isEmpty else { return }
        inbox.withLock { $0.forgotten += tokens }
        signal()
    }

    // MARK: The loop

    private func run() {
        let caller = Self.caller
        var turnBuffers = TurnBuffers()
        var ready = 0
        while true {
            let rest = turn.withLock { _ in
                take(caller)
                defer { giveUp() }
                work(ready, &turnBuffers)
                return takeRest()
            }
            if rest.pauses { pause(until: rest.end) }
            ready = Int(
                cdatagram_poller_wait(
                    poller, &turnBuffers.tokens, Int32(turnBuffers.tokens.count), Self.timeout(until: rest.end)))
        }
    }

    /// What each turn needs room for.
    private struct TurnBuffers {
        var tokens = [UInt64](repeating: 0, count: 64)
        var jobs: [UnownedJob] = []
        var calls: [any LoopCall] = []
    }

    /// Serves what can be read, what was called, and what has fallen due.
    private func work(_ ready: Int, _ buffers: inout TurnBuffers) {
        var reads = 0
        for token in buffers.tokens.prefix(max(ready, 0)) {
            if token == 0 {
                withUnsafeBytes(of: wakeup) { bytes in
                    cdatagram_wakeup_drain(bytes.baseAddress?.assumingMemoryBound(to: Int32.self))
                }
            } else if let reader = readers[token]?.object {
                reads += 1
                reader.socketReadable(token, &receiveBatch)
            }
        }
        if reads > 0 { coalescing.turnEnded(reads: reads, at: Self.now) }
        let forgotten = inbox.withLock { inbox in
            swap(&inbox.jobs, &buffers.jobs)
            swap(&inbox.calls, &buffers.calls)
            defer { inbox.forgotten = [] }
            return inbox.forgotten
        }
        for token in forgotten { readers[token] = nil }
        for call in buffers.calls { call.run() }
        buffers.calls.removeAll(keepingCapacity: true)
        for job in buffers.jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        buffers.jobs.removeAll(keepingCapacity: true)
        // Each due owner is called once. One that sets a timer for now is called in the next turn, after its sockets
        // and jobs.
        let now = Self.now
        for due in timers.takeDue(at: now) { due.timerFired(at: now) }
    }

    /// How long the thread may sleep now: until `end`, which is nil for as long as nothing happens.
    private func takeRest() -> (end: Instant?, pauses: Bool) {
        let hasJobs = inbox.withLock { inbox in
            inbox.isAwake = !inbox.jobs.isEmpty || !inbox.calls.isEmpty
            return inbox.isAwake
        }
        alarm = hasJobs ? Instant.zero : timers.next
        return (alarm, !hasJobs && coalescing.takePause())
    }

    /// Lets a burst gather. Jobs and timers are not kept waiting.
    private func pause(until end: Instant?) {
        let timeout = Self.timeout(until: end)
        let longest = WakeCoalescing.pause.nanoseconds
        withUnsafeBytes(of: wakeup) { bytes in
            cdatagram_wakeup_wait(
                bytes.baseAddress?.assumingMemoryBound(to: Int32.self), timeout < 0 ? longest : min(timeout, longest))
        }
    }

    private static func timeout(until end: Instant?) -> Int64 {
        guard let end else { return -1 }
        return max(0, (end - now).nanoseconds)
    }

    // MARK: For what lives on the loop; on its thread only

    /// Calls `reader` whenever `socket` has something to read, as long as both exist: a closed descriptor leaves the
    /// poller by itself.
    package func add(_ socket: UDPSocket, reader: any SocketReader) throws(SystemError) -> UInt64 {
        try add(descriptor: socket.descriptor, reader: reader)
    }

    /// As above, for any descriptor that can be polled.
    package func add(descriptor: Int32, reader: any SocketReader) throws(SystemError) -> UInt64 {
        let token = nextToken
        nextToken += 1
        let result = cdatagram_poller_add(poller, descriptor, token)
        guard result >= 0 else { throw SystemError("epoll_ctl", negated: result) }
        readers[token] = Reader(object: reader)
        return token
    }

    /// The reader that is being called has taken this many datagrams and had no answer to any: the next ones may
    /// gather.
    func noteUnanswered(_ datagrams: Int, mayBeMore: Bool, isAmidPicture: Bool?) {
        coalescing.noteUnanswered(datagrams, mayBeMore: mayBeMore, isAmidPicture: isAmidPicture)
    }

    /// Whether the reader is also called when the descriptor behind `token` can be written.
    func watchWriting(_ descriptor: Int32, _ token: UInt64, _ wanted: Bool) {
        cdatagram_poller_writable(poller, descriptor, token, wanted ? 1 : 0)
    }

    /// Calls the timer's target once at `deadline`, or earlier if it is set for earlier; a call may come for nothing.
    package func schedule(_ timer: LoopTimer, at deadline: Instant) {
        timers.schedule(timer, at: deadline)
    }

    /// How many owners have a deadline now, and how many sockets are read.
    var load: (timers: Int, readers: Int) { (timers.count, readers.count - interfaces.readers) }
}

/// Told on the loop's thread that a socket can be read; or written, where that is watched.
package protocol SocketReader: AnyObject {
    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch)
}

/// Something to do on the loop's thread, or in its place (`visit`).
package protocol LoopCall: AnyObject, Sendable {
    func run()
}

/// Told on the loop's thread that its time has come.
package protocol TimerTarget: AnyObject {
    func timerFired(at now: Instant)
}
