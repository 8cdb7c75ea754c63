import RTCEngine
import RTCWire

/// How the signaling channel and the applications at its ends behave.
struct VirtualSignaling {
    /// What an application does with a candidate that comes before the description it belongs to.
    enum EarlyCandidates {
        /// Keeps it until then, also one of a generation of ICE that no description has told yet.
        case wait
        /// Hands it over and ignores the refusal.
        case pass
    }

    var delay = Interval.milliseconds(50)
    /// A side's candidates may have a way of their own, and overtake descriptions.
    var candidateDelays: [CallSimulation.Side: Interval] = [:]
    var earlyCandidates = EarlyCandidates.wait
    /// Who tells candidates at all; of the others, those in descriptions and their checks must do.
    var trickling: Set<CallSimulation.Side> = [.left, .right]
    /// Who sends a description only when its candidates stand in it.
    var gatheringFirst: Set<CallSimulation.Side> = []
    /// An application offers whenever its connection says that negotiation is needed.
    var offersWhenNeeded = false
    /// How long the called application thinks before it answers.
    var answerDelay = Interval.zero
    /// What becomes of a description's text on its way.
    var rewrites: @Sendable (SDPType, String) -> String = { $1 }
    /// Which side gives way when both offer.
    var politeSide = CallSimulation.Side.right
}

/// A candidate as signaling carries it; without an attribute it is the end of candidates.
struct CandidateMessage: Equatable {
    var attribute = ""
    var mid: String?
    var mLineIndex: Int?
    var fragment: String?
}

enum SignalMessage {
    /// With the number of the offer, which its answer repeats.
    case description(SDPType, String, offer: Int)
    case candidate(CandidateMessage)
}

extension CallSimulation {
    // MARK: Offers and answers

    /// Makes an offer and sends it.
    mutating func offer(_ side: Side, iceRestart: Bool = false) {
        let text = attempt(side) { machine, now in
            let offer = try machine.createOffer(iceRestart: iceRestart)
            try machine.setLocalDescription(.offer, offer, at: now)
            return offer.text
        }
        guard let text else { return }
        peers[side.rawValue].offer += 1
        send(.offer, text, offer: self[side].offer, from: side)
    }

    /// Sends the description that has just been set, and looks for candidates.
    private mutating func send(_ type: SDPType, _ text: String, offer number: Int, from side: Side) {
        if signaling.gatheringFirst.contains(side) { gather(side) }
        let text = self[side].machine.localDescription?.sdp.text ?? text
        signal(.description(type, signaling.rewrites(type, text), offer: number), from: side)
        gather(side)
    }

    mutating func negotiationNeeded(_ side: Side) {
        guard signaling.offersWhenNeeded else { return }
        // As an event loop would: after what is being done now.
        after(.zero) { call in
            guard call[side].machine.signalingState == .stable, call[side].machine.needsNegotiation
            else { return }
            call.offer(side)
        }
    }

    /// Changes what one side wants to send and receive.
    mutating func setDirection(_ direction: TransceiverDirection, of id: TransceiverID, _ side: Side) {
        attempt(side) { machine, now in try machine.setDirection(direction, of: id, at: now) }
    }

    mutating func receive(_ message: SignalMessage, at side: Side) {
        switch message {
        case .description(.offer, let text, let number): receiveOffer(text, number, at: side)
        case .description(let type, let text, let number):
            guard number == self[side].offer, type != .rollback else { return }
            note("\(side) gets \(type.rawValue)")
            attempt(side) { machine, now in
                try machine.setRemoteDescription(type, try SessionDescription(parsing: text), at: now)
            }
            releaseCandidates(side)
        case .candidate(let candidate):
            switch signaling.earlyCandidates {
            case .wait where self[side].machine.remoteDescription == nil:
                peers[side.rawValue].waitingCandidates.append(candidate)
            case .wait, .pass: add(candidate, at: side)
            }
        }
    }

    private mutating func receiveOffer(_ text: String, _ number: Int, at side: Side) {
        note("\(side) gets offer")
        if self[side].machine.signalingState == .haveLocalOffer {
            // Both have offered (W3C: perfect negotiation).
            guard side == signaling.politeSide else { return }
            attempt(side) { machine, now in try machine.setLocalDescription(.rollback, nil, at: now) }
        }
        for kind in self[side].bringsAlong { addTrack(kind, to: side) }
        peers[side.rawValue].bringsAlong = []
        attempt(side) { machine, now in
            try machine.setRemoteDescription(.offer, try SessionDescription(parsing: text), at: now)
        }
        releaseCandidates(side)
        guard signaling.answerDelay > .zero else { return answer(side, offer: number) }
        after(signaling.answerDelay) { $0.answer(side, offer: number) }
    }

    mutating func answer(_ side: Side, offer number: Int) {
        let text = attempt(side) { machine, now in
            let answer = try machine.createAnswer()
            try machine.setLocalDescription(.answer, answer, at: now)
            return answer.text
        }
        guard let text else { return }
        send(.answer, text, offer: number, from: side)
    }

    // MARK: Candidates

    private mutating func gather(_ side: Side) {
        guard !self[side].hasGathered else { return }
        peers[side.rawValue].hasGathered = true
        let bases = self[side].bases
        let turn = self[side].turn
        tell(side) { machine, now in
            for base in bases { machine.addLocalHost(base, at: now) }
            machine.setServers(stun: [], turn: turn, at: now)
            machine.localHostsComplete(at: now)
        }
    }

    private mutating func releaseCandidates(_ side: Side) {
        let waiting = self[side].waitingCandidates
        peers[side.rawValue].waitingCandidates = []
        for candidate in waiting { add(candidate, at: side) }
    }

    private mutating func add(_ candidate: CandidateMessage, at side: Side) {
        let added: Void? = attempt(side) { machine, now in
            try machine.addICECandidate(
                candidate.attribute, mid: candidate.mid, mLineIndex: candidate.mLineIndex,
                usernameFragment: candidate.fragment, at: now)
        }
        switch signaling.earlyCandidates {
        case .wait where added == nil: peers[side.rawValue].waitingCandidates.append(candidate)
        case .wait, .pass: return
        }
    }

    // MARK: The channel

    mutating func signal(_ message: SignalMessage, from side: Side) {
        switch message {
        case .description: signals.schedule((side.other, message), at: now + signaling.delay)
        case .candidate:
            guard signaling.trickling.contains(side) else { return }
            // As with an event loop: what setting a description brings about is told after it has been sent.
            let delay = signaling.candidateDelays[side] ?? signaling.delay + .microseconds(1)
            signals.schedule((side.other, message), at: now + delay)
        }
    }

    /// Does what may be refused; a refusal is kept, as an application would log it.
    @discardableResult
    mutating func attempt<Value>(_ side: Side, _ body: (inout PeerMachine, Instant) throws -> Value) -> Value? {
        do {
            return try tell(side, body)
        } catch {
            note("\(side) is refused: \(error)")
            peers[side.rawValue].refusals.append("\(error)")
            return nil
        }
    }
}
