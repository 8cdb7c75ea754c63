package import LiveKitProtocol
package import RTCEngine
import SFUCore

/// How somebody goes, and the room with the last one.
extension RoomMachine {
    /// The client says goodbye.
    ///
    /// - Parameter reason: what it says of it, as LiveKit has it: why somebody who is called does not come, or an agent
    ///   cannot go on. Whatever else it says, it has left.
    func leave(
        _ participant: Participant, because reason: LiveKitDisconnectReason = .clientInitiated, at now: Instant
    ) {
        let isTold = [.userUnavailable, .userRejected, .agentError].contains(reason)
        remove(participant, because: isTold ? reason : .clientInitiated, action: nil, at: now)
    }

    /// The connection has ended without our having asked for it.
    package func signalClosed(_ signal: SignalID, at now: Instant) {
        guard let participant = bySignal.removeValue(forKey: signal) else { return }
        participant.signaling = .detached(since: now)
        switch participant.phase {
        // Nobody resumes what has never begun.
        case .joined: remove(participant, because: .signalClose, action: nil, at: now)
        case .active, .interrupted, .left: break
        }
        settle(at: now)
    }

    /// Takes somebody and all that is theirs out of the room.
    ///
    /// - Parameters:
    ///   - action: what the client is told to do; nil to tell it nothing.
    ///   - isReplaced: another session of the same identity, which everybody sees, comes in its place.
    func remove(
        _ participant: Participant, because reason: LiveKitDisconnectReason, action: LiveKitLeaveRequest.Action?,
        isReplaced: Bool = false, at now: Instant
    ) {
        guard !participant.hasLeft else { return }
        let wasActive = participant.state == .active
        let wasPublisher = participant.isPublisher
        if let action {
            if case .attached(let signal) = participant.signaling {
                put(.signal(signal, Self.leaveResponse(because: reason, action)))
            }
        }
        switch participant.signaling {
        case .attached(let signal), .answered(let signal):
            bySignal[signal] = nil
            put(.closeSignal(signal))
        case .detached: break
        }
        rememberFallback(of: participant, at: now)
        // What follows is for the others.
        participant.signaling = .detached(since: now)
        for track in participant.tracks { end(track, at: now) }
        for track in participant.dataTracks { end(track) }
        for sid in Array(participant.subscriptions.keys) { unsubscribe(participant, from: sid, at: now) }
        for subscription in Array(participant.dataSubscriptions.values) { end(subscription) }
        for track in Array(tracks.values) { note(participant, waitsFor: track, false) }
        for connection in participant.connections {
            byPeer[connection.id] = nil
            media.remove(connection.id, at: now)
            put(.peerRemoved(connection.id))
        }
        dropOutbox(of: participant, at: now)
        participant.phase = .left
        participant.disconnectReason = reason
        participant.publisher = nil
        participant.subscriber = nil
        people.removeAll { $0 === participant }
        if participant.identity == participant.tokenIdentity {
            for other in people where other.tokenIdentity == participant.identity {
                other.bearersGrants = participant.grants
            }
        }
        participant.version += 1
        if !participant.isHidden {
            let info = info(of: participant)
            departures.add(info, at: now)
            tellOthers(info, isUrgent: wasPublisher, isReplaced: isReplaced)
        }
        tellRecording()
        failCalls(to: participant)
        agentsHear(ofLeaving: participant, because: reason, at: now)
        tell(webhook: wasActive ? "participant_left" : "participant_connection_aborted", participant, at: now)
        if people.isEmpty {
            news = []
            departures = Departures()
        }
        judgeEmptiness(at: now)
    }

    /// A room of those alone who are there for the others is empty. Somebody has come, has gone, or is there for
    /// another reason than before.
    func judgeEmptiness(at now: Instant) {
        let isEmpty = people.allSatisfy(\.isDependent)
        if !isEmpty { hasHadPeople = true }
        guard isEmpty != (emptySince != nil) else { return }
        emptySince = isEmpty ? now : nil
        nextCheck = now
    }

    /// Ends the room: everybody is told to leave.
    package func end(_ reason: LiveKitRoomEndReason, at now: Instant) {
        guard phase == .open else { return }
        let told: LiveKitDisconnectReason =
            switch reason {
            case .roomEndApiDelete: .roomDeleted
            case .roomEndServerShutdown: .serverShutdown
            case .roomEndIdleTimeout, .roomEndSuperseded, .roomEndOpenFailed, .roomEndUnknown, .UNRECOGNIZED:
                .roomClosed
            }
        // First, for nobody is told of the others' leaving any more.
        phase = .ended
        endAgents()
        for participant in people { remove(participant, because: told, action: .disconnect, at: now) }
        tell(webhook: "room_finished", at: now, reason: reason)
        put(.ended(reason))
    }
}
