/// One call's logic: facts go in with the time, commands come out. It does no I/O and reads no clock.
///
/// Time is a `Duration` since any moment that stays the same for the call. The owner executes the commands in order,
/// calls `tick(at:)` at `nextWake`, and reports back what the commands' descriptions name.
///
/// Three things move independently, each with its own enum: the call (`state`), the offer/answer exchange
/// (`negotiation`) and the signaling connection (`socket`); media that stopped has a fourth (`repair`).
public struct CallMachine: Sendable {
    /// The offer/answer exchange.
    enum Negotiation: Hashable {
        /// Camera, microphone and peer connection are not there yet.
        case opening
        case stable
        case makingOffer
        /// Ours is out since `since`, and is sent again at `repeatAt` (nil: no longer).
        case offerSent(SessionDescriptionPayload, since: Duration, repeatAt: Duration?)
        case applyingAnswer
        case makingAnswer(to: SessionDescriptionPayload)
    }

    /// The signaling connection, as last reported.
    enum Socket: Hashable {
        case up
        /// It repairs itself.
        case down
        case gone
    }

    /// What is done about media that stopped.
    enum Repair: Hashable {
        case notNeeded
        /// Disturbed; it may heal by itself.
        case healing(until: Duration)
        /// Failed; the callee waits for the caller's offer, the caller for a way to send one.
        case waiting(until: Duration)
        /// The caller's one ICE restart is under way.
        case restarting(until: Duration)
    }

    /// The partner's candidates.
    enum RemoteCandidates: Hashable {
        /// No description of theirs has been applied yet.
        case held([IceCandidatePayload])
        case open
    }

    /// Which side of the call this is.
    public let role: CallRole
    /// How long each step may take.
    public let policy: CallPolicy
    /// Where the call stands.
    public private(set) var state: CallState = .idle

    var negotiation: Negotiation = .opening
    var socket: Socket = .up
    var repair: Repair = .notNeeded
    var remoteCandidates: RemoteCandidates = .held([])
    /// Our candidates since our last description; they are sent again with it.
    var localCandidates: [IceCandidatePayload] = []
    /// The last exchange that we answered, for an offer that comes again because our answer was lost.
    var answered: (offer: SessionDescriptionPayload, answer: SessionDescriptionPayload)?
    /// An offer that came while another step of the exchange was under way. A newer one replaces it.
    var queuedOffer: SessionDescriptionPayload?
    /// When agreed descriptions must have led to flowing media.
    var connectBy: Duration?
    /// Whether media ever flowed.
    var hasConnected = false
    var commands: [CallCommand] = []

    public init(role: CallRole, policy: CallPolicy = CallPolicy()) {
        self.role = role
        self.policy = policy
    }

    /// Takes one fact and returns what is to be done about it.
    public mutating func receive(_ fact: CallFact, at now: Duration) -> [CallCommand] {
        // Nothing follows the end: late results and late messages are expected then.
        if state.endReason != nil { return [] }
        switch fact {
        case .started: started()
        case .mediaOpened: mediaOpened(at: now)
        case .mediaUnavailable(let sentence): end(.mediaUnavailable(sentence), because: "no media")
        case .offerMade(let offer): offerMade(offer, at: now)
        case .answerMade(let answer): answerMade(answer, at: now)
        case .answerApplied: answerApplied(at: now)
        case .negotiationFailed(let sentence): negotiationFailed(sentence, at: now)
        case .localCandidate(let candidate): localCandidate(candidate)
        case .mediaConnection(let connection): mediaConnection(connection, at: now)
        case .negotiationNeeded: negotiationNeeded()
        case .offerReceived(let offer): offerReceived(offer)
        case .answerReceived(let answer): answerReceived(answer)
        case .candidateReceived(let candidate): candidateReceived(candidate)
        case .peerLeft: end(.peerLeft, because: "the partner left the room")
        case .signalingLost: signalingLost()
        case .signalingRestored: signalingRestored(at: now)
        case .signalingClosed(let reason): signalingClosed(reason)
        case .hungUp: end(.hungUp, because: "the user ended the call")
        }
        return drain()
    }

    /// Lets time pass; to be called at `nextWake` or later.
    public mutating func tick(at now: Duration) -> [CallCommand] {
        if state.endReason != nil { return [] }
        repairTimePassed(at: now)
        connectTimePassed(at: now)
        offerTimePassed(at: now)
        return drain()
    }

    /// When `tick(at:)` has something to do; nil: only a fact can move the call.
    public var nextWake: Duration? {
        if state.endReason != nil { return nil }
        return [offerWake, connectBy, repairWake].compactMap(\.self).min()
    }

    /// The one door between states.
    mutating func move(to next: CallState, because reason: String) {
        guard next != state, state.endReason == nil else { return }
        state = next
        commands.append(.announce(next, because: reason))
    }

    /// The one way out: media is closed whatever was going on.
    mutating func end(_ reason: CallEndReason, because text: String) {
        guard state.endReason == nil else { return }
        commands.append(.closeMedia)
        move(to: .ended(reason), because: text)
    }

    /// What cannot be sent now is not kept: `signalingRestored` sends what then is still true.
    mutating func send(_ signal: CallSignal) {
        switch socket {
        case .up: commands.append(.send(signal))
        case .down, .gone: break
        }
    }

    private mutating func started() {
        guard state == .idle else { return }
        commands.append(.openMedia)
        switch role {
        case .caller: move(to: .offering, because: "the user started the call")
        case .callee: move(to: .waitingForOffer, because: "the user is ready for the call")
        }
    }

    private mutating func mediaOpened(at now: Duration) {
        guard negotiation == .opening else { return }
        negotiation = .stable
        switch role {
        case .caller: makeOffer(restartingIce: false)
        case .callee: becameStable(at: now)
        }
    }

    private mutating func drain() -> [CallCommand] {
        let drained = commands
        commands.removeAll()
        // A call that ended in this turn has nothing more to say.
        guard let last = drained.firstIndex(of: .closeMedia) else { return drained }
        return Array(drained[last...])
    }
}
