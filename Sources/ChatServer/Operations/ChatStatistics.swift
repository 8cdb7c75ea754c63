internal import ChatCore
internal import ChatModel
internal import Synchronization

/// What the chat of this process counts, from its start on. Everything is added up where it happens, without a lock on
/// the way of an event; `ChatStatistics+Text.swift` writes it down.
package final class ChatStatistics: Sendable {
    let reads = DatabaseCounters()
    let writes = DatabaseCounters()
    let realtime = RealtimeCounters()
    let messages = Counter()
    let callsStarted = Counter()
    let callsEnded = Dictionary(uniqueKeysWithValues: CallEndReason.allCases.map { ($0, Counter()) })
    /// Refused with 429, of requests and of frames.
    let limitedRequests = Counter()
    let limitedFrames = Counter()
    /// Requests that no route takes.
    let unknownRequests = RequestCounters()
    let uploads = Counter()
    let uploadedBytes = Counter()
    let downloadedBytes = Counter()

    package init() {}

    /// Something is kept.
    func count(_ tally: ChangeTally) {
        if tally.messages > 0 { messages.add(tally.messages) }
        if tally.callsStarted > 0 { callsStarted.add(tally.callsStarted) }
        for (reason, count) in tally.callsEnded { callsEnded[reason]?.add(count) }
    }

    /// A request or a frame was refused.
    func countRefusal(_ error: ChatError, ofFrame isFrame: Bool) {
        if case .tooMany = error.kind { (isFrame ? limitedFrames : limitedRequests).add() }
    }
}

/// Transactions of one kind.
final class DatabaseCounters: Sendable {
    /// From when it is asked for until it is over, waiting among it.
    let durations = DurationHistogram()
    /// Those that did not happen for a reason that is not the asker's.
    let failures = Counter()

    /// Runs one.
    func measure<Value: Sendable>(_ transaction: @Sendable () async throws -> Value) async throws -> Value {
        let began = ContinuousClock.now
        defer { durations.record(ContinuousClock.now - began) }
        do {
            return try await transaction()
        } catch {
            if !(error is ChatError) { failures.add() }
            throw error
        }
    }
}

/// Requests of one route.
final class RequestCounters: Sendable {
    /// By the first digit of the status.
    private let answers = (1...5).map { _ in Counter() }
    /// Until the answer is there; the bytes of a file leave afterwards.
    let durations = DurationHistogram()

    func record(status: Int, _ duration: Duration) {
        answers[min(max(status / 100, 1), 5) - 1].add()
        durations.record(duration)
    }

    /// Those that there were, as `2xx`.
    var byStatus: [(status: String, count: Int)] {
        answers.enumerated().map { ("\($0 + 1)xx", $1.value) }.filter { $0.1 > 0 }
    }
}

/// Realtime sockets, and what passes over them.
final class RealtimeCounters: Sendable {
    let opened = Counter()
    /// Frames handed to sockets: an event counts once for each that gets it.
    let framesSent = Counter()
    /// Events read from the log to be passed on.
    let eventsRead = Counter()
    /// Clients that came back to a workspace and got what they had missed, and those that had missed too much.
    let resumes = Counter()
    let reloads = Counter()
    /// Sockets of each person; written when one is opened or closed.
    private let sockets = Mutex<[UserID: Int]>([:])
    /// Sockets that the server has closed, by its reason; written then.
    private let closed = Mutex<[String: Int]>([:])

    func socketOpened(by user: UserID) {
        opened.add()
        sockets.withLock { $0[user, default: 0] += 1 }
    }

    func socketClosed(by user: UserID) {
        sockets.withLock { sockets in
            let left = (sockets[user] ?? 1) - 1
            sockets[user] = left > 0 ? left : nil
        }
    }

    func serverClosed(_ reason: String) { closed.withLock { $0[reason, default: 0] += 1 } }

    var open: (sockets: Int, people: Int) { sockets.withLock { ($0.values.reduce(0, +), $0.count) } }
    var closedByReason: [String: Int] { closed.withLock { $0 } }
}
