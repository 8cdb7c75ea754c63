internal import RTCWire

/// A peer connection as a machine: ICE, DTLS, SRTP, negotiation and media streams joined, without sockets or clock.
///
/// Facts and commands go in, each with the time. Afterwards the owner drains `pollTransmit` and `pollEvent` and calls
/// `tick` when `nextWake` has come. Once closed, every command throws `.closed` and nothing comes out any more.
///
/// There is one of it: a copy would count a reference for each of its hundred buffers, and would be a second connection
/// with the same keys.
///
/// Where to look: what a description changes is in `+Descriptions`, how bytes travel in `+Transport`, what they carry
/// in `+Media`, which streams there are in `+Streams`, how fast they leave in `+Congestion`.
public struct PeerMachine: ~Copyable {
    // What a packet touches on its way out stands first, in these types too: a server has thousands of connections, and
    // when one's next packet comes, each line of its memory is waited for (Benchmarks/sfu/README.md).
    var senders = TransceiverMap<Sender>()
    var packets = PacketQueue()
    var transmits = FIFO<Transmit>()
    var sentPackets = SentPackets()
    /// Where the packet lies that was forwarded last.
    var outboxPlace = DatagramOutbox.Place()
    /// Sequence number of the next packet for transport-wide feedback.
    var transportSequence: UInt16 = 0
    let clock: WallClock
    var secure = SecureTransport()
    var feedbackTracker = TransportFeedbackTracker()
    var counters = TransportCounters()
    var paths = PathCounters()
    var congestion: CongestionControl
    // `relays` ends, and `ice` begins, with the fields that a forwarded packet reads: they share cache lines.
    var relays: TURNRelays
    var ice: ICEAgent

    let configuration: PeerMachineConfiguration
    let security: any SecurityProvider
    var random: EngineRandom

    var negotiator: Negotiator

    var receivers = TransceiverMap<Receiver>()
    /// The layers of those senders and receivers that have some; then they are in the place of the one stream.
    var layerSenders = TransceiverMap<[Sender]>()
    var simulcasts = TransceiverMap<SimulcastReceiver>()
    /// What was counted of sources whose streams have gone.
    var formerReceptions = TransceiverMap<[CountedReception]>()
    var demultiplexer = RTPDemultiplexer()
    /// The media packet of the datagram that came last, where packets are passed on.
    var received: (TransceiverID, layer: Int, PassedPacket)?
    /// The one before it, where that is believed only now.
    var confirmed: (TransceiverID, layer: Int, ConfirmedPacket)?
    var feedbackGenerator: TransportFeedbackGenerator?
    /// What senders want of the bitrate, where the application has said it.
    var bitrateLimits = TransceiverMap<SenderBitrateLimits>()
    /// What encoders were told last.
    var targetBitrate: TargetBitrate?
    var reports: ReportSchedule

    /// Data channels and the association under them.
    var data: DataChannels
    /// More datagrams follow: what the association makes of them waits.
    var isInBatch = false
    /// The datagram that came last had data that only the peer can have protected.
    var dataIsAuthentic = false
    /// Of the batch that came last: whether its pictures end with one of which there is more to come; nil where it had
    /// none.
    public internal(set) var isAmidPicture: Bool?

    /// Feedback may go without a report, as far as the last descriptions say (RFC 5506).
    var allowsReducedSizeRTCP = false
    /// The identifiers of header extensions, which are the same in all bundled sections (RFC 9143 §12).
    var extensionIDs = HeaderExtensionIDs()

    var relayCommands = FIFO<RelayCommand>()
    var relayGathering = RelayGathering.open
    /// Our first description was rolled back, and no other one has taken its place yet.
    var wasTakenBack = false
    /// Names of servers are being looked up.
    var awaitsServers = false

    /// The way that the bandwidth is estimated of.
    var measuredWay: MeasuredWay?

    var events = FIFO<PeerEvent>()
    var negotiationNotice = NegotiationNotice.settled

    public private(set) var connectionState = PeerConnectionState.new

    /// - Parameters:
    ///   - security: our certificate, and what makes DTLS associations and SRTP contexts.
    ///   - random: the system's, or a seed in a simulation.
    public init(configuration: PeerMachineConfiguration, security: any SecurityProvider, random: EngineRandom) {
        self.configuration = configuration
        self.security = security
        self.random = random
        self.ice = ICEAgent(configuration: configuration.ice, role: .controlling, random: self.random.split())
        var negotiation = configuration.negotiation
        // One setting for both: the description tells what the agent does.
        negotiation.isICELite = configuration.ice.isLite
        self.negotiator = Negotiator(configuration: negotiation, random: self.random.split())
        self.clock = WallClock(offset: configuration.wallClockOffset)
        self.reports = ReportSchedule(random: self.random.split())
        self.congestion = CongestionControl(configuration.congestion)
        self.transportSequence = UInt16(truncatingIfNeeded: self.random.next())
        self.data = DataChannels(configuration: configuration.negotiation.dataChannels, random: self.random.split())
        self.relays = TURNRelays(configuration.ice.turn.withinReason, random: self.random.split())
    }

    public var iceConnectionState: ICEConnectionState { ice.connectionState }
    public var iceGatheringState: ICEGatheringState { ice.gatheringState }
    public var signalingState: SignalingState { negotiator.signalingState }
    /// The pair of addresses that packets take now; nil before ICE has found one.
    public var selectedPair: ICESelectedPair? { ice.selectedPair }

    /// When the peer was last heard over the selected pair, by anything authentic of ICE or of media; nil without one.
    public var heardAt: Instant? { ice.heardAt }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending. Owners ask after all that they do, so it is
    /// `mutating`: streams are looked at where they lie, and not copied.
    public var nextWake: Instant? {
        mutating get {
            guard connectionState != .closed else { return nil }
            var wake = ice.nextWake
            func consider(_ other: Instant?) {
                guard let other else { return }
                wake = wake.map { min($0, other) } ?? other
            }
            if pathAnswers { consider(secure.nextWake) }
            if ice.hasConsent { consider(data.nextWake) }
            consider(relays.nextWake)
            consider(relayGatheringDeadline)
            guard secure.isProtected else { return wake }
            consider(reports.nextWake)
            consider(feedbackGenerator.inPlace { $0.nextWake })
            consider(congestion.nextWake)
            for index in receivers.entries.indices {
                consider(receivers.entries[index].value.inPlace { $0.stream.inPlace { $0.nextWake } })
            }
            for index in senders.entries.indices {
                consider(senders.entries[index].value.inPlace { $0.stream.nextWake })
            }
            for index in layerSenders.entries.indices {
                for place in layerSenders.entries[index].value?.indices ?? 0..<0 {
                    consider(layerSenders.entries[index].value.inPlace { $0[place].stream.nextWake })
                }
            }
            for index in simulcasts.entries.indices {
                consider(simulcasts.entries[index].value.inPlace { $0.nextWake })
            }
            return wake
        }
    }

    /// Does what has fallen due. Harmless when nothing has.
    public mutating func tick(at now: Instant) {
        guard connectionState != .closed else { return }
        // Before ICE, which may find the path now: the handshake is told of that first.
        if pathAnswers { secure.tick(at: now) }
        relays.tick(at: now)
        ice.tick(at: now)
        // Without consent nothing leaves, so that a missing answer says nothing about the peer: whether it is there,
        // ICE finds out (RFC 7675). What is due then is done when there is a path again.
        if ice.hasConsent { data.tick(at: now) }
        drainTransport(at: now)
        if secure.isProtected { tickMedia(at: now) }
    }

    /// There is a path, and the peer is heard over it: what a handshake waits for may come.
    private var pathAnswers: Bool {
        switch ice.connectionState {
        case .connected, .completed: ice.hasConsent
        case .new, .checking, .disconnected, .failed, .closed: false
        }
    }

    // MARK: Outputs

    /// The next datagram to send; nil when there is none. Give it back with `recycle`.
    public mutating func pollTransmit() -> Transmit? { transmits.popFirst() }

    /// How many datagrams there have been to send.
    public var datagramsSent: UInt64 { counters.packetsSent }

    /// Returns a sent datagram's storage for the next one.
    public mutating func recycle(_ transmit: consuming Transmit) { packets.recycle(transmit.bytes) }

    /// The next event; nil when there is none.
    public mutating func pollEvent() -> PeerEvent? {
        if let event = events.popFirst() { return event }
        // W3C WebRTC §4.7.3: said once, when all else has settled, and again only after it was satisfied. Finding out
        // reads the descriptions, so it is only done after one of the application's calls.
        guard connectionState != .closed, case .unknown(let wasTold) = negotiationNotice else { return nil }
        guard negotiator.negotiationNeeded else {
            negotiationNotice = .settled
            return nil
        }
        negotiationNotice = .told
        return wasTold ? nil : .negotiationNeeded
    }

    // MARK: Closing

    /// Says goodbye (RTCP BYE, DTLS close_notify) and ends everything. Safe in every state, and repeatable.
    public mutating func close(at now: Instant) {
        close(at: now, because: "closed by this side")
    }

    mutating func close(at now: Instant, because reason: String) {
        guard connectionState != .closed else { return }
        isInBatch = false
        if secure.isProtected { sayGoodbye(senders.values.map(\.stream.ssrc) + flowingLayers.map(\.ssrc), at: now) }
        data.close(at: now)
        drainData(at: now)
        secure.close(at: now)
        drainSecure(at: now)
        relays.close(at: now)
        _ = drainRelays(at: now)
        ice.close()
        _ = negotiator.close()
        dropPaced(from: nil)
        senders.removeAll()
        receivers.removeAll()
        layerSenders.removeAll()
        simulcasts.removeAll()
        formerReceptions.removeAll()
        feedbackGenerator = nil
        feedbackTracker.end()
        sentPackets = SentPackets()
        packets = PacketQueue()
        demultiplexer = RTPDemultiplexer()
        move(to: .closed, because: reason)
    }

    /// The one door to the connection's state.
    mutating func move(to state: PeerConnectionState, because reason: String) {
        guard state != connectionState, connectionState != .closed else { return }
        connectionState = state
        events.append(.connectionStateChanged(state, because: reason))
    }
}

/// Whether the application has been told that negotiation is needed.
enum NegotiationNotice {
    /// It is not needed.
    case settled
    /// Something has changed since the last look.
    case unknown(wasTold: Bool)
    /// It is needed, and no negotiation has come of it yet.
    case told

    /// Something that negotiation is about has changed.
    mutating func changed() {
        switch self {
        case .settled: self = .unknown(wasTold: false)
        case .told: self = .unknown(wasTold: true)
        case .unknown: return
        }
    }
}

/// What packets take: another one carries more or less.
struct MeasuredWay: Equatable {
    let route: ICERoute
    /// How they get to the relay that gave the route's base; nil without one. An allocation may go over to another
    /// network (RFC 8016), where the route stays what it was.
    let relay: TURNRelays.Path?
}

/// What the transport has carried, for statistics.
struct TransportCounters {
    var bytesSent: UInt64 = 0
    var packetsSent: UInt64 = 0
    var bytesReceived: UInt64 = 0
    var packetsReceived: UInt64 = 0
    /// Datagrams of no known protocol, or that came before their time.
    var dropped: UInt64 = 0
    /// Packets whose SRTP protection did not hold, or that were replayed.
    var unprotectFailures: UInt64 = 0
    var selectedPairChanges: UInt64 = 0
    /// Packets that could not be protected.
    var protectFailures: UInt64 = 0
}
