public import RTCWire

/// What an agent has counted since it was made.
public struct ICEStatistics: Hashable, Sendable {
    /// One pair, as W3C `RTCIceCandidatePairStats` describes it.
    public struct Pair: Hashable, Sendable {
        /// W3C `RTCStatsIceCandidatePairState`.
        public enum State: String, Hashable, Sendable {
            case frozen, waiting
            case inProgress = "in-progress"
            case failed, succeeded
        }

        /// Our socket's address, or the relayed one, and the peer's.
        public var route: ICERoute
        public var localCandidate: ICECandidate
        public var remoteCandidate: ICECandidate
        public var state: State
        public var isNominated: Bool
        public var priority: UInt64
        public var currentRoundTripTime: Interval?
    }

    /// Checks, without their repetitions; what STUN servers are asked is none.
    public var requestsSent = 0
    public var requestsReceived = 0
    public var responsesSent = 0
    /// The peer's authentic answers to checks, errors among them.
    public var responsesReceived = 0
    /// Consent checks among `requestsSent`.
    public var consentRequestsSent = 0
    /// Of the selected pair, from its last answered check.
    public var currentRoundTripTime: Interval?
    public var totalRoundTripTime = Interval.zero
    /// Candidates that could not be used: names, TCP, another component, impossible addresses, beyond the limit.
    public var remoteCandidatesIgnored = 0
    /// Datagrams that were malformed, unauthenticated, unexpected or for an unknown socket.
    public var datagramsIgnored = 0
    /// Pairs of the present generation, best first.
    public var pairs: [Pair] = []
    /// The pair in use, of the generation before, while a restart looks for another (RFC 8445 §9).
    public var pairBeforeRestart: Pair?
}
