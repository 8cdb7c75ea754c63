internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// The way into the room, and what the server says.
extension RoomClientMachine {
    /// Joins the room. `request` is completed when media can flow, or when that has failed.
    mutating func connect(token: String, request: RequestID, at now: Instant) {
        switch phase {
        case .idle, .disconnected: break
        case .signaling, .connecting, .connected, .waiting:
            return put(.complete(request, .failure(.alreadyConnected)))
        }
        self.token = token
        // Those of the session before are forgotten without events: it may have been another room.
        roster = Roster()
        requests.connecting = request
        attempt = 0
        shortConnections = 0
        openSignal(.join, at: now)
    }

    mutating func openSignal(_ purpose: Purpose, at now: Instant) {
        // Of a connection that was lost again, before the session went on.
        _ = takeEarly()
        move(to: .signaling(purpose, until: now + Self.openTimeout))
        put(.openSignal(signalPath(purpose)))
    }

    /// The WebSocket is open, and the server's first message is to follow.
    mutating func signalOpened(at now: Instant) {
        guard case .signaling(let purpose, _) = phase else { return }
        move(to: .signaling(purpose, until: now + Self.signalTimeout))
    }

    /// Leaves the room.
    mutating func leave() {
        sayNow(
            .leave(
                .with {
                    $0.reason = .clientInitiated
                    $0.action = .disconnect
                }))
        end(.clientInitiated)
    }

    /// The server's next message.
    mutating func receive(_ response: LiveKitSignalResponse.OneOf_Message, at now: Instant) {
        pings.heard(at: now)
        switch (phase, response) {
        case (.idle, _), (.disconnected, _), (.waiting, _): return
        case (_, .leave(let leave)): return leaveReceived(leave, at: now)
        // The first message is `join` for a new session, and `reconnect` for one that is resumed.
        case (.signaling(.resume(let reason), _), .reconnect(let response)):
            reconnectReceived(response, reason, at: now)
            for response in takeEarly() { received(response, at: now) }
            return
        case (.signaling(let purpose, _), .join(let response)) where purpose == .join || purpose == .rejoin:
            return joinReceived(response, purpose, at: now)
        case (.signaling(.resume, _), .join): return signalLost(Self.notLiveKit, at: now)
        // A server that has our session may tell of the room before it says `reconnect`.
        case (.signaling(.resume, _), _): return keepEarly(response)
        case (.signaling, _): return signalLost(Self.notLiveKit, at: now)
        case (.connecting, _), (.connected, _): break
        }
        received(response, at: now)
    }

    private static let notLiveKit = RoomError.unreachable("its first message is not one of LiveKit's")

    private mutating func received(_ response: LiveKitSignalResponse.OneOf_Message, at now: Instant) {
        switch response {
        case .answer(let answer): answerReceived(answer)
        case .offer(let offer):
            negotiation.lastServerOffer = offer.sdp
            put(.media(.takeOffer(id: offer.id, sdp: offer.sdp)))
        case .trickle(let trickle):
            guard let target = SignalTarget(trickle.target), !trickle.candidateInit.isEmpty else { return }
            put(.media(.addCandidate(target, json: trickle.candidateInit)))
        case .update(let update): participantsChanged(update.participants, at: now)
        case .trackPublished(let published): trackPublished(published, at: now)
        case .trackUnpublished(let unpublished): trackUnpublished(TrackSID(unpublished.trackSid), at: now)
        case .mute(let mute): serverMuted(TrackSID(mute.sid), mute.muted)
        case .speakersChanged(let changed): speakersChanged(changed.speakers)
        case .roomUpdate(let update): roomChanged(update.room)
        case .connectionQuality(let update): qualityChanged(update.updates)
        case .streamStateUpdate(let update):
            for state in update.streamStates {
                put(.tell(.trackPaused(TrackSID(state.trackSid), isPaused: state.state == .paused)))
            }
        case .subscriptionPermissionUpdate(let update):
            put(.tell(.subscriptionPermissionChanged(TrackSID(update.trackSid), isAllowed: update.allowed)))
            if !update.allowed { dataSubscriptionRefused(TrackSID(update.trackSid), .notAllowed) }
        case .subscriptionResponse(let response):
            let failure = SubscriptionFailure(response.err)
            put(.tell(.trackSubscriptionFailed(TrackSID(response.trackSid), failure)))
            dataSubscriptionRefused(
                TrackSID(response.trackSid), failure == .trackNotFound ? .notFound : .unclassified)
        case .refreshToken(let token):
            self.token = token
            put(.tell(.tokenRefreshed))
        case .pong, .pongResp: pongReceived(response, at: now)
        case .requestResponse(let response): requestAnswered(response)
        case .roomMoved(let moved): roomMoved(moved, at: now)
        // `leave` is handled above. The other two may only come first, and are ignored when they come again.
        case .join, .reconnect, .leave: break
        case .publishDataTrackResponse(let published): dataTrackPublished(published.info)
        case .unpublishDataTrackResponse(let unpublished): dataTrackUnpublished(unpublished.info)
        case .dataTrackSubscriberHandles(let handles): dataHandlesTold(handles)
        case .subscribedQualityUpdate(let update): qualitiesWanted(update)
        // These are for encoders of sound, for clients with one peer connection, or for features that this client does
        // not have.
        case .subscribedAudioCodecUpdate, .mediaSectionsRequirement, .trackSubscribed, .storeDataBlobResponse,
            .getDataBlobResponse:
            break
        }
    }

    private mutating func joinReceived(_ response: LiveKitJoinResponse, _ purpose: Purpose, at now: Instant) {
        session = Session(
            sid: response.participant.sid, roomSID: response.room.sid, roomName: response.room.name,
            roomMetadata: response.room.metadata, isSubscriberPrimary: response.subscriberPrimary,
            serverTrailer: [UInt8](response.sifTrailer))
        pings = Pings(
            interval: response.pingInterval, timeout: response.pingTimeout, at: now)
        negotiation = Negotiation()
        data.newSession()
        dataSubscribing.newSession()
        move(to: .connecting(purpose, until: now + Self.mediaTimeout))
        put(.openMedia(response.iceServers))
        rosterBegins(response.participant, response.otherParticipants, at: now)
        // Otherwise the publishing connection is made later, when there is something to publish or a message to send.
        if response.fastPublish || !response.subscriberPrimary || data.hasWaiting || !dataPublishing.tracks.isEmpty {
            negotiatePublisher(at: now)
        }
        // Before any track is announced.
        sayPermissions()
        subscriptionsBeginAnew()
        if purpose == .rejoin {
            // The held requests name things of the session that is over. What follows makes those of the new one.
            forgetHeld()
            endStreams(at: now)
            publishAgain()
            dataSubscriptionsBeginAnew(at: now)
            publishDataTracksAgain(at: now)
        }
        sayHeld()
    }

    private mutating func reconnectReceived(
        _ response: LiveKitReconnectResponse, _ reason: LiveKitReconnectReason, at now: Instant
    ) {
        pings.restart(at: now)
        everythingIsWanted()
        move(to: .connecting(.resume(reason), until: now + Self.mediaTimeout))
        // The credentials for TURN servers expire, and the ICE restart that follows may need new relayed addresses.
        if !response.iceServers.isEmpty { put(.media(.useServers(response.iceServers))) }
        put(.send(.syncState(syncState())))
        // Each side restarts ICE on the connection for which it makes the offers; ours is the publishing one.
        if negotiation.hasOffered || negotiation.isNeededAgain {
            negotiatePublisher(iceRestart: negotiation.hasOffered, at: now)
        }
        sayPermissions()
        sayHeld()
        resendData(after: response.lastMessageSeq)
        considerConnected(at: now)
    }

    /// Enters `connected` if signaling and media are both up: we are in the room, for the first time or again.
    mutating func considerConnected(at now: Instant) {
        guard case .connecting(let purpose, _) = phase, mediaIsUp else { return }
        move(to: .connected)
        attempt = 0
        connectedAt = now
        switch purpose {
        case .join:
            put(.tell(.connected))
            if let request = requests.connecting { put(.complete(request, .success(.done))) }
            requests.connecting = nil
        case .resume, .rejoin: put(.tell(.reconnected))
        }
    }

    /// The server ends the connection, and says whether to resume the session, to start a new one, or to stay away.
    private mutating func leaveReceived(_ leave: LiveKitLeaveRequest, at now: Instant) {
        switch leave.action {
        case .resume: lose(.resume(.rrUnknown), because: .disconnected(DisconnectReason(leave.reason)), at: now)
        case .reconnect: lose(.rejoin, because: .disconnected(DisconnectReason(leave.reason)), at: now)
        case .disconnect, .UNRECOGNIZED:
            // Servers older than `action` ask for a new session in this way, whatever their reason is.
            if leave.canReconnect {
                lose(.rejoin, because: .disconnected(DisconnectReason(leave.reason)), at: now)
            } else {
                end(DisconnectReason(leave.reason))
            }
        }
    }

    /// Ends the session for good: everything that waits fails, and what was begun is over.
    mutating func end(_ reason: DisconnectReason, because error: RoomError? = nil) {
        if case .disconnected = phase { return }
        if case .idle = phase { return }
        let wasInRoom = isInRoom
        // What was asked for beforehand is kept for the next `connect`, and what was asked for in the room is not.
        let neverJoined = requests.connecting != nil
        move(to: .disconnected(reason))
        put(.closeSignal)
        put(.closeMedia)
        forgetHeld()
        let error = error ?? .disconnected(reason)
        for request in requests.takeAll() { put(.complete(request, .failure(error))) }
        for request in publishing.takeRequests() { put(.complete(request, .failure(error))) }
        for call in calls.takeAll() { put(.completeCall(call, .failure(.recipientDisconnected))) }
        for case .reader(let id) in incoming.takeAll() { put(.streamEnded(id, .failure(.disconnected))) }
        for sid in subscribing.takeAll() { put(.unsubscribed(sid)) }
        endLocalDataTracks(because: error)
        endRemoteDataTracks(because: error)
        negotiation = Negotiation()
        let permissions = neverJoined ? publishing.permissions : nil
        publishing = Publishing()
        publishing.permissions = permissions
        if !neverJoined { subscribing = Subscribing() }
        // Messages that still wait were meant for this room, and must not go to the next one.
        data = DataQueue()
        dataPublishing = DataPublishing()
        dataSubscribing = DataSubscribing()
        if wasInRoom { put(.tell(.disconnected(reason))) }
    }

    /// LiveKit Cloud moves a participant into another room over the same connection.
    private mutating func roomMoved(_ moved: LiveKitRoomMovedResponse, at now: Instant) {
        token = moved.token.isEmpty ? token : moved.token
        sessionReplaced()
        session.sid = moved.participant.sid
        session.roomSID = moved.room.sid
        session.roomName = moved.room.name
        roomChanged(moved.room)
        rosterBegins(moved.participant, moved.otherParticipants, at: now)
    }
}
