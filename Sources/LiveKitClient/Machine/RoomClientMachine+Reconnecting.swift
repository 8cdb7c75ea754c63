internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// A connection that is lost, and the way back: first the same session, and if the server does not have it any more,
/// or media cannot be brought back, a new one in which everything is published and subscribed again.
extension RoomClientMachine {
    /// After so many attempts in a row we give up.
    static let attempts = 10
    /// After so many attempts to resume the session a new one is asked for: a server keeps a session for seconds only.
    static let resumeAttempts = 4

    /// A connection that has lasted so long counts as a good one (`shortConnections`).
    static let steadyTime = Interval.seconds(Int64(10))

    /// As LiveKit's SDKs wait: 0, 0.3, 1.2, 2.7, 4.8 and then 7 seconds.
    static func wait(before attempt: Int) -> Interval {
        let number = Int64(min(max(attempt, 0), 5))
        return number == 5 ? .seconds(Int64(7)) : .milliseconds(300 * number * number)
    }

    /// The WebSocket is closed, was refused or could not be made.
    mutating func signalLost(_ error: RoomError, at now: Instant) {
        switch phase {
        case .idle, .disconnected, .waiting: return
        case .signaling(.join, _), .connecting(.join, _): end(.joinFailure, because: error)
        case .signaling(let purpose, _):
            // The token is not accepted, and will not be later.
            if case .refused(let status, _) = error, [400, 401, 403].contains(status) {
                return end(.joinFailure, because: error)
            }
            tryAgain(purpose, at: now)
        case .connecting(let purpose, _): tryAgain(purpose, at: now)
        case .connected: lose(.resume(.rrSignalDisconnected), because: error, at: now)
        }
    }

    /// A peer connection has failed.
    mutating func mediaLost(_ target: SignalTarget, at now: Instant) {
        switch phase {
        case .connected:
            let reason = target == .publisher ? LiveKitReconnectReason.rrPublisherFailed : .rrSubscriberFailed
            lose(.resume(reason), because: .media("no path is left"), at: now)
        case .connecting(.join, _): end(.mediaFailure, because: .media("no path was found"))
        case .connecting(.rejoin, _): tryAgain(.rejoin, at: now)
        // While resuming, its ICE is being restarted anyway: the failure may be of before that.
        case .connecting(.resume, _), .idle, .signaling, .waiting, .disconnected: break
        }
    }

    /// The connection or the session is lost. Begins to come back, by resuming the session or in a new one.
    mutating func lose(_ purpose: Purpose, because error: RoomError, at now: Instant) {
        switch phase {
        case .idle, .disconnected: return
        case .signaling(.join, _), .connecting(.join, _), .waiting(.join, _):
            return end(.joinFailure, because: error)
        case .connected:
            put(.tell(.reconnecting))
            shortConnections = now - connectedAt < Self.steadyTime ? shortConnections + 1 : 0
            // Connections that are lost again at once count as failed attempts, with the wait that follows those.
            guard shortConnections < 2 else {
                attempt = shortConnections - 2
                return tryAgain(purpose, at: now)
            }
            attempt = 0
            begin(purpose, at: now)
        case .signaling, .connecting, .waiting:
            // The attempt that is being made has failed. It counts, so that this does not go on for ever.
            tryAgain(purpose, at: now)
        }
    }

    private mutating func tryAgain(_ purpose: Purpose, at now: Instant) {
        attempt += 1
        guard attempt < Self.attempts else { return end(.signalClose) }
        var purpose = purpose
        if case .resume = purpose, attempt >= Self.resumeAttempts { purpose = .rejoin }
        // The session is over, so its channels count as closed: what would be sent on them now would be lost.
        if purpose == .rejoin { data.newSession() }
        put(.closeSignal)
        move(to: .waiting(purpose, until: now + Self.wait(before: attempt)))
    }

    private mutating func begin(_ purpose: Purpose, at now: Instant) {
        switch purpose {
        case .join, .resume: break
        case .rejoin:
            put(.closeMedia)
            negotiation = Negotiation()
            // The open channels close with the media, and messages wait for those of the new session.
            data.newSession()
            for sid in subscribing.takeAll() { put(.unsubscribed(sid)) }
        }
        openSignal(purpose, at: now)
    }

    mutating func phaseTimePassed(at now: Instant) {
        switch phase {
        case .signaling(.join, let until) where until <= now: end(.joinFailure, because: .timedOut)
        case .signaling(let purpose, let until) where until <= now: tryAgain(purpose, at: now)
        case .connecting(.join, let until) where until <= now:
            sayNow(.leave(.with { $0.reason = .mediaFailure }))
            end(.mediaFailure, because: .media("no path was found"))
        // The server has let us in, but no path for media was found in time: a new session may find one.
        case .connecting(_, let until) where until <= now: tryAgain(.rejoin, at: now)
        case .waiting(let purpose, let until) where until <= now: begin(purpose, at: now)
        case .idle, .signaling, .connecting, .connected, .waiting, .disconnected: break
        }
    }

    /// What we have of the session, so that the server can go on with it: descriptions, tracks, subscriptions,
    /// messages.
    func syncState() -> LiveKitSyncState {
        .with { state in
            if !negotiation.lastAnswer.isEmpty {
                state.answer = .with {
                    $0.type = "answer"
                    $0.sdp = negotiation.lastAnswer
                }
            }
            // With two peer connections it is the server's offer, to which the answer belongs.
            if !negotiation.lastServerOffer.isEmpty {
                state.offer = .with {
                    $0.type = "offer"
                    $0.sdp = negotiation.lastServerOffer
                }
            }
            // With automatic subscription these are the tracks that are not wanted, otherwise those that are.
            let exceptions = subscribing.wanted.filter {
                $0.value != options.autoSubscribe && roster.track($0.key) != nil
            }
            state.subscription = .with {
                $0.subscribe = !options.autoSubscribe
                $0.trackSids = exceptions.map(\.key.rawValue).sorted()
            }
            let disabled = subscribing.qualities.filter { $0.value == nil && roster.track($0.key) != nil }
            state.trackSidsDisabled = disabled.map(\.key.rawValue).sorted()
            state.publishTracks = publishing.tracks.compactMap { track in
                guard let cid = track.cid, let info = track.info else { return nil }
                return .with {
                    $0.cid = cid
                    $0.track = info
                }
            }
            state.publishDataTracks = publishedDataTracks
            if !dataSubscribing.wanted.isEmpty { state.dataSubscription = wantedDataTracks }
            state.dataChannels = data.channels.map { channel in
                .with {
                    $0.label = channel.label.rawValue
                    $0.id = UInt32(channel.id)
                    $0.target = channel.target.message
                }
            }
            state.datachannelReceiveStates = data.lastReceived.sorted { $0.key < $1.key }.map { publisher, last in
                .with {
                    $0.publisherSid = publisher
                    $0.lastSeq = last
                }
            }
        }
    }
}
