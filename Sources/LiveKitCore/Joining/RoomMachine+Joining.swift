import Foundation
package import LiveKitProtocol
package import RTCEngine
import SFUCore
import SwiftProtobuf

/// How somebody comes in.
extension RoomMachine {
    /// Somebody joins. The first output for the signaling connection is the join response.
    package func join(_ arrival: Arrival, at now: Instant) throws(JoinRefusal) -> SignalID {
        guard phase == .open else { throw .roomEnded }
        let claims = try admit(arrival)
        let offer = try judgeOffer(of: arrival)
        // Nothing below is refused any more.
        let signal = makeSignal()
        let participant = makeParticipant(arrival, claims, signal, at: now)
        enter(participant, signal, at: now)
        send(.join(joinResponse(to: participant)), to: participant)
        tellOf(participant)
        tellRecording()
        wantToken(for: participant, at: now)
        for request in arrival.request.addTrackRequests { addTrack(request, of: participant, at: now) }
        // The client waits for an offer, also when there is nothing to send.
        if participant.isSubscriberPrimary { makeSubscriber(for: participant, at: now) }
        subscribeToAll(participant, at: now)
        if let offer { answer(offer, id: arrival.request.publisherOffer.id, from: participant, at: now) }
        settle(at: now)
        return signal
    }

    /// Somebody who is not in the room yet, and of whom nobody knows.
    func makeParticipant(
        _ arrival: Arrival, _ claims: AccessToken.Claims, _ signal: SignalID, at now: Instant
    ) -> Participant {
        Participant(
            sid: ParticipantSID(rawValue: random.sid("PA_")), identity: arrival.identity, arrival: arrival,
            claims: claims, signal: signal, at: now)
    }

    /// Somebody is in, and whoever had the identity is out.
    func enter(_ participant: Participant, _ signal: SignalID, at now: Instant) {
        if participant.identity != participant.tokenIdentity {
            participant.bearersGrants = grants(ofBearer: participant.tokenIdentity)
        }
        if let old = people.first(where: { $0.identity == participant.identity }) {
            remove(
                old, because: .duplicateIdentity, action: .disconnect, isReplaced: !participant.isHidden, at: now)
        }
        recallFallback(of: participant, at: now)
        people.append(participant)
        bySignal[signal] = participant
        // Its join response has them.
        if people.count == 1 { toldCounts = counts }
        judgeEmptiness(at: now)
        nextCheck = now
        launchAgents(for: participant)
    }

    /// Checks all that does not need the room to change.
    ///
    /// - Returns: the token's claims with what the client adds, where it may.
    func admit(_ arrival: Arrival) throws(JoinRefusal) -> AccessToken.Claims {
        let limits = configuration.limits
        var claims = arrival.claims
        guard var grants = claims.video, grants.roomJoin else { throw .notAllowed }
        guard !arrival.identity.isEmpty else { throw .noIdentity }
        if arrival.identity != arrival.tokenIdentity {
            try admitBeside(arrival, &grants)
            claims.video = grants
        }
        guard arrival.identity.utf8.count <= limits.nameBytes, claims.name.utf8.count <= limits.nameBytes else {
            throw .nameTooLong(limit: limits.nameBytes)
        }
        if grants.mayUpdateOwnMetadata {
            if !arrival.request.metadata.isEmpty { claims.metadata = arrival.request.metadata }
            // One without a value takes none of the token's away.
            claims.attributes.merge(arrival.request.participantAttributes.filter { !$0.value.isEmpty }) { $1 }
        }
        guard claims.metadata.utf8.count <= limits.metadataBytes else {
            throw .metadataTooLong(limit: limits.metadataBytes)
        }
        guard claims.attributes.byteCount <= limits.attributesBytes else {
            throw .attributesTooLong(limit: limits.attributesBytes)
        }
        guard !isDraining || claims.isDependent || mayReturn.contains(arrival.identity) else { throw .roomDraining }
        let limit = configuration.maximumParticipants
        let others = people.count { $0.takesPlace && $0.identity != arrival.identity }
        let takesPlace = arrival.mode.isPlaying || !claims.isDependent
        guard limit == 0 || !takesPlace || others < limit else { throw .roomFull(limit: limit) }
        return claims
    }

    /// Who comes beside another chooses a part of the identity. Nobody whom a token names is to lose their place by it,
    /// and a token that lets one person in is not to fill a room. What the bearer may do no longer, they may not do by
    /// coming once more with the token of before.
    private func admitBeside(_ arrival: Arrival, _ grants: inout VideoGrants) throws(JoinRefusal) {
        let isSomebodyElses = people.contains {
            $0.identity == arrival.identity && $0.tokenIdentity != arrival.tokenIdentity
        }
        guard !isSomebodyElses else { throw .notAllowed }
        let limit = configuration.limits.besideOne
        let others = people.count {
            $0.tokenIdentity == arrival.tokenIdentity && $0.identity != arrival.tokenIdentity
                && $0.identity != arrival.identity
        }
        guard others < limit else { throw .tooManyBeside(limit: limit) }
        guard let bearers = self.grants(ofBearer: arrival.tokenIdentity) else { return }
        grants.limit(to: bearers)
        guard grants.mayPublish else { throw .notAllowed }
    }

    /// What the bearer of a token for `identity` may do: who came beside them still knows it when they have left. Nil
    /// where nothing but the token is known.
    private func grants(ofBearer identity: String) -> VideoGrants? {
        let theirs = people.filter { $0.tokenIdentity == identity }
        let bearer = theirs.first { $0.identity == identity }
        return bearer?.grants ?? theirs.compactMap(\.bearersGrants).first
    }

    func makeSignal() -> SignalID {
        lastSignal += 1
        return SignalID(rawValue: lastSignal)
    }

    private func joinResponse(to participant: Participant) -> LiveKitJoinResponse {
        participant.version += 1
        return .with {
            $0.room = info
            $0.participant = info(of: participant)
            $0.otherParticipants = othersSeen(by: participant)
            $0.serverVersion = configuration.server.version
            $0.serverRegion = configuration.server.region
            $0.iceServers = participant.iceServers ?? configuration.server.iceServers
            $0.subscriberPrimary = participant.isSubscriberPrimary
            $0.pingInterval = max(configuration.server.pingInterval, 1)
            $0.pingTimeout = max(configuration.server.pingTimeout, 1)
            $0.serverInfo = serverInfo
            $0.sifTrailer = .init(serverFrameTrailer)
            $0.enabledPublishCodecs = Self.publishableCodecs.filter { participant.quirks.mayPublish($0.mime) }
            $0.fastPublish = participant.grants.mayPublish
        }
    }

    // MARK: Coming back

    /// Somebody's signaling is back (`JoinRequest.reconnect`, `participantSid`). The first output for the new signaling
    /// connection is a reconnect response, or, when there is nothing to go on with, a leave that asks for a new
    /// session.
    ///
    /// - Returns: nil where the client has asked for this attempt to be refused; nothing has changed then.
    package func resume(_ arrival: Arrival, at now: Instant) -> SignalID? {
        let session = arrival.request.participantSid
        guard phase == .open, arrival.claims.video?.roomJoin == true,
            let participant = people.first(where: {
                $0.sid.rawValue == session && $0.identity == arrival.identity
                    && $0.tokenIdentity == arrival.tokenIdentity && $0.mode == arrival.mode
            }),
            // What has closed has forgotten its keys, and cannot go on.
            participant.connections.allSatisfy({ $0.state != .closed })
        else {
            let signal = makeSignal()
            put(.signal(signal, Self.staleSessionResponse))
            put(.closeSignal(signal))
            return signal
        }
        let fault = participant.resumeFault.take()
        if fault == .beforeResponse { return nil }
        let signal = makeSignal()
        if case .attached(let old) = participant.signaling {
            bySignal[old] = nil
            put(.closeSignal(old))
        }
        participant.signaling = .attached(signal)
        bySignal[signal] = participant
        let isInterrupted: Bool
        switch participant.phase {
        case .interrupted:
            isInterrupted = true
            participant.phase = .interrupted(until: now + Self.restartTimeout)
        case .joined, .active, .left: isInterrupted = false
        }
        if let iceServers = arrival.iceServers { participant.iceServers = iceServers }
        send(
            .reconnect(
                .with {
                    $0.iceServers = participant.iceServers ?? configuration.server.iceServers
                    $0.serverInfo = serverInfo
                    $0.lastMessageSeq = participant.messages.lastSequence
                }), to: participant)
        if fault == .afterResponse { return interrupt(participant, signal, at: now) }
        let missedSince = participant.contact.resume(lossTime: lossTime, at: now)
        participant.version += 1
        let others = othersSeen(by: participant)
        let gone = departures.since(missedSince, without: Set(others.map(\.identity) + [participant.identity]))
        send(update(of: [info(of: participant)] + gone + others), to: participant)
        send(.roomUpdate(.with { $0.room = info }), to: participant)
        tellMissed(since: missedSince, to: participant)
        for track in participant.tracks { track.announcedAt = now }
        participant.quality.told = [:]
        participant.maySyncState = true
        wantToken(for: participant, at: now)
        let failed: Connection? =
            switch arrival.request.reconnectReason {
            case .rrPublisherFailed: participant.publisher
            case .rrSubscriberFailed: participant.subscriber
            case .rrUnknown, .rrSignalDisconnected, .rrSwitchCandidate, .UNRECOGNIZED: nil
            }
        if let failed, isHeard(participant, at: now), hasFailedSoon(failed, at: now) {
            fallBack(from: failed, at: now)
        }
        // Where only the signaling was lost, the paths are as old as they were.
        if failed != nil || isInterrupted {
            for connection in participant.connections {
                // One that ICE has not given up stays connected while it is restarted. Whether TCP is of use shows
                // when it is over them.
                let staysConnected = connection.state == .connected && !participant.prefersTCP
                connection.connectedSince = staysConnected ? now : nil
            }
        }
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
        settle(at: now)
        return signal
    }

    /// A client that has no answer to its pings for so long comes back.
    var lossTime: Interval { .seconds(Int64(configuration.server.pingTimeout)) }

    private func interrupt(_ participant: Participant, _ signal: SignalID, at now: Instant) -> SignalID {
        put(.closeSignal(signal))
        bySignal[signal] = nil
        participant.signaling = .detached(since: now)
        return signal
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

    // MARK: Tokens

    func wantToken(for participant: Participant, at now: Instant) {
        guard case .attached(let signal) = participant.signaling else { return }
        participant.tokenAt = now
        participant.isTokenStale = false
        put(.tokenWanted(signal, TokenSubject(identity: participant.tokenIdentity, claims: participant.claims)))
    }

    /// A token that `RoomOutput.tokenWanted` asked for.
    package func sendToken(_ token: String, to signal: SignalID) {
        guard let participant = bySignal[signal] else { return }
        send(.refreshToken(token), to: participant)
    }
}

extension [String: String] {
    /// An empty value removes its key.
    func updated(with changes: [String: String]) -> [String: String] {
        var attributes = self
        for (key, value) in changes { attributes[key] = value.isEmpty ? nil : value }
        return attributes
    }

    var byteCount: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }
}
