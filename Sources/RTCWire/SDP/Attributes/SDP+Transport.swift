extension SDP {
    /// `a=setup`: who opens the DTLS association (RFC 8842 §5, RFC 4145 §4).
    public enum Setup: String, SDPAttributeValue, CaseIterable {
        case active, passive, actpass, holdconn

        public static let name = "setup"
        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 1 else { return nil }
            self.init(rawValue: fields[0].lowercased())
        }
        public var attributeValue: String { rawValue }
    }

    /// `a=fingerprint`: the hash of a certificate (RFC 8122 §5).
    public struct Fingerprint: SDPAttributeValue {
        public static let name = "fingerprint"
        private static let lengths = [
            "sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64, "md5": 16,
        ]
        /// Lower case, as `sha-256`.
        public var algorithm: String
        public var bytes: [UInt8]

        public init(algorithm: String, bytes: [UInt8]) {
            self.algorithm = algorithm
            self.bytes = bytes
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 2, fields[0].isSDPToken else { return nil }
            var bytes: [UInt8] = []
            for pair in fields[1].sdpParts(":") {
                guard let byte = pair.sdpHexByte else { return nil }
                bytes.append(byte)
            }
            guard !bytes.isEmpty else { return nil }
            self.algorithm = fields[0].lowercased()
            // RFC 8122 §5: the length follows from the hash function, where we know it.
            if let length = Self.lengths[algorithm], length != bytes.count { return nil }
            self.bytes = bytes
        }

        public var attributeValue: String {
            let digits = Array("0123456789ABCDEF".utf8)
            var text: [UInt8] = []
            for byte in bytes {
                if !text.isEmpty { text.append(UInt8(ascii: ":")) }
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 0xf)])
            }
            return "\(algorithm) \(String(decoding: text, as: UTF8.self))"
        }
    }

    /// `a=ice-ufrag` (RFC 8839 §5.4).
    public struct ICEUsernameFragment: SDPAttributeValue {
        public static let name = "ice-ufrag"
        public var value: String

        public init(_ value: String) { self.value = value }
        /// 4 to 256 visible characters of ASCII: some agents use more of them than the grammar has.
        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 1, (4...256).contains(fields[0].utf8.count), fields[0].isSDPVisible else {
                return nil
            }
            self.value = String(fields[0])
        }
        public var attributeValue: String { value }
    }

    /// `a=ice-pwd` (RFC 8839 §5.4).
    public struct ICEPassword: SDPAttributeValue {
        public static let name = "ice-pwd"
        public var value: String

        public init(_ value: String) { self.value = value }
        /// 22 to 256 visible characters of ASCII.
        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 1, (22...256).contains(fields[0].utf8.count), fields[0].isSDPVisible else {
                return nil
            }
            self.value = String(fields[0])
        }
        public var attributeValue: String { value }
    }

    /// `a=ice-options` (RFC 8839 §5.6): `trickle`, `ice2`, `renomination`.
    public struct ICEOptions: SDPAttributeValue {
        public static let name = "ice-options"
        public var options: [String]

        public init(_ options: [String]) { self.options = options }
        public init?(attributeValue: String) {
            self.options = attributeValue.sdpFields.map { String($0) }
            guard !options.isEmpty else { return nil }
        }
        public var attributeValue: String { options.joined(separator: " ") }
    }

    /// `a=candidate` as text; `ICECandidate` reads it. Those that do not parse are kept in the description and left
    /// out of use, as browsers do it: newer agents may offer what we do not know.
    public struct Candidate: SDPAttributeValue {
        public static let name = "candidate"
        public var attributeValue: String

        public init?(attributeValue: String) { self.attributeValue = attributeValue }
        public init(_ candidate: ICECandidate) {
            attributeValue = String(candidate.attribute.dropFirst("candidate:".count))
        }

        /// The candidate; nil when it is of no use to us.
        public var candidate: ICECandidate? { try? ICECandidate(parsing: attributeValue) }
    }

    /// `a=sctp-port` (RFC 8841 §5).
    public struct SCTPPort: SDPAttributeValue {
        public static let name = "sctp-port"
        public var value: UInt16

        public init(_ value: UInt16) { self.value = value }
        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 1, let value = UInt16(sdpDigits: fields[0]) else { return nil }
            self.value = value
        }
        public var attributeValue: String { "\(value)" }
    }

    /// `a=max-message-size` in bytes, 0 for any size (RFC 8841 §6).
    public struct MaxMessageSize: SDPAttributeValue {
        public static let name = "max-message-size"
        public var value: UInt64

        public init(_ value: UInt64) { self.value = value }
        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 1, let value = UInt64(sdpDigits: fields[0]) else { return nil }
            self.value = value
        }
        public var attributeValue: String { "\(value)" }
    }
}

extension SDPSection {
    public var iceUsernameFragment: String? { first(SDP.ICEUsernameFragment.self)?.value }
    public var icePassword: String? { first(SDP.ICEPassword.self)?.value }
    /// The options of all `a=ice-options` lines.
    public var iceOptions: [String] { all(SDP.ICEOptions.self).flatMap(\.options) }
    /// RFC 8838: candidates may come one by one.
    public var supportsTrickle: Bool { iceOptions.contains("trickle") }
    public var setup: SDP.Setup? { first(SDP.Setup.self) }
    public var fingerprints: [SDP.Fingerprint] { all(SDP.Fingerprint.self) }
    /// The candidates that can be read.
    public var candidates: [ICECandidate] { all(SDP.Candidate.self).compactMap(\.candidate) }
}
