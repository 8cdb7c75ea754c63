/// Why a text is not a candidate-attribute that can be used.
public enum ICECandidateError: Error, Hashable, Sendable {
    /// A field is missing before the candidate's type.
    case truncated
    /// The foundation is not 1 to 32 ICE characters.
    case foundation
    /// The component is not a number from 1 to 255.
    case component
    /// Neither UDP nor TCP.
    case unknownTransport
    /// Not a number of 32 bits.
    case priority
    /// Neither an IP address nor an mDNS name; other host names are ignored by RFC 8839 §5.1.
    case address
    /// Not a number of 16 bits.
    case port
    /// `typ` is missing or names an unknown type.
    case type
    /// Longer than any honest candidate.
    case tooLong
}

extension ICECandidate {
    /// Longest attribute that is looked at, in bytes.
    static let maximumAttributeLength = 1_024

    /// Parses `candidate:…` with or without `a=` and `candidate:` before it, and with or without a line end.
    /// Tolerant of what may come behind the type: unknown extensions are kept, a dangling name is dropped.
    public init(parsing attribute: some StringProtocol) throws(ICECandidateError) {
        guard attribute.utf8.count <= Self.maximumAttributeLength else { throw .tooLong }
        var text = Substring(attribute)
        for prefix in ["a=", "candidate:"] where text.hasPrefix(prefix) { text = text.dropFirst(prefix.count) }
        // By scalar: a combining mark behind a blank would hide the blank from a split by character.
        var fields = text.unicodeScalars.split { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" }
            .map { Substring($0) }[...]

        guard let foundation = fields.popFirst() else { throw .truncated }
        guard (1...32).contains(foundation.utf8.count), foundation.utf8.allSatisfy(\.isICECharacter) else {
            throw .foundation
        }
        guard let componentText = fields.popFirst() else { throw .truncated }
        guard let component = UInt8(digits: componentText), component > 0 else { throw .component }
        guard let transportText = fields.popFirst() else { throw .truncated }
        guard let transport = Transport(rawValue: transportText.lowercased()) else { throw .unknownTransport }
        guard let priorityText = fields.popFirst() else { throw .truncated }
        guard let priority = UInt32(digits: priorityText) else { throw .priority }
        guard let hostText = fields.popFirst(), let portText = fields.popFirst() else { throw .truncated }
        guard let port = UInt16(digits: portText) else { throw .port }
        guard let address = Address(host: hostText, port: port) else { throw .address }
        guard let typText = fields.popFirst(), let typeText = fields.popFirst() else { throw .truncated }
        guard typText == "typ", let type = CandidateType(rawValue: typeText.lowercased()) else { throw .type }

        self.init(
            foundation: String(foundation), component: component, transport: transport, priority: priority,
            address: address, type: type)
        readExtensions(fields)
    }

    private mutating func readExtensions(_ fields: ArraySlice<Substring>) {
        var fields = fields
        var relatedIP: IPAddress?
        var relatedPort: UInt16?
        while let name = fields.popFirst(), let value = fields.popFirst() {
            switch name {
            case "raddr": relatedIP = IPAddress(value)
            case "rport": relatedPort = UInt16(digits: value)
            case "tcptype": tcpType = TCPType(rawValue: String(value))
            case "ufrag": usernameFragment = String(value)
            default: extensions.append(Extension(name: String(name), value: String(value)))
            }
        }
        // A name in `raddr`, as mDNS would have it, says nothing that could be used.
        relatedAddress = relatedIP.map { TransportAddress($0, port: relatedPort ?? 0) }
    }

    /// The attribute's text without `a=`, as `RTCIceCandidate.candidate` has it:
    /// `candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host ufrag abcd`.
    public var attribute: String {
        let (host, port) = address.hostAndPort
        var text = "candidate:\(foundation) \(component) \(transport.rawValue) \(priority) \(host) \(port)"
        text += " typ \(type.rawValue)"
        if let relatedAddress { text += " raddr \(relatedAddress.ip) rport \(relatedAddress.port)" }
        if let tcpType { text += " tcptype \(tcpType.rawValue)" }
        if let usernameFragment { text += " ufrag \(usernameFragment)" }
        for item in extensions { text += " \(item.name) \(item.value)" }
        return text
    }
}

extension ICECandidate.Address {
    fileprivate init?(host: Substring, port: UInt16) {
        if let ip = IPAddress(host) {
            self = .ip(TransportAddress(ip, port: port))
        } else if host.utf8.count <= 255, host.lowercased().hasSuffix(".local") {
            self = .mdns(String(host), port: port)
        } else {
            return nil
        }
    }

    fileprivate var hostAndPort: (String, UInt16) {
        switch self {
        case .ip(let address): (address.ip.description, address.port)
        case .mdns(let name, let port): (name, port)
        }
    }
}

extension UInt8 {
    /// RFC 8839 §5.4, `ice-char`.
    fileprivate var isICECharacter: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        // Not in the grammar, but met in the wild as part of foundations.
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "="): true
        default: false
        }
    }
}

extension FixedWidthInteger {
    /// Decimal digits alone; the standard parser would take a sign too.
    fileprivate init?(digits text: Substring) {
        guard text.first != "+", text.first != "-", let value = Self(text) else { return nil }
        self = value
    }
}
