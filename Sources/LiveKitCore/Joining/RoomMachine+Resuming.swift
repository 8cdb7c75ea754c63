package import LiveKitProtocol
package import RTCEngine
import SFUCore
import SwiftProtobuf

/// How somebody who has lost the signaling comes back into the same session.
extension RoomMachine {
    /// Somebody's signaling is back (`JoinRequest.reconnect`, `participantSid`). The first output for the new signaling
    /// connection is a reconnect response, or, when there is nothing to go on with, a leave that asks for a new
    /// session.
    ///
    /// - Returns: nil where the client has asked for this attempt to be refused; nothing has changed then.
    package func resume(_ arrival: Arrival, at now: Instant) -> SignalID? {
        guard let participant = participant(comingBackAs: arrival) else { return refuseAsStale() }
        let fault = participant.resumeFault.take()
        if fault == .beforeResponse { return nil }
        let signal = makeSignal()
        attach(signal, to: participant)
        let isInterrupted = giveTimeToRestart(participant, at: now)
        sendReconnectResponse(to: participant, arrival)
        if fault == .afterResponse {
            interrupt(participant, signal, at: now)
            return signal
        }
        tellWhatHappened(to: participant, at: now)
        participant.maySyncState = true
        wantToken(for: participant, at: now)
        let failed = failedConnection(of: participant, because: arrival.request.reconnectReason)
        if let failed, isHeard(participant, at: now), hasFailedSoon(failed, at: now) {
            fallBack(from: failed, at: now)
        }
        // Where only the signaling was lost, the paths are as old as they were.
        if failed != nil || isInterrupted { restartAges(of: participant, at: now) }
        restartConnections(of: participant, at: now)
        settle(at: now)
        return signal
    }

    /// Whose session it is that `arrival` goes on with; nil where there is nothing to go on with.
    private func participant(comingBackAs arrival: Arrival) -> Participant? {
        let session = arrival.request.participantSid
        guard phase == .open, arrival.claims.video?.roomJoin == true,
            let participant = people.first(where: {
                $0.sid.rawValue == session && $0.identity == arrival.identity
                    && $0.tokenIdentity == arrival.tokenIdentity && $0.mode == arrival.mode
            }),
            // What has closed has forgotten its keys, and cannot go on.
            participant.connections.allSatisfy({ $0.state != .closed })
        else { return nil }
        return participant
    }

    /// Asks for a new session, over a signaling connection that closes with it.
    private func refuseAsStale() -> SignalID {
        let signal = makeSignal()
        put(.signal(signal, Self.staleSessionResponse))
        put(.closeSignal(signal))
        return signal
    }

    /// The participant's signaling is `signal` from now on; the one before is closed.
    private func attach(_ signal: SignalID, to participant: Participant) {
        if case .attached(let old) = participant.signaling {
            bySignal[old] = nil
            put(.closeSignal(old))
        }
        participant.signaling = .attached(signal)
        bySignal[signal] = participant
    }

    /// Somebody whose connections have failed has the whole time once more to have them restarted.
    ///
    /// - Returns: whether they have failed.
    private func giveTimeToRestart(_ participant: Participant, at now: Instant) -> Bool {
        switch participant.phase {
        case .interrupted:
            participant.phase = .interrupted(until: now + Self.restartTimeout)
            return true
        case .joined, .active, .left: return false
        }
    }

    private func sendReconnectResponse(to participant: Participant, _ arrival: Arrival) {
        if let iceServers = arrival.iceServers { participant.iceServers = iceServers }
        send(
            .reconnect(
                .with {
                    $0.iceServers = participant.iceServers ?? configuration.server.iceServers
                    $0.serverInfo = serverInfo
                    $0.lastMessageSeq = participant.messages.lastSequence
                    if let configuration = participant.quirks.configuration { $0.clientConfiguration = configuration }
                }), to: participant)
    }

    /// Tells who is here and who has left, the room, and what else was said while nobody listened.
    private func tellWhatHappened(to participant: Participant, at now: Instant) {
        let missedSince = participant.contact.resume(lossTime: lossTime, at: now)
        participant.version += 1
        let others = othersSeen(by: participant)
        let gone = departures.since(missedSince, without: Set(others.map(\.identity) + [participant.identity]))
        send(update(of: [info(of: participant)] + gone + others), to: participant)
        send(.roomUpdate(.with { $0.room = info }), to: participant)
        tellMissed(since: missedSince, to: participant)
        for track in participant.tracks { track.announcedAt = now }
        participant.quality.told = [:]
    }

    /// Which connection the client comes back for; nil where only its signaling was lost.
    private func failedConnection(
        of participant: Participant, because reason: LiveKitReconnectReason
    ) -> Connection? {
        switch reason {
        case .rrPublisherFailed: participant.publisher
        case .rrSubscriberFailed: participant.subscriber
        case .rrUnknown, .rrSignalDisconnected, .rrSwitchCandidate, .UNRECOGNIZED: nil
        }
    }

    /// The paths of all connections count as new.
    private func restartAges(of participant: Participant, at now: Instant) {
        for connection in participant.connections {
            // One that ICE has not given up stays connected while it is restarted. Whether TCP is of use shows
            // when it is over them.
            let staysConnected = connection.state == .connected && !participant.prefersTCP
            connection.connectedSince = staysConnected ? now : nil
        }
    }

    /// Begins what finds new paths: offers TCP alone where that is preferred, and has `settle` make the offers that
    /// this side makes.
    private func restartConnections(of participant: Participant, at now: Instant) {
        // Its connections are restarted now, whichever of them has failed.
        if participant.prefersTCP {
            for connection in participant.connections { offerPaths(overTCPAlone: true, on: connection, at: now) }
        }
        // The client finds new paths for the connection in which it makes the offers.
        if let subscriber = participant.subscriber, subscriber.role == .subscriber {
            subscriber.needsRestart = true
            subscriber.needsNegotiation = true
            unsettled.append(subscriber)
        }
        if let only = participant.publisher, only.role == .only, only.needsNegotiation {
            only.asked = AskedSections()
            unsettled.append(only)
        }
    }

    /// A client that has no answer to its pings for so long comes back.
    var lossTime: Interval { .seconds(Int64(configuration.server.pingTimeout)) }

    /// The client is to come back to its session, and to find new paths. One that knows no actions would begin anew: as
    /// with LiveKit's server its signaling ends without a word, upon which it comes back.
    func tellToResume(_ participant: Participant, because reason: LiveKitDisconnectReason, at now: Instant) {
        guard case .attached(let signal) = participant.signaling else { return }
        guard participant.takesActions else { return interrupt(participant, signal, at: now) }
        put(.signal(signal, Self.leaveResponse(because: reason, .resume)))
    }

    private func interrupt(_ participant: Participant, _ signal: SignalID, at now: Instant) {
        put(.closeSignal(signal))
        bySignal[signal] = nil
        participant.signaling = .detached(since: now)
    }

    /// What `resume` answers when there is no such session, for an owner that has no such room.
    package static var staleSessionResponse: LiveKitSignalResponse {
        leaveResponse(because: .stateMismatch, .reconnect)
    }

    static func leaveResponse(
        because reason: LiveKitDisconnectReason, _ action: LiveKitLeaveRequest.Action
    ) -> LiveKitSignalResponse {
        .with {
            $0.leave = .with {
                $0.reason = reason
                $0.action = action
                $0.canReconnect = action != .disconnect
            }
        }
    }

    /// What a client that is back had: what it did not want, and up to where it has the messages.
    func takeState(_ state: LiveKitSyncState, of participant: Participant, at now: Instant) {
        guard participant.maySyncState else { return }
        participant.maySyncState = false
        // It takes something for published that is not, as a track of an earlier session. LiveKit's server has it begin
        // anew; what was withdrawn while it was away it is told of (`tellMissed`).
        let gone = Set(participant.withdrawals.map(\.sid.rawValue))
        let isMistaken = state.publishTracks.contains { published in
            let sid = published.track.sid
            return !sid.isEmpty && !gone.contains(sid) && !participant.tracks.contains { $0.sid.rawValue == sid }
        }
        guard !isMistaken else { return remove(participant, because: .stateMismatch, action: .reconnect, at: now) }
        // With automatic subscription it names what it does not want, otherwise what it wants.
        let named = state.subscription.trackSids + state.subscription.participantTracks.flatMap(\.trackSids)
        updateSubscription(
            named, isWanted: state.subscription.subscribe, of: participant, isRepeated: true, at: now)
        for track in known(state.trackSidsDisabled) {
            var hints = participant.hints[track.sid] ?? SubscriberHints()
            hints.isDisabled = true
            setHints(hints, for: track.sid, of: participant, at: now)
        }
        checkDataTracks(state.publishDataTracks, of: participant)
        updateDataSubscription(state.dataSubscription, of: participant)
        replay(to: participant, from: state.datachannelReceiveStates, at: now)
    }
}
