internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Where the exchange of descriptions stands on both peer connections.
struct Negotiation {
    enum Offering: Equatable {
        case idle
        /// The peer connection is making an offer, or the offer was sent and the server has not answered.
        case offering(id: UInt32, until: Instant)
        /// The peer connection was given the answer, and has not said that it has taken it.
        case answered
    }

    var offering = Offering.idle
    /// Another offer has to follow, for something has changed since the last one.
    var isNeededAgain = false
    var wantsICERestart = false
    var lastOfferID: UInt32 = 0
    var hasOffered = false
    /// The server's last offer, and the last answer of ours, for `syncState`.
    var lastServerOffer = ""
    var lastAnswer = ""
    var states: [SignalTarget: PeerConnectionState] = [:]
    /// Set when the server has closed a peer connection: until then its `leave` is waited for, which says why.
    var goodbyeUntil: Instant?
    /// Our candidates, until our first description on that connection was sent. Nil for a connection on which it was.
    var heldCandidates: [SignalTarget: [LiveKitTrickleRequest]] = [.publisher: [], .subscriber: []]

    var deadline: Instant? {
        if case .offering(_, let until) = offering { until } else { nil }
    }
}

extension RoomClientMachine {
    /// Which connection tells whether we are in the room.
    var primary: SignalTarget { session.isSubscriberPrimary ? .subscriber : .publisher }

    var mediaIsUp: Bool {
        negotiation.states[primary] == .connected
            && (!negotiation.hasOffered || negotiation.states[.publisher] == .connected)
    }

    /// Has an offer made for the publishing connection: now, or after the exchange that is going on.
    mutating func negotiatePublisher(iceRestart: Bool = false, at now: Instant) {
        negotiation.wantsICERestart = negotiation.wantsICERestart || iceRestart
        // The answer to an offer that went over the lost signaling connection will not come.
        if iceRestart { negotiation.offering = .idle }
        guard isSignalOpen, negotiation.offering == .idle else {
            negotiation.isNeededAgain = true
            return
        }
        negotiation.isNeededAgain = false
        negotiation.hasOffered = true
        negotiation.lastOfferID += 1
        negotiation.offering = .offering(id: negotiation.lastOfferID, until: now + Self.answerTimeout)
        put(.media(.makeOffer(id: negotiation.lastOfferID, iceRestart: negotiation.wantsICERestart)))
        negotiation.wantsICERestart = false
    }

    mutating func answerReceived(_ answer: LiveKitSessionDescription) {
        // Older servers do not number answers, and say 0.
        guard case .offering(let id, _) = negotiation.offering, answer.id == 0 || answer.id == id else { return }
        negotiation.offering = .answered
        put(.media(.takeAnswer(sdp: answer.sdp)))
    }

    /// A server that sends us away closes the media and sends `leave`, in either order. What is to be done next is in
    /// `leave`, so this long is waited for it.
    private static let goodbyePatience = Interval.seconds(Int64(2))

    mutating func negotiationTimePassed(at now: Instant) {
        if let until = negotiation.goodbyeUntil, until <= now {
            negotiation.goodbyeUntil = nil
            // No `leave` came. The session's media are closed and cannot be resumed, so a new session is needed.
            lose(.rejoin, because: .media("the server has ended it"), at: now)
        }
        guard let deadline = negotiation.deadline, deadline <= now, isSignalOpen else { return }
        // A server that does not answer an offer in time does not know this session any more.
        negotiation.offering = .idle
        lose(.rejoin, because: .timedOut, at: now)
    }

    /// A peer connection has done something.
    mutating func mediaChanged(_ fact: MediaFact, at now: Instant) {
        switch phase {
        case .idle, .disconnected: return
        case .signaling, .connecting, .connected, .waiting: break
        }
        switch fact {
        case .stateChanged(let target, let state):
            negotiation.states[target] = state
            switch state {
            case .connected: considerConnected(at: now)
            case .failed: mediaLost(target, at: now)
            case .closed: negotiation.goodbyeUntil = now + Self.goodbyePatience
            // In `disconnected` ICE looks for another path by itself; `failed` follows if there is none.
            case .new, .connecting, .disconnected: break
            }
        case .candidate(let target, let json, let isLast): candidateGathered(target, json, isLast: isLast)
        case .offerMade(let id, let sdp): offerMade(id, sdp)
        case .answerTaken:
            guard negotiation.offering == .answered else { return }
            negotiation.offering = .idle
            if negotiation.isNeededAgain { negotiatePublisher(at: now) }
        case .answerMade(let id, let sdp):
            negotiation.lastAnswer = sdp
            sayNow(
                .answer(
                    .with {
                        $0.type = "answer"
                        $0.sdp = sdp
                        $0.id = id
                    }))
            sendHeldCandidates(.subscriber)
        case .receiving(let streams): streamsChanged(streams)
        case .trackAdded(let track, let cid): trackAdded(track, cid: cid, at: now)
        case .trackRefused(let track, let why): trackRefused(track, why)
        case .channelOpen(let label, let id): channelOpened(label, id: id)
        case .channelReceived(let label, let id): channelReceived(label, id: id)
        case .message(let label, let bytes): messageReceived(bytes, label, at: now)
        case .failed: lose(.rejoin, because: .media("a description was not taken"), at: now)
        }
    }

    private mutating func offerMade(_ id: UInt32, _ sdp: String) {
        guard case .offering(id, _) = negotiation.offering else { return }
        sayNow(
            .offer(
                .with {
                    $0.type = "offer"
                    $0.sdp = sdp
                    $0.id = id
                }))
        sendHeldCandidates(.publisher)
    }

    private mutating func candidateGathered(_ target: SignalTarget, _ json: String, isLast: Bool) {
        let trickle = LiveKitTrickleRequest.with {
            $0.candidateInit = json
            $0.target = target.message
            $0.final = isLast
        }
        if negotiation.heldCandidates[target] != nil {
            negotiation.heldCandidates[target]?.append(trickle)
        } else {
            sayNow(.trickle(trickle))
        }
    }

    private mutating func sendHeldCandidates(_ target: SignalTarget) {
        for trickle in negotiation.heldCandidates.removeValue(forKey: target) ?? [] { sayNow(.trickle(trickle)) }
    }
}
