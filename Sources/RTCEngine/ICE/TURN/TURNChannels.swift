internal import RTCWire

/// Peers that have a channel: four bytes a packet instead of thirty-six (RFC 8656 §12).
struct TURNChannels: Sendable {
    private enum State: Sendable {
        case requested
        case bound(until: Instant)
        /// The server will not; data goes by indications.
        case refused
    }

    private struct Entry: Sendable {
        let number: UInt16
        let peer: TransportAddress
        var state: State
        var usedAt: Instant
        var renewAt: Instant
    }

    private var entries: [Entry] = []
    private var next = ChannelDataHeader.numbers.lowerBound
    private let lifetime: Interval
    private let margin: Interval
    /// More than a call has: each restart may bring another pair.
    private static let limit = 64

    init(_ configuration: TURNConfiguration) {
        lifetime = configuration.channelLifetime
        margin = min(configuration.margin, configuration.channelLifetime / 4)
    }

    /// The channel of this peer; nil while none is bound. Cheap, for every packet.
    mutating func use(_ peer: TransportAddress, at now: Instant) -> UInt16? {
        for index in entries.indices where entries[index].peer == peer {
            guard case .bound(let until) = entries[index].state, now < until else { return nil }
            entries[index].usedAt = now
            return entries[index].number
        }
        return nil
    }

    func peer(of number: UInt16) -> TransportAddress? { entries.first { $0.number == number }?.peer }

    /// A number for a peer that has none. RFC 8656 §12: a number serves one peer, and another only long after; here it
    /// never does, and when all are used up there are no more.
    mutating func request(_ peer: TransportAddress, at now: Instant) -> UInt16? {
        guard entries.count < Self.limit, ChannelDataHeader.numbers.contains(next),
            !entries.contains(where: { $0.peer == peer })
        else { return nil }
        defer { next += 1 }
        entries.append(
            Entry(number: next, peer: peer, state: .requested, usedAt: now, renewAt: now + lifetime))
        return next
    }

    mutating func bound(_ number: UInt16, at now: Instant) {
        let (end, renewal) = (now + lifetime, now + lifetime - margin)
        update(number) {
            $0.state = .bound(until: end)
            $0.renewAt = renewal
        }
    }

    mutating func refused(_ number: UInt16) {
        update(number) { entry in
            // A renewal that fails leaves what is left of the lifetime.
            if case .bound = entry.state { return }
            entry.state = .refused
        }
    }

    /// Those that the server has not been heard of.
    var requested: [(number: UInt16, peer: TransportAddress)] {
        entries.filter { if case .requested = $0.state { true } else { false } }.map { ($0.number, $0.peer) }
    }

    private mutating func update(_ number: UInt16, _ change: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        change(&entries[index])
    }

    /// Those to bind again; what nobody has used for a whole lifetime is forgotten.
    mutating func takeDue(at now: Instant) -> [(number: UInt16, peer: TransportAddress)] {
        var due: [(UInt16, TransportAddress)] = []
        let (lifetime, margin) = (lifetime, margin)
        entries.removeAll { $0.renewAt <= now && now - $0.usedAt >= lifetime - margin }
        for index in entries.indices where entries[index].renewAt <= now {
            due.append((entries[index].number, entries[index].peer))
            entries[index].renewAt = now + margin
        }
        return due
    }

    var nextDue: Instant? { entries.map(\.renewAt).min() }
}
