/// A transport address that an agent offers for media, with its candidate-attribute (RFC 8839 §5.1, RFC 6544 §4.5).
public struct ICECandidate: Hashable, Sendable {
    /// UDP, or TCP as RFC 6544 has it.
    public enum Transport: String, Hashable, Sendable {
        case udp, tcp
    }

    /// Who connects over TCP (RFC 6544 §4.5).
    public enum TCPType: String, Hashable, Sendable {
        case active, passive
        case simultaneousOpen = "so"
    }

    /// How the candidate was found (RFC 8445 §5.1.1, §7.2.5.3.1).
    public enum CandidateType: String, Hashable, Sendable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"

        /// RFC 8445 §5.1.2.2, the recommended values.
        public var typePreference: UInt8 {
            switch self {
            case .host: 126
            case .peerReflexive: 110
            case .serverReflexive: 100
            case .relayed: 0
            }
        }
    }

    /// Where the candidate is: an address, or the mDNS name that a browser shows instead of one
    /// (draft-ietf-mmusic-mdns-ice-candidates).
    public enum Address: Hashable, Sendable {
        case ip(TransportAddress)
        case mdns(String, port: UInt16)

        public var port: UInt16 {
            switch self {
            case .ip(let address): address.port
            case .mdns(_, let port): port
            }
        }

        /// Nil for a name.
        public var transportAddress: TransportAddress? {
            switch self {
            case .ip(let address): address
            case .mdns: nil
            }
        }
    }

    /// A name and a value behind the candidate's own fields, kept as it came (RFC 8839 §5.1, `cand-extension`).
    public struct Extension: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Equal for candidates of one type, base address, protocol and server (RFC 8445 §5.1.1.3); 1 to 32 characters.
    public var foundation: String
    /// 1 for RTP, and for everything where RTCP is multiplexed.
    public var component: UInt8
    public var transport: Transport
    public var priority: UInt32
    public var address: Address
    public var type: CandidateType
    /// The base of a reflexive candidate, the mapped address of a relayed one; for diagnosis only. Browsers often
    /// put the unspecified address here.
    public var relatedAddress: TransportAddress?
    public var tcpType: TCPType?
    /// Which generation of the description the candidate belongs to (W3C `RTCIceCandidate.usernameFragment`).
    public var usernameFragment: String?
    /// Whatever else stands in the attribute: `generation`, `network-id`, `network-cost` and the like.
    public var extensions: [Extension]

    public init(
        foundation: String, component: UInt8 = 1, transport: Transport = .udp, priority: UInt32, address: Address,
        type: CandidateType, relatedAddress: TransportAddress? = nil, tcpType: TCPType? = nil,
        usernameFragment: String? = nil, extensions: [Extension] = []
    ) {
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.type = type
        self.relatedAddress = relatedAddress
        self.tcpType = tcpType
        self.usernameFragment = usernameFragment
        self.extensions = extensions
    }

    /// RFC 8445 §5.1.2.1: the type weighs most, then the local preference, then the component.
    public static func priority(
        of type: CandidateType, localPreference: UInt16, component: UInt8 = 1
    ) -> UInt32 {
        UInt32(type.typePreference) << 24 | UInt32(localPreference) << 8 | UInt32(256 - UInt32(component))
    }
}
