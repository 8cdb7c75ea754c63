import RTCEngine
import RTCWire

/// What has to hold at every moment of every call, written once. The driver reports what it sees; what is wrong is
/// kept as sentences.
struct CallInvariants {
    private struct Watch {
        /// When the peer last answered a check over a pair of addresses; of a lite agent, when it was last heard there.
        var consents: [ICERoute: Instant] = [:]
        var wasProtected = false
        var isClosed = false
        var ticksInVain = 0
        var now = Instant.zero
    }

    /// The side whose agent is lite.
    var liteSide: CallSimulation.Side?
    private(set) var violations: [String] = []
    private var watches = [Watch(), Watch()]

    /// RFC 7675 §5.1: 30 seconds; and the moment that a nomination may take.
    private static let consentLifetime = Interval.milliseconds(31_000)
    private static let heldPacketsLimit = 2_048
    private static let limit = 20

    mutating func note(_ violation: String, _ side: CallSimulation.Side, at now: Instant) {
        guard violations.count < Self.limit else { return }
        violations.append("\(now.seconds) \(side): \(violation)")
    }

    mutating func arrived(_ datagram: VirtualDatagram, at side: CallSimulation.Side, _ now: Instant) {
        // A binding success response (RFC 8489 §5); a lite agent has only requests to go by, and what is protected.
        let isSign =
            liteSide == side
            ? datagram.bytes.prefix(2) == [0, 1] || [.rtp, .rtcp, .dtls].contains(DatagramKind(datagram.bytes))
            : datagram.bytes.prefix(2) == [1, 1]
        if isSign { heard(over: ICERoute(base: datagram.destination, remote: datagram.source), side, now) }
    }

    /// Something has come that tells of the peer's consent.
    mutating func heard(over route: ICERoute, _ side: CallSimulation.Side, _ now: Instant) {
        watches[side.rawValue].consents[route] = now
    }

    /// A call to the machine is over, and nothing of it has been taken out yet.
    mutating func called(_ machine: borrowing PeerMachine, _ side: CallSimulation.Side, at now: Instant) {
        if machine.isProtected { watches[side.rawValue].wasProtected = true }
        if now < watches[side.rawValue].now { note("time went back", side, at: now) }
        watches[side.rawValue].now = now
        if machine.hasUnsentPackets { note("packets stay unsent in the queue", side, at: now) }
        let held = machine.mostHeldPackets
        if held > Self.heldPacketsLimit { note("\(held) packets are held", side, at: now) }
    }

    /// - Parameter isCarried: seen at the TURN server, where it may come after the end.
    mutating func sends(
        _ transmit: Transmit, _ side: CallSimulation.Side, isCarried: Bool = false, at now: Instant
    ) {
        let kind = DatagramKind(transmit.bytes)
        if watches[side.rawValue].isClosed, !isCarried { note("\(kind) is sent after the end", side, at: now) }
        switch kind {
        case .stun: return
        case .unknown: note("a datagram of no protocol is sent", side, at: now)
        case .rtp, .rtcp:
            if !watches[side.rawValue].wasProtected { note("\(kind) is sent before DTLS is done", side, at: now) }
        case .dtls: break
        }
        guard let consent = watches[side.rawValue].consents[ICERoute(base: transmit.from, remote: transmit.to)] else {
            return note("\(kind) is sent to an address that never answered", side, at: now)
        }
        if now - consent > Self.consentLifetime { note("\(kind) is sent without fresh consent", side, at: now) }
    }

    mutating func tells(
        _ event: PeerEvent, _ machine: borrowing PeerMachine, _ side: CallSimulation.Side, at now: Instant
    ) {
        if watches[side.rawValue].isClosed { note("\(event) is told after the end", side, at: now) }
        if let reason = Self.reason(of: event) { checkPrivacy(reason, machine, side, at: now) }
        if case .connectionStateChanged(.closed, _) = event { watches[side.rawValue].isClosed = true }
    }

    private static func reason(of event: PeerEvent) -> String? {
        switch event {
        case .iceConnectionStateChanged(_, let because), .connectionStateChanged(_, let because): because
        default: nil
        }
    }

    /// Reasons are made for logs: nobody's address and no credential may be in one.
    private mutating func checkPrivacy(
        _ reason: String, _ machine: borrowing PeerMachine, _ side: CallSimulation.Side, at now: Instant
    ) {
        let local = machine.localICEParameters
        let secrets = [local.usernameFragment, local.password]
        let hasAddress = reason.split(whereSeparator: { !"0123456789abcdefABCDEF.:".contains($0) })
            .contains { $0.count { ".:".contains($0) } > 1 && $0.contains(where: \.isHexDigit) }
        if hasAddress || secrets.contains(where: { reason.contains($0) }) {
            note("a reason tells an address or a credential: \(reason)", side, at: now)
        }
    }

    /// All outputs have been taken.
    mutating func settled(
        _ machine: borrowing PeerMachine, nextWake: Instant?, _ side: CallSimulation.Side, at now: Instant
    ) {
        guard machine.connectionState == .closed else { return }
        if !watches[side.rawValue].isClosed { note("the end was not told", side, at: now) }
        if nextWake != nil { note("a timer outlives the end", side, at: now) }
        if !machine.holdsNoMedia { note("packets or streams outlive the end", side, at: now) }
    }

    mutating func ticked(nextWake: Instant?, _ side: CallSimulation.Side, at now: Instant) {
        guard let nextWake, nextWake <= now else {
            watches[side.rawValue].ticksInVain = 0
            return
        }
        watches[side.rawValue].ticksInVain += 1
        if watches[side.rawValue].ticksInVain == 10 { note("it wants to be woken for ever", side, at: now) }
    }
}

extension Instant {
    var seconds: Double { Interval(nanoseconds: nanoseconds).seconds }
}
