public import RTCWire

/// What an ICE agent may be told before it begins. The defaults suit a call between people; simulations shorten them.
public struct ICEConfiguration: Sendable, Hashable {
    /// Be a lite agent (RFC 8445 §2.5): for servers that everybody can reach. It has host candidates only, answers
    /// checks and makes none, and leaves the choice of the pair to its peer, which must not be lite.
    public var isLite = false
    /// As a lite agent: answer a check that nominates nothing, before a pair is selected, with a check the same way.
    /// RFC 8445 §2.5 has none, and nothing comes of its answer. Full agents on Pion nominate a pair that works when it
    /// is checked from the other side, and otherwise in the next of their rounds, 200 ms later.
    public var checksBack = false
    /// How often at most, until an ICE restart.
    public var maximumChecksBack = 50
    /// STUN servers that are asked for server-reflexive candidates, from every base of the same family.
    public var stunServers: [TransportAddress] = []
    /// Whether our own addresses may be told and used. TURN servers are known to `PeerMachine`.
    public var transportPolicy = ICETransportPolicy.all
    /// Times and limits of relays.
    public var turn = TURNConfiguration()
    /// Ta: the time between two new transactions (RFC 8445 §14.2; not below 5 ms).
    public var checkInterval = Interval.milliseconds(20)
    /// The least RTO (RFC 8445 §14.3 says 500 ms; a shorter one halves the set-up time on lossy paths and the
    /// load stays bounded by the doubling).
    public var minimumRTO = Interval.milliseconds(250)
    /// Retransmission intervals double up to this one. RFC 8489 lets them grow to half a minute, by when the people
    /// have hung up.
    public var maximumRTO = Interval.milliseconds(2_000)
    /// Rc: how often a request is sent in all (RFC 8489 §6.2.1 recommends 7, without a longest interval).
    public var maximumSends = 9
    /// How long the controlling agent waits for a better pair once a pair works.
    public var nominationDelay = Interval.milliseconds(100)
    /// Without a working pair for this long since the last pair was formed, the agent fails.
    public var checksTimeout = Interval.milliseconds(30_000)
    /// RFC 8863: even when every pair has failed and no candidate can follow, the peer's checks are awaited
    /// this long.
    public var patience = Interval.milliseconds(15_000)
    /// A STUN server that is silent for this long no longer holds up the end of gathering.
    public var gatheringTimeout = Interval.milliseconds(5_000)
    /// RFC 7675 §5.1: the mean time between consent checks; each is 0.8 to 1.2 times this.
    public var consentInterval = Interval.milliseconds(5_000)
    /// RFC 7675 §5.1: without a response for this long nothing may be sent any more.
    public var consentTimeout = Interval.milliseconds(30_000)
    /// How long a consent check stays unanswered until the agent calls itself disconnected.
    public var disconnectedTimeout = Interval.milliseconds(5_000)
    /// Tr: how often a server-reflexive binding is kept open while no pair is selected (RFC 8445 §11).
    public var keepaliveInterval = Interval.milliseconds(15_000)
    /// Remote candidates kept, peer-reflexive ones among them.
    public var maximumRemoteCandidates = 100
    /// Remote candidates kept whose names (`….local`) are being looked up.
    public var maximumNames = 16
    /// RFC 8445 §6.1.2.5.
    public var maximumPairs = 100
    /// Checks remembered that came before the peer's description.
    public var maximumEarlyChecks = 50

    public init() {}

    /// With values that would make an agent spin or flood raised to the least that makes sense.
    var withinReason: ICEConfiguration {
        var result = self
        // RFC 8445 §14.2: Ta is never below 5 ms.
        result.checkInterval = max(checkInterval, .milliseconds(5))
        result.minimumRTO = max(minimumRTO, .milliseconds(10))
        result.maximumRTO = max(maximumRTO, result.minimumRTO)
        result.maximumSends = min(max(maximumSends, 1), 1_000)
        // Longer than a call, and short enough to be multiplied.
        result.consentInterval = min(max(consentInterval, .milliseconds(100)), .seconds(Int64(30 * 86_400)))
        result.keepaliveInterval = max(keepaliveInterval, .milliseconds(100))
        result.maximumRemoteCandidates = min(max(maximumRemoteCandidates, 1), 100_000)
        return result
    }
}
