/// When to probe, and how fast: at the beginning, after a deep fall, and when more is wanted than is known to pass.
struct ProbePlan {
    private enum State {
        /// Nothing has been sent yet.
        case unstarted
        /// Clusters are under way; a result above `threshold` asks for one further up.
        case waiting(since: Instant, threshold: Bitrate)
        case idle
    }

    /// A fall of the estimate that may have been wrong, or may be over.
    private struct Fall {
        var from: Bitrate
        var at: Instant
        var lastTry: Instant
    }

    private static let firstFactors = [3.0, 6.0]
    private static let furtherFactor = 2.0
    /// Of a probe's rate: who reaches it has not found the path's end.
    private static let success = 0.7
    private static let patience = Interval.seconds(Int64(1))
    /// Between two tries to come back, and between a fall and the first.
    private static let recoveryInterval = Interval.seconds(Int64(5))
    private static let recoveryShare = 0.85
    private static let deepFall = 0.66
    /// Older falls are how the path is now.
    private static let recoveryTime = Interval.seconds(Int64(60))
    /// Where nobody has said how much is wanted, no further than this.
    private static let ceiling = Bitrate.megabits(5)
    private static let mostWaiting = 4
    /// A probe shows a little less than its rate.
    private static let goalMargin = 1.1

    /// A goal that was not reached, or was not held for so long, was tried in vain: the more often that was, the later
    /// it is tried again.
    private static let goalTime = Interval.seconds(Int64(20))
    private static let longestGoalInterval = Interval.seconds(Int64(30))
    private static let kept = 0.85

    /// There are clusters to send.
    private(set) var hasWaiting = false
    private var waiting: [ProbeCluster] = [] {
        didSet { hasWaiting = !waiting.isEmpty }
    }
    private var state = State.unstarted
    /// Of the first clusters, and of those that followed from them, how many are under way.
    private var unsettled = 0
    private var begunAt: Instant?
    private var fall: Fall?
    private var peak: (rate: Bitrate, at: Instant)?
    private var lastID: Int32 = 0
    private var lastWanted = Bitrate.zero
    private var lastProbe: Instant?
    /// The goal that was probed for, until it is decided, and since when the estimate has been there.
    private var goalTrial: (rate: Bitrate, reachedAt: Instant?)?
    private var lastGoalProbe: Instant?
    private var goalInterval = recoveryInterval
    private var failedGoal: Bitrate?

    /// The next cluster to send.
    mutating func take() -> ProbeCluster? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// Media flows for the first time, or over another path.
    mutating func begin(start: Bitrate, maximum: Bitrate, at now: Instant) {
        guard case .unstarted = state else { return }
        begunAt = now
        probe(Self.firstFactors.map { start * $0 }, limit: min(maximum, Self.ceiling), at: now)
        unsettled = waiting.count
    }

    /// Whether the first clusters have come out, as far up as they lead, or have had the time to. Before anything was
    /// probed nothing is settled.
    func hasSettled(at now: Instant) -> Bool {
        begunAt.map { unsettled == 0 || now - $0 > Self.patience } ?? false
    }

    /// Nothing is known of the path any more.
    mutating func reset() {
        state = .unstarted
        fall = nil
        peak = nil
        goalTrial = nil
        lastGoalProbe = nil
        goalInterval = Self.recoveryInterval
        failedGoal = nil
        waiting = []
        unsettled = 0
        begunAt = nil
    }

    /// A probe has come out.
    mutating func resulted(in estimate: Bitrate, maximum: Bitrate, at now: Instant) {
        unsettled = max(unsettled - 1, 0)
        let limit = min(maximum, Self.ceiling)
        guard case .waiting(_, let threshold) = state, estimate > threshold, threshold > .zero, estimate < limit else {
            return
        }
        if let begunAt, now - begunAt <= Self.patience { unsettled += 1 }
        probe([estimate * Self.furtherFactor], limit: limit, at: now)
    }

    /// The estimate has moved.
    ///
    /// - Parameters:
    ///   - wanted: what the senders could use; nil when they have not said.
    ///   - goal: with less the senders cannot send more; nil when no more is of use.
    ///   - isCalm: nothing says that the path is full.
    mutating func update(
        estimate: Bitrate, wanted: Bitrate?, goal: Bitrate? = nil, maximum: Bitrate, isLimited: Bool, isCalm: Bool,
        at now: Instant
    ) {
        if case .waiting(let since, _) = state, now - since > Self.patience { state = .idle }
        noteFall(estimate, at: now)
        noteGoal(estimate, at: now)
        guard case .idle = state else { return }
        let isRested = lastProbe.map { now - $0 >= Self.recoveryInterval } ?? true
        guard isCalm else {
            if isRested, let goal { probe(forGoal: goal, over: estimate, maximum: maximum, at: now) }
            return
        }
        let wanted = wanted ?? .zero
        defer { lastWanted = wanted }
        if wanted > lastWanted, lastWanted > .zero, wanted > estimate {
            return probe([wanted], limit: maximum, at: now)
        }
        if let fall, isRested, now - fall.lastTry >= Self.recoveryInterval {
            if now - fall.at > Self.recoveryTime || estimate > fall.from * Self.deepFall {
                self.fall = nil
            } else {
                self.fall?.lastTry = now
                probe([min(fall.from * Self.recoveryShare, estimate * Self.furtherFactor)], limit: maximum, at: now)
            }
        } else if isLimited, isRested, wanted > estimate {
            // What the application sends cannot show that there is room for more; a probe can.
            probe([min(wanted, estimate * Self.furtherFactor)], limit: maximum, at: now)
        } else if isRested, let goal {
            probe(forGoal: goal, over: estimate, maximum: maximum, at: now)
        }
    }

    /// Layers come in steps: the estimate grows up to half as much again as is sent, and the next may be more.
    private mutating func probe(forGoal goal: Bitrate, over estimate: Bitrate, maximum: Bitrate, at now: Instant) {
        guard goal > estimate, goalTrial?.reachedAt == nil else { return }
        // Another, lower goal is not the one that failed.
        if let failedGoal, goal < failedGoal * Self.kept { goalInterval = Self.recoveryInterval }
        guard lastGoalProbe.map({ now - $0 >= goalInterval }) ?? true else { return }
        if let goalTrial { goalFailed(goalTrial.rate) }
        goalTrial = (goal, nil)
        lastGoalProbe = now
        probe([goal * Self.goalMargin], limit: maximum, at: now)
    }

    private mutating func goalFailed(_ goal: Bitrate) {
        goalInterval = min(Interval(nanoseconds: goalInterval.nanoseconds * 2), Self.longestGoalInterval)
        failedGoal = goal
        goalTrial = nil
    }

    /// Whether what was probed for holds, once it is sent.
    private mutating func noteGoal(_ estimate: Bitrate, at now: Instant) {
        guard let trial = goalTrial else { return }
        guard let reachedAt = trial.reachedAt else {
            if estimate >= trial.rate { goalTrial?.reachedAt = now }
            return
        }
        if estimate < trial.rate * Self.kept {
            goalFailed(trial.rate)
        } else if now - reachedAt >= Self.goalTime {
            goalInterval = Self.recoveryInterval
            failedGoal = nil
            goalTrial = nil
        }
    }

    private mutating func noteFall(_ estimate: Bitrate, at now: Instant) {
        if let highest = peak, highest.rate > estimate, now - highest.at < Self.recoveryInterval {
            if estimate < highest.rate * Self.deepFall, fall == nil || highest.rate > (fall?.from ?? .zero) {
                fall = Fall(from: highest.rate, at: now, lastTry: now)
            }
        } else {
            peak = (estimate, now)
        }
    }

    private mutating func probe(_ rates: [Bitrate], limit: Bitrate, at now: Instant) {
        lastProbe = now
        var threshold = Bitrate.zero
        for rate in rates {
            guard waiting.count < Self.mostWaiting else { break }
            lastID = lastID == .max ? 1 : lastID + 1
            waiting.append(ProbeCluster(id: lastID, rate: min(rate, limit), at: now))
            // At the limit there is no further up.
            threshold = rate >= limit ? .zero : rate * Self.success
            if rate >= limit { break }
        }
        state = .waiting(since: now, threshold: threshold)
    }
}
