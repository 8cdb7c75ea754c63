extension SDP {
    /// `a=sctpmap:5000 webrtc-datachannel 1024`: how drafts of RFC 8841 before 2016 named what `a=sctp-port` and the
    /// section's format name now.
    public struct SCTPMap: SDPAttributeValue {
        public static let name = "sctpmap"
        public var port: UInt16
        /// `webrtc-datachannel`.
        public var application: String
        /// How many streams are wanted at least; nil when it is not said.
        public var streams: UInt16?

        public init(port: UInt16, application: String = SDP.dataChannelFormat, streams: UInt16?) {
            self.port = port
            self.application = application
            self.streams = streams
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard (2...3).contains(fields.count), let port = UInt16(sdpDigits: fields[0]) else { return nil }
            self.port = port
            self.application = String(fields[1])
            self.streams = fields.count > 2 ? UInt16(sdpDigits: fields[2]) : nil
        }

        public var attributeValue: String { "\(port) \(application)" + (streams.map { " \($0)" } ?? "") }
    }

    /// The format of a data channels' section (RFC 8841 §4.3).
    public static let dataChannelFormat = "webrtc-datachannel"
}

extension MediaDescription {
    /// How a section describes data channels.
    public enum DataChannelForm: Hashable, Sendable {
        /// RFC 8841: `UDP/DTLS/SCTP webrtc-datachannel`.
        case current
        /// The drafts before it: `DTLS/SCTP 5000` with `a=sctpmap`.
        case draft
    }

    /// Nil for a section that is not for data channels.
    public var dataChannelForm: DataChannelForm? {
        guard kind == "application" else { return nil }
        switch proto {
        case "UDP/DTLS/SCTP", "TCP/DTLS/SCTP":
            return formats == [SDP.dataChannelFormat] ? .current : nil
        case "DTLS/SCTP":
            let port = formats.first.flatMap { UInt16(sdpDigits: $0) }
            let map = all(SDP.SCTPMap.self).first { $0.port == port }
            return formats.count == 1 && map?.application == SDP.dataChannelFormat ? .draft : nil
        default:
            return nil
        }
    }

    /// The SCTP port of a data channels' section; nil for any other section and for port 0, which nobody can have
    /// (RFC 8841 §5.1: an offerer closes the association by it).
    public var dataChannelPort: UInt16? {
        let port: UInt16?
        switch dataChannelForm {
        // RFC 8841 §5 wants the attribute; who leaves it out means what all have.
        case .current: port = first(SDP.SCTPPort.self)?.value ?? 5_000
        case .draft: port = formats.first.flatMap { UInt16(sdpDigits: $0) }
        case nil: port = nil
        }
        return port == 0 ? nil : port
    }
}
