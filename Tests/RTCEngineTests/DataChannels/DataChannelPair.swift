import RTCWire

@testable import RTCEngine

/// Two ends of data channels joined by a network in virtual time that may lose, delay and repeat packets. A seed
/// repeats it.
struct DataChannelPair {
    enum Side: Int, CaseIterable {
        /// The DTLS client.
        case left
        case right

        var other: Side { self == .left ? .right : .left }
    }

    struct Line {
        var delay = Interval.milliseconds(10)
        var jitter = Interval.zero
        var loss = 0.0
        var duplication = 0.0
    }

    /// What one end has told.
    struct Journal {
        var events: [(id: DataChannelID, event: DataChannelEvent)] = []
        var packets = 0

        func messages(of id: DataChannelID) -> [DataChannelMessage] {
            events.compactMap { entry in
                guard entry.id == id, case .message(let message) = entry.event else { return nil }
                return message
            }
        }

        /// The names of what happened to a channel, messages and amounts left out.
        func story(of id: DataChannelID) -> [String] {
            events.filter { $0.id == id }.compactMap { entry in
                switch entry.event {
                case .announced(let description): "announced \(description.label)"
                case .open: "open"
                case .message, .bufferedAmount, .bufferedAmountLow: nil
                case .closing: "closing"
                case .closed(let failure): failure.map { "failed \($0)" } ?? "closed"
                }
            }
        }

        var announced: [DataChannelID] {
            events.compactMap { entry in
                if case .announced = entry.event { entry.id } else { nil }
            }
        }
    }

    private(set) var ends: [DataChannels]
    private(set) var journals = [Journal(), Journal()]
    private(set) var now = Instant.zero
    var line = Line()
    private var random: EngineRandom
    private var inFlight: [(at: Instant, order: Int, to: Side, packet: [UInt8])] = []
    private var order = 0

    init(
        seed: UInt64 = 1, _ configure: (inout DataChannelConfiguration) -> Void = { _ in }
    ) {
        var configuration = DataChannelConfiguration()
        configure(&configuration)
        random = .seeded(seed)
        ends = Side.allCases.map {
            DataChannels(configuration: configuration, random: .seeded(seed &* 2 &+ UInt64($0.rawValue)))
        }
    }

    subscript(side: Side) -> DataChannels { ends[side.rawValue] }
    func journal(_ side: Side) -> Journal { journals[side.rawValue] }

    /// Does something at one end, and lets it send what comes of it.
    mutating func tell<Value>(
        _ side: Side, _ fact: (inout DataChannels, Instant) throws -> Value
    ) rethrows -> Value {
        defer { drain(side) }
        return try fact(&ends[side.rawValue], now)
    }

    /// The descriptions agree, and DTLS is connected.
    mutating func connect(maximumMessageSize: Int? = 262_144) {
        for side in Side.allCases {
            tell(side) { end, now in
                end.agree(.plain(maximumMessageSize), at: now)
                end.transportConnected(as: side == .left ? .client : .server, at: now)
            }
        }
    }

    /// One end loses all that it knew, and connects once more under the same DTLS.
    mutating func replace(_ side: Side) {
        tell(side) { end, now in
            end = DataChannels(configuration: end.configuration, random: .seeded(99))
            end.agree(.plain(), at: now)
            end.transportConnected(as: side == .left ? .client : .server, at: now)
        }
    }

    mutating func create(
        _ label: String, _ options: DataChannelInit = DataChannelInit(), by side: Side = .left
    ) throws -> DataChannelID {
        try tell(side) { end, now in try end.create(label: label, options: options, at: now) }
    }

    mutating func send(_ message: DataChannelMessage, on id: DataChannelID, by side: Side = .left) throws {
        try tell(side) { end, now in try end.send(message, on: id, at: now) }
    }

    mutating func close(_ id: DataChannelID, by side: Side = .left) {
        tell(side) { end, now in end.close(id, at: now) }
    }

    private mutating func drain(_ side: Side) {
        while let output = ends[side.rawValue].pollOutput(at: now) {
            switch output {
            case .event(let id, let event): journals[side.rawValue].events.append((id, event))
            case .send(let packet):
                journals[side.rawValue].packets += 1
                if chance(line.loss) { continue }
                for _ in 0..<(chance(line.duplication) ? 2 : 1) {
                    let extra = Int64.random(in: 0...line.jitter.nanoseconds, using: &random)
                    order += 1
                    inFlight.append((now + line.delay + Interval(nanoseconds: extra), order, side.other, packet))
                }
            }
        }
    }

    private mutating func chance(_ probability: Double) -> Bool {
        Double(random.next() >> 11) / Double(1 << 53) < probability
    }

    /// Lets time pass until something holds; false when it does not come to hold.
    @discardableResult
    mutating func run(
        within limit: Interval = .seconds(Int64(30)), until isOver: (borrowing DataChannelPair) -> Bool = { _ in false }
    ) -> Bool {
        let end = now + limit
        while !isOver(self) {
            let arrival = inFlight.min { ($0.at.nanoseconds, $0.order) < ($1.at.nanoseconds, $1.order) }
            let wakes = ends.indices.compactMap { ends[$0].nextWake }
            guard let next = (wakes + (arrival.map { [$0.at] } ?? [])).min(), next <= end else {
                now = end
                return isOver(self)
            }
            now = max(now, next)
            if let arrival, arrival.at <= now {
                inFlight.removeAll { $0.order == arrival.order }
                tell(arrival.to) { end, now in end.receive(arrival.packet, at: now) }
            } else {
                for side in Side.allCases { tell(side) { end, now in end.tick(at: now) } }
            }
        }
        return true
    }

    /// Both ends know that the association carries.
    var areEstablished: Bool { ends.allSatisfy { $0.phase == .established(streams: 65_535) } }

    /// A message that no application would send, as a peer that keeps to no rule.
    mutating func forge(_ bytes: [UInt8], as payload: UInt32, on stream: UInt16, by side: Side = .left) throws {
        try tell(side) { end, now in
            try end.association?.send(
                SCTPMessage(stream: stream, payloadProtocol: payload, bytes: bytes), at: now)
        }
    }
}

extension DataAgreement {
    /// What two equal ends agree on.
    static func plain(_ maximumMessageSize: Int? = 262_144) -> DataAgreement {
        DataAgreement(localPort: 5_000, remotePort: 5_000, remoteMaximumMessageSize: maximumMessageSize)
    }
}
