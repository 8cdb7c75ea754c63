/// The value of one member of an entry, as it stands in JSON.
public enum StatsValue: Sendable, Hashable {
    case text(String)
    case integer(UInt64)
    case signed(Int64)
    case number(Double)
    case flag(Bool)
}

/// Entries as W3C's dictionaries (webrtc-stats §8), for JSON and for whoever looks members up by name.
extension Stats {
    /// By W3C's names; a member that is not known is not there. Times are milliseconds on the engine's clock.
    public var members: [String: StatsValue] {
        var members = StatsMembers()
        members["type"] = .text(type)
        switch self {
        case .codec(let stats): stats.list(in: &members)
        case .inboundRTP(let stats): stats.list(in: &members)
        case .outboundRTP(let stats): stats.list(in: &members)
        case .remoteInboundRTP(let stats): stats.list(in: &members)
        case .remoteOutboundRTP(let stats): stats.list(in: &members)
        case .transport(let stats): stats.list(in: &members)
        case .candidatePair(let stats): stats.list(in: &members)
        case .candidate(let stats): stats.list(in: &members)
        case .dataChannel(let stats): stats.list(in: &members)
        case .sctpTransport(let stats): stats.list(in: &members)
        case .mediaSource(let stats): stats.list(in: &members)
        case .peerConnection(let stats): stats.list(in: &members)
        case .certificate(let stats): stats.list(in: &members)
        }
        return members.values
    }
}

/// Members on their way into a dictionary; what is nil stays out.
struct StatsMembers {
    private(set) var values: [String: StatsValue] = [:]

    subscript(name: String) -> StatsValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    mutating func begin(_ id: String, _ timestamp: Instant) {
        values["id"] = .text(id)
        add("timestamp", timestamp)
    }

    mutating func add(_ name: String, _ value: String?) { values[name] = value.map { .text($0) } }
    mutating func add(_ name: String, _ value: UInt64?) { values[name] = value.map { .integer($0) } }
    mutating func add(_ name: String, _ value: UInt32?) { add(name, value.map { UInt64($0) }) }
    mutating func add(_ name: String, _ value: UInt16?) { add(name, value.map { UInt64($0) }) }
    mutating func add(_ name: String, _ value: UInt8?) { add(name, value.map { UInt64($0) }) }
    mutating func add(_ name: String, _ value: Int64) { values[name] = .signed(value) }
    mutating func add(_ name: String, _ value: Double?) { values[name] = value.map { .number($0) } }
    mutating func add(_ name: String, _ value: Bool) { values[name] = .flag(value) }
    mutating func add(_ name: String, _ value: Instant?) {
        values[name] = value.map { .number(Double($0.nanoseconds) / 1e6) }
    }
}

extension StatsValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .signed(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .flag(let value): try container.encode(value)
        }
    }
}

extension Stats: Encodable {
    /// A flat object with W3C's names.
    public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }
}

extension StatsReport: Encodable {
    /// An object whose members are the entries, by their identifiers: what `RTCStatsReport` becomes in a page.
    public func encode(to encoder: any Encoder) throws {
        try Dictionary(all.map { ($0.id, $0) }) { first, _ in first }.encode(to: encoder)
    }
}
