import RTCWire

@testable import RTCEngine
@testable import SimulatedCalls

/// Two associations, the link between them, and virtual time. The same seed gives the same run.
struct SCTPPair {
    enum Side: Int, CaseIterable {
        case left, right
        var other: Side { self == .left ? .right : .left }
    }

    /// One direction of the link.
    struct Conditions {
        var delay = Interval.milliseconds(25)
        /// Up to this much more delay, drawn for each packet: what reorders.
        var jitter = Interval.zero
        var loss = 0.0
        var duplication = 0.0
        /// What the link carries, and what it queues before it drops.
        var bytesPerSecond: Double?
        var queue = 128 << 10
    }

    private enum Event {
        case arrival(Side, [UInt8])
    }

    private(set) var now = Instant.zero
    var associations: [SCTPAssociation]
    var conditions: Conditions
    /// What each side was told, without packets and messages.
    private(set) var told: [[SCTPOutput]] = [[], []]
    private(set) var messages: [[SCTPReceivedMessage]] = [[], []]
    /// Each packet that was sent, as `left: INIT`.
    private(set) var transcript: [String] = []
    private(set) var packetsSent = 0
    private(set) var stepsInVain = 0
    /// Decides about a packet before the link does; false loses it.
    var passes: (Side, [UInt8]) -> Bool = { _, _ in true }
    private var events = EventQueue<Event>()
    private var random: EngineRandom
    private var linkFreeAt = [Instant.zero, .zero]

    init(
        seed: UInt64 = 1, conditions: Conditions = .init(), left: SCTPConfiguration = .init(),
        right: SCTPConfiguration = .init()
    ) {
        random = .seeded(seed)
        self.conditions = conditions
        associations = [
            SCTPAssociation(configuration: left, random: random.split()),
            SCTPAssociation(configuration: right, random: random.split()),
        ]
    }

    subscript(side: Side) -> SCTPAssociation {
        get { associations[side.rawValue] }
        _modify { yield &associations[side.rawValue] }
    }

    /// A pair whose handshake is over, both having begun it.
    static func connected(
        seed: UInt64 = 1, conditions: Conditions = .init(), left: SCTPConfiguration = .init(),
        right: SCTPConfiguration = .init()
    ) -> SCTPPair {
        var pair = SCTPPair(seed: seed, left: left, right: right)
        pair.startBoth()
        pair.run(for: .seconds(Int64(1)))
        pair.conditions = conditions
        pair.forget()
        return pair
    }

    mutating func startBoth() {
        for side in Side.allCases { self[side].start(at: now) }
    }

    /// Forgets what was recorded.
    mutating func forget() {
        told = [[], []]
        messages = [[], []]
        transcript = []
    }

    mutating func send(
        _ bytes: [UInt8], from side: Side = .left, on stream: UInt16 = 0, ordered: Bool = true,
        _ reliability: SCTPReliability = .reliable
    ) throws {
        try self[side].send(
            SCTPMessage(
                stream: stream, payloadProtocol: 53, bytes: bytes, isOrdered: ordered, reliability: reliability),
            at: now)
    }

    func received(by side: Side) -> [SCTPReceivedMessage] { messages[side.rawValue] }
    func told(_ side: Side) -> [SCTPOutput] { told[side.rawValue] }
    func bytesReceived(by side: Side) -> Int { messages[side.rawValue].reduce(0) { $0 + $1.bytes.count } }

    /// Puts a packet in as if the other side had sent it.
    mutating func inject(_ packet: [UInt8], to side: Side) {
        self[side].receive(packet.span.bytes, at: now)
        drain()
    }

    mutating func run(for interval: Interval) { run(until: now + interval) { _ in false } }

    /// Runs until the condition holds; false when the time came first.
    @discardableResult
    mutating func run(until deadline: Instant, _ isDone: (SCTPPair) -> Bool) -> Bool {
        var stepsHere = 0
        while true {
            drain()
            if isDone(self) { return true }
            var next = events.nextAt
            for side in Side.allCases { next = earliest(next, self[side].nextWake) }
            guard let next, next <= deadline else {
                now = deadline
                return false
            }
            stepsHere = next > now ? 0 : stepsHere + 1
            if stepsHere > 1_000 {
                stepsInVain += 1
                return false
            }
            now = max(now, next)
            while let (_, event) = events.pop(dueAt: now) {
                switch event {
                case .arrival(let side, let packet): self[side].receive(packet.span.bytes, at: now)
                }
            }
            for side in Side.allCases {
                if let wake = self[side].nextWake, wake <= now { self[side].tick(at: now) }
            }
        }
    }

    /// Takes out what both have to say.
    mutating func drain() {
        for side in Side.allCases {
            while let output = self[side].pollOutput() {
                switch output {
                case .send(let packet): enter(packet, from: side)
                case .message(let message): messages[side.rawValue].append(message)
                case .established, .restarted, .incomingStreamsReset, .outgoingStreamsReset, .outgoingStreamsNotReset,
                    .bufferedAmountDecreased, .closed:
                    told[side.rawValue].append(output)
                }
            }
        }
    }

    private mutating func enter(_ packet: [UInt8], from side: Side) {
        packetsSent += 1
        if transcript.count < 2_000 { transcript.append("\(side): \(SCTPText.describe(packet))") }
        guard passes(side, packet), !chance(conditions.loss) else { return }
        var leaves = now
        if let rate = conditions.bytesPerSecond {
            let free = max(linkFreeAt[side.rawValue], now)
            guard (free - now).seconds * rate <= Double(conditions.queue) else { return }
            // IP, UDP and DTLS around it.
            leaves = free + .seconds(Double(packet.count + 65) / rate)
            linkFreeAt[side.rawValue] = leaves
        }
        for _ in 0..<(chance(conditions.duplication) ? 2 : 1) {
            let extra =
                conditions.jitter > .zero
                ? Int64.random(in: 0...conditions.jitter.nanoseconds, using: &random) : 0
            events.schedule(
                .arrival(side.other, packet), at: leaves + conditions.delay + Interval(nanoseconds: extra))
        }
    }

    private mutating func chance(_ probability: Double) -> Bool {
        probability > 0 && Double(random.next() >> 11) / Double(1 << 53) < probability
    }
}

extension SCTPAssociation {
    /// Everything that grows with traffic is back to nothing.
    var holdsNothing: Bool {
        queue.isEmpty && queue.queuedBytes == 0 && flight.isEmpty && flight.bytesInFlight == 0
            && flight.bytesKept == 0 && flight.lostChunks == 0 && reassembly.held == 0 && control.isEmpty
            && !received.hasGaps
    }

    /// Begins numbering at these TSNs, as far as it has not begun to.
    mutating func begin(atTSN tsn: UInt32) {
        handshake.localInitialTSN = tsn
        flight = SCTPFlight(initialTSN: tsn)
        outgoingResets = SCTPOutgoingResets(initialTSN: tsn)
    }
}
