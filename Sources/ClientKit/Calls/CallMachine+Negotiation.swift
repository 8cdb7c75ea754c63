/// Offer, answer and candidates.
extension CallMachine {
    mutating func makeOffer(restartingIce: Bool) {
        negotiation = .makingOffer
        localCandidates.removeAll()
        commands.append(.makeOffer(restartingIce: restartingIce))
    }

    mutating func offerMade(_ offer: SessionDescriptionPayload, at now: Duration) {
        // A polite side that met the partner's offer meanwhile has dropped its own.
        guard negotiation == .makingOffer else { return }
        negotiation = .offerSent(offer, since: now, repeatAt: now + policy.offerRepeat)
        answered = nil
        sendWithCandidates(.offer(offer))
    }

    mutating func answerMade(_ answer: SessionDescriptionPayload, at now: Duration) {
        guard case .makingAnswer(let offer) = negotiation else { return }
        answered = (offer, answer)
        sendWithCandidates(.answer(answer))
        agreed(because: "the partner's offer is answered", at: now)
    }

    mutating func answerReceived(_ answer: SessionDescriptionPayload) {
        // Only an open offer can be answered: an answer to a repeated offer, and a second callee's, come late.
        guard case .offerSent = negotiation else { return }
        negotiation = .applyingAnswer
        commands.append(.applyAnswer(answer))
    }

    mutating func answerApplied(at now: Duration) {
        guard negotiation == .applyingAnswer else { return }
        agreed(because: "the partner answered", at: now)
    }

    /// Both descriptions are in place.
    private mutating func agreed(because reason: String, at now: Duration) {
        releaseCandidates()
        switch state {
        case .offering, .answering:
            connectBy = now + policy.connectDeadline
            move(to: .connecting, because: reason)
        case .idle, .waitingForOffer, .connecting, .connected, .reconnectingMedia, .ended:
            break
        }
        negotiation = .stable
        becameStable(at: now)
    }

    /// The exchange is free for the next step.
    mutating func becameStable(at now: Duration) {
        if let offer = queuedOffer {
            queuedOffer = nil
            makeAnswer(to: offer)
        } else {
            restartIfWaiting(at: now)
        }
    }

    mutating func offerReceived(_ offer: SessionDescriptionPayload) {
        switch negotiation {
        case .opening:
            // Glare before our first offer: see `offerSent`.
            guard role == .callee else { return }
            queuedOffer = offer
            // From here on somebody waits for us: a call that ends now ends for them, too.
            offerCame()
        case .stable:
            if let answered, answered.offer == offer {
                // Our answer was lost on its way, or the partner joined late: it asks again.
                sendWithCandidates(.answer(answered.answer))
            } else {
                makeAnswer(to: offer)
            }
        case .makingOffer, .offerSent:
            // Glare (RFC 3264 §4). As in W3C's "perfect negotiation" (WebRTC 1.0 §10.7) one side is impolite, the
            // caller: its own offer stands. The callee rolls its own back, which `createAnswer` does by contract.
            if role == .callee { makeAnswer(to: offer) }
        case .applyingAnswer:
            queuedOffer = offer
        case .makingAnswer(let current):
            if offer != current { queuedOffer = offer }
        }
    }

    private mutating func makeAnswer(to offer: SessionDescriptionPayload) {
        negotiation = .makingAnswer(to: offer)
        localCandidates.removeAll()
        commands.append(.makeAnswer(to: offer))
        offerCame()
    }

    private mutating func offerCame() {
        if state == .waitingForOffer { move(to: .answering, because: "the partner's offer came") }
    }

    mutating func negotiationNeeded() {
        // The first offer is the call's own affair, and the engine asks again when an exchange is over.
        guard negotiation == .stable, hasConnected || state == .connecting else { return }
        makeOffer(restartingIce: false)
    }

    /// Without a description that works there is no call; with media flowing the old one stays in force.
    mutating func negotiationFailed(_ sentence: String, at now: Duration) {
        guard hasConnected else {
            end(.negotiationFailed(sentence), because: "no agreement")
            return
        }
        switch repair {
        case .notNeeded, .healing, .waiting:
            negotiation = .stable
            becameStable(at: now)
        case .restarting:
            end(.mediaLost, because: "the ICE restart was not agreed on")
        }
    }

    mutating func localCandidate(_ candidate: IceCandidatePayload) {
        localCandidates.append(candidate)
        switch negotiation {
        case .makingOffer, .makingAnswer, .opening:
            // Ours go out behind our description: partners written to the seed need it first.
            break
        case .stable, .offerSent, .applyingAnswer:
            send(.candidate(candidate))
        }
    }

    mutating func candidateReceived(_ candidate: IceCandidatePayload) {
        switch (remoteCandidates, negotiation) {
        case (.open, .stable), (.open, .offerSent), (.open, .makingOffer), (.open, .opening):
            commands.append(.addCandidate(candidate))
        case (.open, .applyingAnswer), (.open, .makingAnswer):
            // A description is being applied: the candidate may belong to it.
            remoteCandidates = .held([candidate])
        case (.held(var held), _):
            // The newest belong to the description that comes next.
            if held.count >= policy.heldCandidateLimit { held.removeFirst() }
            held.append(candidate)
            remoteCandidates = .held(held)
        }
    }

    private mutating func releaseCandidates() {
        switch remoteCandidates {
        case .held(let held): commands += held.map { .addCandidate($0) }
        case .open: break
        }
        remoteCandidates = .open
    }

    private mutating func sendWithCandidates(_ description: CallSignal) {
        send(description)
        for candidate in localCandidates { send(.candidate(candidate)) }
    }

    // MARK: The open offer

    /// When the open offer is sent again. The seed's server keeps nothing: whoever joins, or opens the call's screen,
    /// after our offer has missed it.
    var offerWake: Duration? {
        guard case .offerSent(_, let since, let repeatAt) = negotiation else { return nil }
        return repeatAt.map { min($0, since + policy.answerDeadline) }
    }

    mutating func offerTimePassed(at now: Duration) {
        guard state.endReason == nil, let wake = offerWake, now >= wake,
            case .offerSent(let offer, let since, _) = negotiation
        else { return }
        if now < since + policy.answerDeadline {
            repeatOffer(offer, since: since, at: now)
        } else if state == .offering {
            end(.noAnswer, because: "no answer in time")
        } else {
            // The partner does not renegotiate. What was agreed before stays in force.
            negotiation = .offerSent(offer, since: since, repeatAt: nil)
        }
    }

    private mutating func repeatOffer(_ offer: SessionDescriptionPayload, since: Duration, at now: Duration) {
        negotiation = .offerSent(offer, since: since, repeatAt: now + policy.offerRepeat)
        sendWithCandidates(.offer(offer))
    }

    // MARK: The signaling connection

    mutating func signalingLost() {
        if socket == .up { socket = .down }
    }

    /// Says again what the partner may have missed.
    mutating func signalingRestored(at now: Duration) {
        guard socket == .down else { return }
        socket = .up
        switch negotiation {
        case .offerSent(let offer, let since, _):
            repeatOffer(offer, since: since, at: now)
        case .stable:
            // A partner whose media flows has our answer.
            if state != .connected, let answered { sendWithCandidates(.answer(answered.answer)) }
        case .opening, .makingOffer, .applyingAnswer, .makingAnswer:
            break
        }
        restartIfWaiting(at: now)
    }

    mutating func signalingClosed(_ reason: String) {
        socket = .gone
        switch state {
        case .idle, .waitingForOffer, .offering, .answering:
            end(.signalingClosed(reason), because: "no signaling")
        case .reconnectingMedia:
            switch repair {
            case .waiting: end(.mediaLost, because: "no signaling to restart over")
            case .notNeeded, .healing, .restarting: break
            }
        case .connecting, .connected, .ended:
            // Media finds or keeps its way without the socket.
            break
        }
    }
}
