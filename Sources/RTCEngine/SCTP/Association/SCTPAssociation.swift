internal import RTCWire

/// One SCTP association (RFC 9260) as WebRTC data channels use it (RFC 8831): facts come in, what to do comes out, and
/// time is an argument. After each call, `pollOutput` until it gives nil, then ask `nextWake`.
public struct SCTPAssociation: Sendable {
    let configuration: SCTPConfiguration
    var random: EngineRandom
    /// RFC 9260 §4. Changes only through `move`.
    public private(set) var state = SCTPAssociationState.new
    var now = Instant.zero
    var outputs = FIFO<SCTPOutput>()
    var counters = SCTPStatistics()
    /// Chunks that go into the next packet, before DATA.
    var control = SlidingArray<[UInt8]>()
    /// §5.1 D: COOKIE ACK goes into the next packet, before all else.
    var cookieAcknowledgmentIsDue = false

    var handshake: SCTPHandshake
    /// §5.1.3: what state cookies are authenticated with.
    let cookieKey: HMACSHA1
    /// Set when the association is established.
    var peer: SCTPPeer?

    // What we send.
    var queue = SCTPSendQueue()
    var flight: SCTPFlight
    var roundTrip: SCTPRoundTrip
    var congestion: SCTPCongestion
    /// What the last SACK said the peer can take, that which was in flight included.
    var advertisedWindow = 0
    /// How much may leave before the next SACK comes (§6.1 D).
    var burst = 0
    var outgoingResets: SCTPOutgoingResets
    /// RFC 3758 §3.5: the TSN up to which the peer was last told to go on, and when.
    var forwardedTSN: UInt32?
    var forwardedAt = Instant.zero
    var forwardIsDue = false
    /// §7.2.4: a packet of retransmissions that the congestion window does not hold back.
    var owesFastRetransmission = false

    // What we receive.
    var received = SCTPReceivedTSNs(initialTSN: 0)
    var reassembly: SCTPReassembly
    var acknowledgments: SCTPAcknowledgmentSchedule
    /// Bytes of delivered messages that the application has not taken.
    var unread = 0
    /// The window that the peer knows of by our last SACK; before, it is that of our INIT.
    var toldReceiveWindow = Int.max
    var incomingResets = SCTPIncomingResets(initialTSN: 0)

    var timers = SCTPTimers()
    /// §9.2: a SHUTDOWN goes into the next packet.
    var shutdownIsDue = false
    /// When a packet that came after the end was answered last.
    var answeredAt: Instant?

    public init(configuration: SCTPConfiguration, random: EngineRandom) {
        let configuration = configuration.withinReason
        var random = random
        self.configuration = configuration
        handshake = SCTPHandshake(random: &random, interval: configuration.initialRTO)
        cookieKey = HMACSHA1(key: random.bytes(32))
        flight = SCTPFlight(initialTSN: handshake.localInitialTSN)
        roundTrip = SCTPRoundTrip(configuration: configuration)
        congestion = SCTPCongestion(configuration: configuration)
        outgoingResets = SCTPOutgoingResets(initialTSN: handshake.localInitialTSN)
        reassembly = SCTPReassembly(maximumMessageSize: configuration.localMaximumMessageSize)
        acknowledgments = SCTPAcknowledgmentSchedule(delay: configuration.acknowledgmentDelay)
        self.random = random
    }

    /// The one door for changes of state.
    mutating func move(to next: SCTPAssociationState) {
        guard !state.isClosed, state != next else { return }
        // What came in the same packet as the end came before it.
        if next.isClosed { tellDelivered() }
        state = next
        guard case .closed(let reason) = next else { return }
        timers = SCTPTimers()
        handshake.deadline = nil
        outputs.append(.closed(reason))
        release()
    }

    /// What is not needed any more when the association is over.
    private mutating func release() {
        control.removeAll()
        cookieAcknowledgmentIsDue = false
        queue = SCTPSendQueue()
        flight = SCTPFlight(initialTSN: flight.nextTSN)
        reassembly = SCTPReassembly(maximumMessageSize: configuration.localMaximumMessageSize)
        outgoingResets = SCTPOutgoingResets(initialTSN: 0)
        forwardIsDue = false
        shutdownIsDue = false
    }

    /// Bytes that an application has sent and that were not yet handed to the network: W3C's `bufferedAmount`.
    public func bufferedAmount(of stream: UInt16) -> Int { queue.bufferedAmount(of: stream) }

    /// What counts towards `SCTPConfiguration.sendBuffer`: what is queued, and what is not acknowledged.
    var bytesKept: Int { queue.cost + flight.bytesKept }

    /// The next thing to do, oldest first; nil when there is none. Packets are made here, so that all that happened
    /// between two rounds of polling shares them.
    public mutating func pollOutput() -> SCTPOutput? {
        if let output = outputs.popFirst() { return output }
        if let packet = makePacket() { return .send(packet) }
        if let stream = queue.nextDecreased() { return .bufferedAmountDecreased(stream) }
        return outputs.popFirst()
    }

    public var statistics: SCTPStatistics {
        var result = counters
        result.smoothedRoundTripTime = roundTrip.smoothed
        result.congestionWindow = congestion.window
        result.remoteReceiveWindow = advertisedWindow
        result.maximumPacketSize = configuration.maximumPacketSize
        result.unacknowledgedChunks = flight.chunks.count
        result.bytesInFlight = flight.bytesInFlight
        return result
    }
}
