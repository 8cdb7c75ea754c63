internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// A connection that is lost, and the way back: first the same session, and if the server does not have it any more,
/// or media cannot be brought back, a new one in which everything is published and subscribed again.
extension RoomClientMachine {
    /// So often it is tried to come back.
    static let attempts = 10
    /// Of these, so many for the same session: a server keeps it for seconds.
    static let resumeAttempts = 4

    /// A connection that lasts so long was no mistake.
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
            // Whoever may not come in now may not come in later.
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
        // It may have failed long before, and is given new paths at this moment.
        case .connecting(.resume, _), .idle, .signaling, .waiting, .disconnected: break
        }
    }

    /// What we had does not go on: comes back for `purpose`.
    mutating func lose(_ purpose: Purpose, because error: RoomError, at now: Instant) {
        switch phase {
        case .idle, .disconnected: return
        case .signaling(.join, _), .connecting(.join, _), .waiting(.join, _):
            return end(.joinFailure, because: error)
        case .connected:
            put(.tell(.reconnecting))
            shortConnections = now - connectedAt < Self.steadyTime ? shortConnections + 1 : 0
            // One that is lost again as soon as it is there was as good as not made.
            guard shortConnections < 2 else {
                attempt = shortConnections - 2
                return tryAgain(purpose, at: now)
            }
            attempt = 0
            begin(purpose, at: now)
        case .signaling, .connecting, .waiting:
            // The server has just answered: it is there, and what it wants can be done at once, but not for ever.
            tryAgain(purpose, at: now)
        }
    }

    private mutating func tryAgain(_ purpose: Purpose, at now: Instant) {
        attempt += 1
        guard attempt < Self.attempts else { return end(.signalClose) }
        var purpose = purpose
        if case .resume = purpose, attempt >= Self.resumeAttempts { purpose = .rejoin }
        // The server has given this session up: what its channels would take now does not arrive.
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
            // Messages wait for the channels of the new session; those that there are close.
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
        // The session is there and its media are not: another one may find a way.
        case .connecting(_, let until) where until <= now: tryAgain(.rejoin, at: now)
        case .waiting(let purpose, let until) where until <= now: begin(purpose, at: now)
        case .idle, .signaling, .connecting, .connected, .waiting, .disconnected: break
        }
    }

    /// What we have, for the server to go on from there.
    func syncState() -> LiveKitSyncState {
        .with { state in
            if !negotiation.lastAnswer.isEmpty {
                state.answer = .with {
                    $0.type = "answer"
                    $0.sdp = negotiation.lastAnswer
                }
            }
            if !negotiation.lastOffer.isEmpty {
                state.offer = .with {
                    $0.type = "offer"
                    $0.sdp = negotiation.lastOffer
                }
            }
            // Where everything comes unasked, what is not wanted; otherwise what is.
            state.subscription = .with {
                $0.subscribe = !options.autoSubscribe
                $0.trackSids =
                    subscribing.wanted.filter { $0.value != options.autoSubscribe }.map(\.key.rawValue).sorted()
            }
            state.trackSidsDisabled = subscribing.qualities.filter { $0.value == nil }.map(\.key.rawValue).sorted()
            state.publishTracks = publishing.tracks.compactMap { track in
                guard let cid = track.cid, let info = track.info else { return nil }
                return .with {
                    $0.cid = cid
                    $0.track = info
                }
            }
            state.publishDataTracks = publishedDataTracks
            if !dataSubscribing.wanted.isEmpty { state.dataSubscription = wantedDataTracks }
            state.dataChannels = data.openLabels.enumerated().map { place, label in
                .with {
                    $0.label = label.rawValue
                    $0.id = UInt32(place)
                    $0.target = .publisher
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
