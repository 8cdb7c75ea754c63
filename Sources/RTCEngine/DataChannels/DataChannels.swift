internal import RTCWire

/// The data channels of one peer connection (RFC 8831, RFC 8832) and the SCTP association under them, without I/O.
///
/// The association begins when the descriptions agree on it and DTLS is connected, whichever is later. After each call,
/// `pollOutput` until it gives nil, then ask `nextWake`.
struct DataChannels: Sendable {
    enum Output: Equatable {
        /// Send this as one DTLS record of application data (RFC 8261 §3).
        case send([UInt8])
        case event(DataChannelID, DataChannelEvent)
    }

    /// Where the association stands.
    enum Phase: Equatable {
        /// No agreement yet, or no DTLS.
        case idle
        case connecting
        /// Streams below this number may be used in both directions.
        case established(streams: Int)
        case ended(DataChannelFailure)
    }

    let configuration: DataChannelConfiguration
    private var random: EngineRandom
    private(set) var phase = Phase.idle
    private(set) var agreement: DataAgreement?
    /// Ours in DTLS, once the descriptions have said it: it decides which streams we open channels on.
    private(set) var role: DTLSRole?
    private var isTransportConnected = false
    var association: SCTPAssociation?

    var channels: [DataChannelID: Channel] = [:]
    /// Who has which stream.
    var streams: [UInt16: StreamUse] = [:]
    var nextID: UInt32 = 0
    /// No stream of our parity below this one is free.
    var lowestFree: [DTLSRole: Int] = [:]
    var held = HeldMessages()
    var totals = DataChannelTotals()
    private var events = FIFO<Output>()
    /// Streams of which less waits than was told last.
    private var lessBuffered: Set<UInt16> = []

    init(configuration: DataChannelConfiguration, random: EngineRandom) {
        self.configuration = configuration
        self.random = random
    }

    // MARK: The association's life

    /// What the descriptions say; nil when they refuse data channels, which ends all that there are.
    mutating func agree(_ agreement: DataAgreement?, at now: Instant) {
        self.agreement = agreement
        guard agreement == nil else { return startIfReady(at: now) }
        association?.abort(at: now)
        drainLastWords()
        association = nil
        endAll(.refused)
        phase = .idle
    }

    /// An answer has said our part in DTLS, which no later one changes (RFC 8842 §5.5): channels that have no stream
    /// get theirs (RFC 8832 §6), before the handshake begins (W3C WebRTC §4.4.1.5). Those for which there is none are
    /// closed.
    mutating func roleAgreed(_ role: DTLSRole) {
        self.role = role
        assignStreams()
    }

    /// DTLS is connected.
    mutating func transportConnected(as role: DTLSRole, at now: Instant) {
        roleAgreed(role)
        isTransportConnected = true
        startIfReady(at: now)
    }

    private mutating func startIfReady(at now: Instant) {
        guard phase == .idle, let agreement, isTransportConnected else { return }
        var sctp = SCTPConfiguration()
        sctp.localPort = agreement.localPort
        sctp.remotePort = agreement.remotePort
        sctp.localMaximumMessageSize = configuration.maximumMessageSize
        sctp.receiveBuffer = configuration.receiveBuffer
        // Checked here instead, against what the last description says.
        sctp.remoteMaximumMessageSize = 0
        sendLimit = sctp.sendBuffer
        association = SCTPAssociation(configuration: sctp, random: random.split())
        phase = .connecting
        association?.start(at: now)
    }

    /// A record of application data.
    mutating func receive(_ packet: [UInt8], at now: Instant) {
        association?.receive(packet.span.bytes, at: now)
    }

    /// How much of what was received the application has not taken: the peer is to hold back (RFC 9260 §6.2).
    mutating func setUnread(_ bytes: Int, at now: Instant) { association?.setUnread(bytes, at: now) }

    mutating func tick(at now: Instant) { association?.tick(at: now) }

    /// When `tick` is next wanted; nil when nothing is pending.
    var nextWake: Instant? { mutating get { association.inPlace { $0.nextWake } } }

    /// The connection ends: so do the association and every channel.
    mutating func close(at now: Instant) {
        // What has come before the end is told before it.
        var told = FIFO<Output>()
        while let output = pollOutput(at: now) { told.append(output) }
        events = told
        association?.abort(at: now)
        drainLastWords()
        end(because: .connectionClosed)
    }

    private mutating func drainLastWords() {
        while let output = association?.pollOutput() {
            if case .send(let packet) = output { events.append(.send(packet)) }
        }
    }

    private mutating func end(because failure: DataChannelFailure) {
        if case .ended = phase { return }
        phase = .ended(failure)
        // The association stays: it tells a peer that has not heard of the end (RFC 9260 §8.4).
        endAll(failure)
    }

    // MARK: Outputs

    /// The next thing to do or to tell; nil when there is none.
    mutating func pollOutput(at now: Instant) -> Output? {
        while true {
            if let event = events.popFirst() { return event }
            guard let output = association?.pollOutput() else {
                guard let stream = lessBuffered.popFirst() else { return nil }
                tellBufferedAmount(of: stream)
                continue
            }
            switch output {
            case .send(let packet): return .send(packet)
            case .established(let inbound, let outbound): established(Int(min(inbound, outbound)), at: now)
            case .restarted: restarted()
            case .message(let message): receive(message, at: now)
            case .incomingStreamsReset(let streams): incomingReset(streams, at: now)
            case .outgoingStreamsReset(let streams): for stream in streams { outgoingReset(stream, at: now) }
            case .outgoingStreamsNotReset(let streams): for stream in streams { outgoingResetDenied(stream) }
            case .bufferedAmountDecreased(let stream): lessBuffered.insert(stream)
            case .closed(let reason): end(because: .transport(reason))
            }
        }
    }

    mutating func tell(_ id: DataChannelID, _ event: DataChannelEvent) { events.append(.event(id, event)) }

    private mutating func established(_ streams: Int, at now: Instant) {
        phase = .established(streams: streams)
        for id in channelsInOrder {
            guard let stream = channels[id]?.stream else { continue }
            // W3C WebRTC §6.1.1.3: what the peer grants may be less than was counted on.
            guard Int(stream) < streams else {
                forget(id, .noStreamLeft)
                continue
            }
            connect(id, at: now)
        }
    }

    /// RFC 9260 §5.2.4.1: no stream is what it was, and the peer knows of no channel.
    private mutating func restarted() {
        endAll(.restarted)
        phase = .connecting
    }

    private mutating func endAll(_ failure: DataChannelFailure) {
        for id in channelsInOrder { forget(id, failure) }
        streams = [:]
        held = HeldMessages()
        lowestFree = [:]
        lessBuffered = []
    }

    /// The order in which they were made: what goes out at one moment goes out in the same order in every run.
    var channelsInOrder: [DataChannelID] { channels.keys.sorted { $0.rawValue < $1.rawValue } }

    // MARK: Limits

    /// What the association queues at most. Bytes.
    private(set) var sendLimit = SCTPConfiguration().sendBuffer

    /// The largest message that can be sent now. Bytes.
    var maximumMessageSize: Int { min(agreement?.remoteMaximumMessageSize ?? sendLimit, sendLimit) }

    var sendLimits: DataSendLimits {
        var limits = DataSendLimits()
        limits.messageSize = maximumMessageSize
        limits.buffer = sendLimit
        limits.used = association?.bytesKept ?? 0
        return limits
    }
}

extension DataChannels {
    /// What is known of a channel; nil once it is closed.
    func description(of id: DataChannelID) -> DataChannelDescription? {
        channels[id].map { channel in
            var options = channel.options
            options.id = channel.stream
            return DataChannelDescription(
                label: channel.label, options: options, state: channel.state, isRemote: channel.isRemote)
        }
    }
}
