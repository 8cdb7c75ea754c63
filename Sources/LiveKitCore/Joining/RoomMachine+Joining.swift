import Foundation
import LiveKitProtocol
package import RTCEngine
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
            if let configuration = participant.quirks.configuration { $0.clientConfiguration = configuration }
        }
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
