import LiveKitProtocol
package import RTCEngine
import SFUCore

/// What time does: who does not come, does not come back, or leaves an empty room behind.
extension RoomMachine {
    /// Media have to flow so soon after joining.
    static let joinTimeout = Interval.seconds(Int64(60))
    /// Media have stopped of whose client so long nothing has come, no check either: half of what RFC 7675 §5.1 allows
    /// at most, as by LiveKit's server. Others see who has vanished until then, and for `resumeTimeout` more.
    static let consentTimeout = Interval.seconds(Int64(15))
    /// So long a client has to come back whose media have stopped.
    static let resumeTimeout = Interval.seconds(Int64(5))
    /// And so long to find new paths once it is back.
    static let restartTimeout = Interval.seconds(Int64(15))
    /// And so long one without signaling, as long as its media flow: it may not even have noticed.
    static let detachedTimeout = Interval.seconds(Int64(60))
    /// So soon a client makes a channel anew that it has closed, or has left.
    static let channelTimeout = Interval.seconds(Int64(2))
    /// A client answers an offer so soon: no other one is made before, and it would be told of nothing new for ever.
    static let answerTimeout = Interval.seconds(Int64(15))
    /// A track is offered so soon after it was announced. Clients wait ten seconds for the answer, and then negotiate
    /// for up to fifteen.
    static let announcementTimeout = Interval.seconds(Int64(30))
    /// A client has a token that is younger than this.
    static let tokenInterval = Interval.seconds(Int64(300))
    /// And one whose claims a client changes is not made more often.
    static let changedTokenInterval = Interval.seconds(Int64(1))
    /// How many there are is told so often at most, as by LiveKit's server.
    static let roomUpdateInterval = Interval.seconds(Int64(5))
    /// Time-outs are looked at so often while somebody is in the room.
    static let checkInterval = Interval.milliseconds(500)

    /// When `tick` is next wanted; nil when nothing is pending.
    package var nextWake: Instant? {
        guard phase == .open else { return media.nextWake }
        // Nothing else is looked at while really nobody is in it.
        var check = people.isEmpty ? emptyDeadline.map { max($0, nextCheck) } ?? nextCheck : nextCheck
        if let agents = nextAgentCheck { check = min(check, max(agents, nextCheck)) }
        return media.nextWake.map { min($0, check) } ?? check
    }

    /// When an empty room ends; nil while there is somebody whom it is for.
    private var emptyDeadline: Instant? {
        emptySince.map { emptySince in
            if hasHadPeople { return emptySince + configuration.departureTimeout }
            // There is nobody to wait for.
            return isDraining ? emptySince : emptySince + configuration.emptyTimeout
        }
    }

    /// Does what has fallen due.
    package func tick(at now: Instant) {
        media.tick(at: now)
        guard phase == .open, now >= nextCheck else { return }
        nextCheck = now + Self.checkInterval
        if let emptyDeadline, now >= emptyDeadline { return end(.roomEndIdleTimeout, at: now) }
        for participant in people { check(participant, at: now) }
        for participant in people.filter({ mustReturn($0, at: now) }) {
            remove(participant, because: .connectionTimeout, action: .reconnect, at: now)
        }
        forgetDepartures(at: now)
        forgetFallbacks(at: now)
        tellNews()
        tellCounts(at: now)
        checkCalls(at: now)
        checkAgents(at: now)
        judgeQuality(at: now)
        settle(at: now)
    }

    /// Nobody who comes back is to be told of them any more.
    private func forgetDepartures(at now: Instant) {
        guard !departures.isEmpty else { return }
        let oldest = people.lazy.filter { !$0.mode.isExchange }.map { $0.contact.missedSince(lossTime: self.lossTime) }
            .min()
        departures.forget(before: oldest ?? now)
    }

    private func check(_ participant: Participant, at now: Instant) {
        switch participant.phase {
        case .joined(let since) where now - since >= Self.joinTimeout:
            return remove(participant, because: .joinFailure, action: .reconnect, at: now)
        case .interrupted(let end) where now >= end:
            return remove(participant, because: .connectionTimeout, action: .reconnect, at: now)
        case .joined, .interrupted, .active, .left: break
        }
        if hasNoHandshake(participant, at: now) {
            participant.prefersTCP = true
            return remove(participant, because: .connectionTimeout, action: .reconnect, at: now)
        }
        if let end = participant.simulatedSpeechUntil, now >= end {
            participant.simulatedSpeechUntil = nil
            tellSimulatedSpeech(0, of: participant)
        }
        tellChanges(of: participant, at: now)
        switch participant.signaling {
        case .detached(let since) where now - since >= Self.detachedTimeout:
            return remove(participant, because: .signalClose, action: nil, at: now)
        case .detached, .answered: break
        case .attached:
            if owesAnswer(participant) { return negotiationFailed(participant, at: now) }
            let isDue =
                now - participant.tokenAt >= (participant.isTokenStale ? Self.changedTokenInterval : Self.tokenInterval)
            if isDue { wantToken(for: participant, at: now) }
            remindOfBackups(of: participant)
            // Whoever cannot say anything cannot offer.
            for track in participant.tracks where track.transceiver == nil {
                if now - track.announcedAt >= Self.announcementTimeout { withdraw(track, at: now) }
            }
        }
    }

    /// Whether an answer is overdue: the client still speaks, and says something else. Where it is silent the offer
    /// may never have arrived, as over a WebSocket that is half open. A client that comes back is sent another
    /// offer, and of one that has no path other time-outs decide.
    private func owesAnswer(_ participant: Participant) -> Bool {
        guard let connection = participant.subscriber, connection.state == .connected,
            let offeredAt = connection.offeredAt
        else { return false }
        return participant.contact.heardAt >= offeredAt + Self.answerTimeout
    }

    /// A client that has no messages is not told to come back, and what it has closed it cannot open again; nor can one
    /// whose signaling is gone as well.
    private func timeToReturn(of participant: Participant, after state: PeerConnectionState) -> Interval {
        if participant.mode.isExchange { return state == .closed ? .zero : Self.restartTimeout }
        guard state == .closed, case .detached = participant.signaling else { return Self.resumeTimeout }
        return .zero
    }

    /// Connections come up, and fail.
    func connectionChanged(_ connection: Connection, to state: PeerConnectionState, at now: Instant) {
        connection.state = state
        let participant = connection.participant
        switch state {
        case .connected:
            connection.hasBeenConnected = true
            connection.connectedSince = connection.connectedSince ?? now
            tellSubscribed(on: connection, at: now)
            switch participant.phase {
            case .joined:
                guard connection === participant.primary else { return }
                participant.phase = .active
                tellOf(participant)
                tell(webhook: "participant_joined", participant, at: now)
            case .interrupted:
                let isBroken = participant.connections.contains { $0.state == .failed || $0.state == .closed }
                if !isBroken { participant.phase = .active }
            case .active, .left: break
            }
            publishBoundTracks(of: participant, at: now)
        case .failed:
            guard participant.phase == .active else { return }
            if isHeard(participant, at: now), hasFailedSoon(connection, at: now) {
                fallBack(from: connection, at: now)
            }
            participant.phase = .interrupted(until: now + timeToReturn(of: participant, after: state))
            // A new path may be found.
            tellToResume(participant, because: .connectionTimeout, at: now)
        case .closed:
            let end = now + timeToReturn(of: participant, after: state)
            switch participant.phase {
            case .left: return
            case .joined: return remove(participant, because: .joinFailure, action: .reconnect, at: now)
            case .active: participant.phase = .interrupted(until: end)
            case .interrupted(let former): participant.phase = .interrupted(until: min(former, end))
            }
            // What the client has closed it has to make anew.
            if let message = Self.leaveResponse(because: .connectionTimeout, .reconnect).message {
                send(message, to: participant)
            }
        case .new, .connecting, .disconnected: break
        }
    }
}
