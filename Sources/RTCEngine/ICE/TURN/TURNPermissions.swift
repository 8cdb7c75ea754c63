internal import RTCWire

/// Which addresses the server lets through to us (RFC 8656 §9), by address without port. Renewed while they are in use.
struct TURNPermissions: Sendable {
    enum State: Hashable, Sendable {
        case requested
        case granted
        /// The server will not: asking again at once would give the same answer.
        case refused
    }

    private struct Entry: Sendable {
        let ip: IPAddress
        var state: State
        var usedAt: Instant
        /// When it is to be renewed, or forgotten.
        var dueAt: Instant
    }

    private static let pause = Interval.seconds(Int64(2))

    private var entries: [Entry] = []
    private let lifetime: Interval
    private let margin: Interval
    private let limit: Int

    init(_ configuration: TURNConfiguration) {
        lifetime = configuration.permissionLifetime
        margin = min(configuration.margin, configuration.permissionLifetime / 4)
        limit = configuration.maximumPermissions
    }

    /// Where an address stands, which is in use now; nil when it has never been asked for.
    mutating func use(_ ip: IPAddress, at now: Instant) -> State? {
        guard let index = entries.firstIndex(where: { $0.ip == ip }) else { return nil }
        entries[index].usedAt = now
        return entries[index].state
    }

    func isGranted(_ ip: IPAddress) -> Bool { entries.contains { $0.ip == ip && $0.state == .granted } }

    /// False when there are too many.
    mutating func request(_ ip: IPAddress, at now: Instant) -> Bool {
        guard entries.count < limit else { return false }
        entries.append(Entry(ip: ip, state: .requested, usedAt: now, dueAt: now + lifetime))
        return true
    }

    mutating func granted(_ ip: IPAddress, at now: Instant) { set(ip, .granted, dueAt: now + lifetime - margin) }

    mutating func refused(_ ip: IPAddress, at now: Instant) { set(ip, .refused, dueAt: now + lifetime) }

    /// The server has not answered. A permission that there was is asked for again soon, and holds until it runs out at
    /// the server; one that there was not, with the next packet.
    mutating func unanswered(_ ip: IPAddress, at now: Instant) {
        guard let index = entries.firstIndex(where: { $0.ip == ip }) else { return }
        switch entries[index].state {
        case .granted: entries[index].dueAt = now + Self.pause
        case .requested, .refused: entries.remove(at: index)
        }
    }

    /// Those that the server has not been heard of.
    mutating func forgetRequests() { entries.removeAll { $0.state == .requested } }

    private mutating func set(_ ip: IPAddress, _ state: State, dueAt: Instant) {
        guard let index = entries.firstIndex(where: { $0.ip == ip }) else { return }
        entries[index].state = state
        entries[index].dueAt = dueAt
    }

    /// Those to ask for again; what nobody has sent to since it was granted is forgotten.
    mutating func takeDue(at now: Instant) -> [IPAddress] {
        var due: [IPAddress] = []
        entries.removeAll { entry in
            guard entry.dueAt <= now else { return false }
            guard entry.state == .granted, now - entry.usedAt < lifetime - margin else { return true }
            due.append(entry.ip)
            return false
        }
        for ip in due { set(ip, .granted, dueAt: now + margin) }
        return due
    }

    var nextDue: Instant? { entries.map(\.dueAt).min() }
}
