extension SDP {
    /// `a=ssrc`: something about a source (RFC 5576 §4.1).
    public struct SourceAttribute: SDPAttributeValue {
        public static let name = "ssrc"
        public var ssrc: UInt32
        /// As `cname`.
        public var attribute: String
        public var value: String?

        public init(ssrc: UInt32, attribute: String, value: String?) {
            self.ssrc = ssrc
            self.attribute = attribute
            self.value = value
        }

        public init?(attributeValue: String) {
            // Some write `a=ssrc:1234` alone, and browsers take it.
            let cut = attributeValue.sdpCut(" ")
            guard let ssrc = UInt32(sdpDigits: cut?.head ?? Substring(attributeValue)) else { return nil }
            self.ssrc = ssrc
            let rest = cut?.tail ?? ""
            let named = rest.sdpCut(":")
            self.attribute = String(named?.head ?? rest)
            self.value = (named?.tail).map { String($0) }
        }

        public var attributeValue: String {
            guard !attribute.isEmpty else { return "\(ssrc)" }
            return "\(ssrc) \(attribute)" + (value.map { ":\($0)" } ?? "")
        }
    }

    /// `a=ssrc-group`: sources that belong together: FID for a stream and its retransmissions, SIM for the layers of a
    /// simulcast (RFC 5576 §4.2).
    public struct SourceGroup: SDPAttributeValue {
        public static let name = "ssrc-group"
        public var semantics: String
        public var ssrcs: [UInt32]

        public init(semantics: String, ssrcs: [UInt32]) {
            self.semantics = semantics
            self.ssrcs = ssrcs
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard let semantics = fields.first, semantics.isSDPToken else { return nil }
            let ssrcs = fields.dropFirst().compactMap { UInt32(sdpDigits: $0) }
            guard ssrcs.count == fields.count - 1 else { return nil }
            self.semantics = String(semantics)
            self.ssrcs = ssrcs
        }

        public var attributeValue: String { ([semantics] + ssrcs.map { "\($0)" }).joined(separator: " ") }
    }

    /// `a=rid`: a stream that is told apart by a header extension (RFC 8851 §4).
    public struct RestrictionID: SDPAttributeValue {
        public static let name = "rid"
        public enum Direction: String, Sendable, Hashable {
            case send, recv
        }

        public var id: String
        public var direction: Direction
        /// As `max-width=1280;max-fps=30`.
        public var restrictions: String?

        public init(id: String, direction: Direction, restrictions: String? = nil) {
            self.id = id
            self.direction = direction
            self.restrictions = restrictions
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count >= 2, fields[0].isSDPToken, let direction = Direction(rawValue: String(fields[1])) else {
                return nil
            }
            self.id = String(fields[0])
            self.direction = direction
            self.restrictions = fields.count > 2 ? fields[2...].joined(separator: " ") : nil
        }

        public var attributeValue: String {
            "\(id) \(direction.rawValue)" + (restrictions.map { " \($0)" } ?? "")
        }
    }

    /// `a=simulcast`: the layers that are sent or wanted (RFC 8853 §5.1).
    public struct Simulcast: SDPAttributeValue {
        public static let name = "simulcast"
        /// One entry a stream, each a list of alternatives; a paused one keeps its `~`.
        public var send: [[String]]
        public var receive: [[String]]

        public init(send: [[String]] = [], receive: [[String]] = []) {
            self.send = send
            self.receive = receive
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard fields.count == 2 || fields.count == 4 else { return nil }
            send = []
            receive = []
            for index in stride(from: 0, to: fields.count, by: 2) {
                let streams = fields[index + 1].sdpParts(";").map { $0.sdpParts(",").map { String($0) } }
                switch fields[index] {
                case "send" where send.isEmpty: send = streams
                case "recv" where receive.isEmpty: receive = streams
                default: return nil
                }
            }
        }

        public var attributeValue: String {
            func list(_ streams: [[String]]) -> String {
                streams.map { $0.joined(separator: ",") }.joined(separator: ";")
            }
            var parts: [String] = []
            if !send.isEmpty { parts.append("send \(list(send))") }
            if !receive.isEmpty { parts.append("recv \(list(receive))") }
            return parts.joined(separator: " ")
        }
    }
}
