import RTCEngine
import RTCWire

/// The four classic kinds of NAT (RFC 3489 §5), as RFC 4787 would say: how it maps and what it lets in.
enum NATKind: String, CaseIterable, Sendable {
    /// One mapping a source; anybody may answer.
    case fullCone
    /// One mapping a source; only addresses that were sent to may answer.
    case addressRestricted
    /// One mapping a source; only address and port that were sent to may answer.
    case portRestricted
    /// A mapping for each destination, open to it alone.
    case symmetric
}

/// A NAT for IPv4 with one public address.
struct VirtualNAT {
    private struct Mapping {
        let inside: TransportAddress
        let outside: TransportAddress
        /// For whom, when mappings are per destination.
        let destination: TransportAddress?
        var contacted: [TransportAddress]
    }

    let kind: NATKind
    let publicAddress: IPAddress
    private var mappings: [Mapping] = []
    private var nextPort: UInt16 = 20_000

    init(_ kind: NATKind, publicAddress: IPAddress) {
        self.kind = kind
        self.publicAddress = publicAddress
    }

    /// The source that the world sees; remembers who was contacted.
    mutating func outbound(from inside: TransportAddress, to destination: TransportAddress) -> TransportAddress {
        let key = kind == .symmetric ? destination : nil
        if let index = mappings.firstIndex(where: { $0.inside == inside && $0.destination == key }) {
            if !mappings[index].contacted.contains(destination) { mappings[index].contacted.append(destination) }
            return mappings[index].outside
        }
        let outside = TransportAddress(publicAddress, port: nextPort)
        nextPort += 1
        mappings.append(
            Mapping(inside: inside, outside: outside, destination: key, contacted: [destination]))
        return outside
    }

    /// Who inside gets a datagram for `outside`; nil when it is filtered.
    func inbound(to outside: TransportAddress, from source: TransportAddress) -> TransportAddress? {
        guard let mapping = mappings.first(where: { $0.outside == outside }) else { return nil }
        let isLetIn =
            switch kind {
            case .fullCone: true
            case .addressRestricted: mapping.contacted.contains { $0.ip == source.ip }
            case .portRestricted, .symmetric: mapping.contacted.contains(source)
            }
        return isLetIn ? mapping.inside : nil
    }

    /// As after a power cut: the next datagram gets a new mapping.
    mutating func forgetMappings() { mappings.removeAll() }
}
