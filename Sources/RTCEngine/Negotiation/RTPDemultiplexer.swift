internal import RTCWire

/// Finds the transceiver of an incoming packet among bundled sections (RFC 9143 §9.2).
public struct RTPDemultiplexer: Sendable {
    /// What is known beforehand of one section.
    public struct Route: Sendable, Equatable {
        public var transceiver: TransceiverID
        public var mid: String
        /// With those of retransmissions.
        public var payloadTypes: [UInt8]
        public var ssrcs: [UInt32]
    }

    /// How many sources are learned from packets; a peer could otherwise make the table grow without end.
    public static let maximumLearnedSources = 1_024

    private struct MidRoute: Sendable {
        var mid: [UInt8]
        var transceiver: TransceiverID
    }

    private var midRoutes: [MidRoute] = []
    /// By payload type; nil where none or more than one section has it.
    private var payloadRoutes = [TransceiverID?](repeating: nil, count: 128)
    private var signaled: [UInt32: TransceiverID] = [:]
    private var learned: [UInt32: TransceiverID] = [:]
    /// Learned from a payload type alone: a description that names the source knows better.
    private var guessed: Set<UInt32> = []
    /// The learned sources, oldest first from `oldest` on, as a ring.
    private var order: [UInt32] = []
    private var oldest = 0
    /// The answer that was given last: packets come in runs of one source.
    private var recent: (ssrc: UInt32, transceiver: TransceiverID)?

    public init() {}

    /// Takes the routes after a negotiation. What packets have taught is kept for transceivers that are still there.
    public mutating func update(_ routes: [Route]) {
        recent = nil
        midRoutes = routes.map { MidRoute(mid: [UInt8]($0.mid.utf8), transceiver: $0.transceiver) }
        signaled = [:]
        payloadRoutes = [TransceiverID?](repeating: nil, count: 128)
        var claims: [UInt8: Int] = [:]
        for route in routes {
            for ssrc in route.ssrcs { signaled[ssrc] = route.transceiver }
            for type in Set(route.payloadTypes) where type < 128 {
                claims[type, default: 0] += 1
                payloadRoutes[Int(type)] = route.transceiver
            }
        }
        // A payload type of more than one section says nothing.
        for (type, count) in claims where count > 1 { payloadRoutes[Int(type)] = nil }
        let alive = Set(routes.map(\.transceiver))
        learned = learned.filter {
            alive.contains($0.value) && !(guessed.contains($0.key) && signaled[$0.key] != nil)
        }
        guessed = guessed.filter { learned[$0] != nil }
        order = (order[oldest...] + order[..<oldest]).filter { learned[$0] != nil }
        oldest = 0
    }

    /// The transceiver of a packet; nil for a packet that is nobody's, which is dropped.
    ///
    /// - Parameter mid: the bytes of the packet's mid header extension, if it has one.
    public mutating func route(ssrc: UInt32, payloadType: UInt8, mid: RawSpan?) -> TransceiverID? {
        if let mid {
            // A mid that we do not know is of a section that is gone or still to come: not to be guessed about.
            guard let route = midRoutes.first(where: { Self.equals($0.mid, mid) }) else { return nil }
            if (learned[ssrc] ?? signaled[ssrc]) != route.transceiver {
                signaled[ssrc] = nil
                learn(ssrc, route.transceiver)
            } else if !guessed.isEmpty {
                guessed.remove(ssrc)
            }
            return route.transceiver
        }
        if let recent, recent.ssrc == ssrc { return recent.transceiver }
        if let known = learned[ssrc] ?? signaled[ssrc] {
            recent = (ssrc, known)
            return known
        }
        guard payloadType < 128, let only = payloadRoutes[Int(payloadType)] else { return nil }
        learn(ssrc, only)
        guessed.insert(ssrc)
        return only
    }

    /// The transceiver of a source that is known, as an RTCP packet names it.
    public func transceiver(ofSSRC ssrc: UInt32) -> TransceiverID? { learned[ssrc] ?? signaled[ssrc] }

    private mutating func learn(_ ssrc: UInt32, _ transceiver: TransceiverID) {
        recent = nil
        guessed.remove(ssrc)
        if learned.updateValue(transceiver, forKey: ssrc) != nil { return }
        if order.count < Self.maximumLearnedSources {
            order.append(ssrc)
        } else {
            learned[order[oldest]] = nil
            guessed.remove(order[oldest])
            order[oldest] = ssrc
            oldest = (oldest + 1) % order.count
        }
    }

    private static func equals(_ bytes: [UInt8], _ span: RawSpan) -> Bool {
        guard bytes.count == span.byteCount else { return false }
        for index in bytes.indices where span.byte(at: index) != bytes[index] { return false }
        return true
    }
}

extension Negotiator {
    /// What `RTPDemultiplexer` has to know; to be passed on after each change of a receiver.
    public var routes: [RTPDemultiplexer.Route] {
        transceivers.compactMap { transceiver in
            guard let receiving = transceiver.receiveParameters else { return nil }
            let types = receiving.codecs.flatMap { [$0.payloadType] + ($0.rtxPayloadType.map { [$0] } ?? []) }
            let named = receiving.layers.compactMap(\.sources) + (receiving.sources.map { [$0] } ?? [])
            let sources = named.flatMap { [$0.primary] + ($0.rtx.map { [$0] } ?? []) }
            return RTPDemultiplexer.Route(
                transceiver: transceiver.id, mid: receiving.mid, payloadTypes: types, ssrcs: sources)
        }
    }
}
