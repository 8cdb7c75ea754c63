extension SDP {
    /// `a=rtpmap`: what a payload type means (RFC 8866 §6.6).
    public struct RTPMap: SDPAttributeValue {
        public static let name = "rtpmap"
        public var payloadType: UInt8
        /// Compared without regard to case (RFC 4855 §3).
        public var encoding: String
        public var clockRate: UInt32
        /// Of sound; nil when not given, which means 1.
        public var channels: UInt8?

        public init(payloadType: UInt8, encoding: String, clockRate: UInt32, channels: UInt8? = nil) {
            self.payloadType = payloadType
            self.encoding = encoding
            self.clockRate = clockRate
            self.channels = channels
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 2, let type = UInt8(sdpDigits: fields[0]), type < 128 else { return nil }
            let parts = fields[1].sdpParts("/")
            guard (2...3).contains(parts.count), let clockRate = UInt32(sdpDigits: parts[1]), clockRate > 0 else {
                return nil
            }
            if parts.count == 3 {
                guard let count = UInt8(sdpDigits: parts[2]) else { return nil }
                channels = count
            }
            self.payloadType = type
            self.encoding = String(parts[0])
            self.clockRate = clockRate
        }

        public var attributeValue: String {
            "\(payloadType) \(encoding)/\(clockRate)" + (channels.map { "/\($0)" } ?? "")
        }
    }

    /// `a=fmtp`: parameters of a format (RFC 8866 §6.15).
    public struct FormatParameters: SDPAttributeValue {
        public static let name = "fmtp"
        /// A payload type as a rule; a data channel's format once had a word here.
        public var format: String
        public var parameters: CodecOptions

        public init(payloadType: UInt8, parameters: CodecOptions) {
            self.format = "\(payloadType)"
            self.parameters = parameters
        }

        public init?(attributeValue: String) {
            guard let (format, rest) = attributeValue.sdpCut(" "), !format.isEmpty else { return nil }
            self.format = String(format)
            self.parameters = CodecOptions(rest)
        }

        public var attributeValue: String { "\(format) \(parameters.text)" }
        public var payloadType: UInt8? { UInt8(sdpDigits: format) }
    }

    /// `name=value;name=value`, the form that most formats use; a format of its own (`0-15`, `111/111`) is one name
    /// without value.
    public struct CodecOptions: Hashable, Sendable {
        public struct Option: Hashable, Sendable {
            public var name: String
            public var value: String?

            public init(_ name: String, _ value: String?) {
                self.name = name
                self.value = value
            }
        }

        public var options: [Option]

        public init(_ options: [Option] = []) { self.options = options }

        /// Reads `name=value;…`; white space around the parts is dropped.
        public init(_ text: some StringProtocol) {
            self.options = Substring(text).sdpParts(";").compactMap { part in
                let trimmed = part.sdpFields[...].sdpText
                guard !trimmed.isEmpty else { return nil }
                guard let (name, value) = trimmed.sdpCut("=") else { return Option(trimmed, nil) }
                return Option(String(name), String(value))
            }
        }

        /// The value of a name, compared without regard to case (RFC 4855 §3).
        public subscript(name: String) -> String? {
            get { options.first { $0.name.lowercased() == name }?.value }
            set {
                let index = options.firstIndex { $0.name.lowercased() == name }
                switch (index, newValue) {
                case (let index?, let value?): options[index].value = value
                case (let index?, nil): options.remove(at: index)
                case (nil, let value?): options.append(Option(name, value))
                case (nil, nil): break
                }
            }
        }

        public var isEmpty: Bool { options.isEmpty }

        public var text: String {
            options.map { option in option.value.map { "\(option.name)=\($0)" } ?? option.name }
                .joined(separator: ";")
        }
    }

    /// `a=rtcp-fb`: feedback that may be used with a payload type, or with all (RFC 4585 §4.2).
    public struct RTCPFeedback: SDPAttributeValue {
        public static let name = "rtcp-fb"
        /// Nil for `*`.
        public var payloadType: UInt8?
        /// As `nack pli`.
        public var feedback: String

        public init(payloadType: UInt8?, feedback: String) {
            self.payloadType = payloadType
            self.feedback = feedback
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count >= 2 else { return nil }
            if fields[0] != "*" {
                guard let type = UInt8(sdpDigits: fields[0]), type < 128 else { return nil }
                payloadType = type
            }
            self.feedback = fields.dropFirst().sdpText
        }

        public var attributeValue: String { "\(payloadType.map { "\($0)" } ?? "*") \(feedback)" }
    }

    /// `a=extmap`: the identifier of a header extension (RFC 8285 §5).
    public struct ExtensionMap: SDPAttributeValue {
        public static let name = "extmap"
        /// 1 to 14 for both header forms, 15 to 255 for the two-byte form; above only while offering.
        public var id: UInt16
        /// Nil means the section's direction.
        public var direction: Direction?
        public var uri: String
        /// Whatever stands behind the URI.
        public var attributes: String?

        public init(id: UInt16, direction: Direction? = nil, uri: String, attributes: String? = nil) {
            self.id = id
            self.direction = direction
            self.uri = uri
            self.attributes = attributes
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count >= 2 else { return nil }
            let cut = fields[0].sdpCut("/")
            guard let id = UInt16(sdpDigits: cut?.head ?? fields[0]), id > 0 else { return nil }
            if let word = cut?.tail {
                guard let value = Direction(rawValue: String(word)) else { return nil }
                direction = value
            }
            self.id = id
            self.uri = String(fields[1])
            self.attributes = fields.count > 2 ? fields[2...].sdpText : nil
        }

        public var attributeValue: String {
            let head = direction.map { "\(id)/\($0.rawValue)" } ?? "\(id)"
            return "\(head) \(uri)" + (attributes.map { " \($0)" } ?? "")
        }
    }
}
