/// A media section: an `m=` line and what belongs to it (RFC 8866 §5.14).
public struct MediaDescription: Hashable, Sendable, SDPSection {
    /// `audio`, `video`, `application`.
    public var kind: String
    /// 9 where candidates tell the port, 0 for a rejected section (but see `SDP.Flag.bundleOnly`).
    public var port: UInt16
    /// The number behind a slash, which nobody in WebRTC uses.
    public var portCount: UInt16?
    /// As `UDP/TLS/RTP/SAVPF`.
    public var proto: String
    /// Payload types, or `webrtc-datachannel`.
    public var formats: [String]
    public var lines: [SDPLine]

    public init(
        kind: String, port: UInt16 = 9, portCount: UInt16? = nil, proto: String, formats: [String],
        lines: [SDPLine] = []
    ) {
        self.kind = kind
        self.port = port
        self.portCount = portCount
        self.proto = proto
        self.formats = formats
        self.lines = lines
    }

    init?(head value: Substring) {
        let fields = value.sdpFields
        guard fields.count >= 4, fields[0].isSDPToken else { return nil }
        let portFields = fields[1].sdpCut("/")
        guard let port = UInt16(sdpDigits: portFields?.head ?? fields[1]) else { return nil }
        var portCount: UInt16?
        if let count = portFields?.tail {
            guard let value = UInt16(sdpDigits: count) else { return nil }
            portCount = value
        }
        self.init(
            kind: String(fields[0]), port: port, portCount: portCount, proto: String(fields[2]),
            formats: fields[3...].map { String($0) })
    }

    /// The value of the `m=` line.
    var head: String {
        let ports = portCount.map { "\(port)/\($0)" } ?? "\(port)"
        return "\(kind) \(ports) \(proto) \(formats.joined(separator: " "))"
    }

    /// The section is refused or ended: port 0 without `a=bundle-only` (RFC 9143 §6).
    public var isRejected: Bool { port == 0 && !has(.bundleOnly) }

    /// The payload types of an RTP section, in the order of preference. Repetitions are left out, so there are 128 at
    /// most, however long a peer makes the line.
    public var payloadTypes: [UInt8] {
        var seen: Set<UInt8> = []
        return formats.compactMap { UInt8(sdpDigits: $0) }.filter { $0 < 128 && seen.insert($0).inserted }
    }
}
