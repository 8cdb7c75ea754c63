internal import RTCWire

extension ICEAgent {
    /// The one door for the connection's state. The reason is a constant of the source text, so that no address
    /// and no credential can reach a log through it.
    mutating func move(to next: ICEConnectionState, because reason: StaticString) {
        guard next != connectionState, connectionState != .closed else { return }
        connectionState = next
        outputs.append(.connectionStateChanged(next, because: reason.description))
    }

    /// The one door for the role.
    mutating func take(role next: ICERole) {
        guard role != next else { return }
        role = next
        // RFC 8445 §7.3.1.1: the pairs' priorities depend on it.
        session.checklist.recomputePriorities(role: next)
        session.checklist.dropNominations()
        session.nomination.reset()
    }

    /// The role changed without the owner's doing.
    mutating func switchRole(to next: ICERole) {
        guard role != next else { return }
        take(role: next)
        outputs.append(.roleChanged(next))
    }

    /// Makes `route` follow the selected pair and its consent.
    mutating func noteRoute() {
        guard let path, path.consent.isFresh else {
            route = nil
            return
        }
        route = path.route
    }

    /// Whether a pair of the present generation was nominated.
    var isSettled: Bool { path?.generation == session.generation && path?.isNominated == true }

    /// W3C RTCIceTransportState, "completed": selected, and neither side has more candidates.
    mutating func completeIfDone() {
        guard connectionState == .connected, isSettled, session.gatherer.state == .complete,
            session.trickle.end == .ended
        else { return }
        move(to: .completed, because: "a pair is selected and no candidate can follow")
    }

    /// The state of an agent whose selected pair answers.
    mutating func moveToConnected(because reason: StaticString) {
        switch connectionState {
        case .new, .checking, .disconnected, .failed: move(to: .connected, because: reason)
        case .connected, .completed, .closed: break
        }
        completeIfDone()
    }

    var currentRoundTripTime: Interval? { path?.roundTripTime }

    /// Everything that has been counted, and the present pairs.
    public var statistics: ICEStatistics {
        var statistics = counters
        statistics.currentRoundTripTime = path?.roundTripTime
        statistics.pairs = session.checklist.pairs.map { pair in
            ICEStatistics.Pair(
                route: pair.route, localCandidate: pair.selection.localCandidate, remoteCandidate: pair.remoteCandidate,
                state: pair.state.statistic, isNominated: pair.nomination == .nominated, priority: pair.priority,
                currentRoundTripTime: pair.roundTripTime)
        }
        if let path, path.generation != session.generation {
            statistics.pairBeforeRestart = ICEStatistics.Pair(
                route: path.route, localCandidate: path.selection.localCandidate,
                remoteCandidate: path.selection.remoteCandidate, state: path.consent.isFresh ? .succeeded : .failed,
                isNominated: path.isNominated, priority: path.pairPriority, currentRoundTripTime: path.roundTripTime)
        }
        return statistics
    }
}

extension CandidatePair.State {
    fileprivate var statistic: ICEStatistics.Pair.State {
        switch self {
        case .frozen: .frozen
        case .waiting: .waiting
        case .inProgress: .inProgress
        case .succeeded: .succeeded
        case .failed: .failed
        }
    }
}
