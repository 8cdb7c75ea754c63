extension SDP {
    /// `a=mid`: the section's name (RFC 5888 §4).
    public struct Mid: SDPAttributeValue {
        public static let name = "mid"
        public var value: String

        public init(_ value: String) { self.value = value }

        public init?(attributeValue: String) {
            guard let field = attributeValue.sdpFields.first, attributeValue.sdpFields.count == 1, field.isSDPToken
            else { return nil }
            self.value = String(field)
        }

        public var attributeValue: String { value }
    }

    /// `a=group`: sections that belong together, mostly by sharing a transport (RFC 5888 §5, RFC 9143).
    public struct Group: SDPAttributeValue {
        public static let name = "group"
        public var semantics: String
        public var mids: [String]

        public init(semantics: String, mids: [String]) {
            self.semantics = semantics
            self.mids = mids
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard let semantics = fields.first, semantics.isSDPToken else { return nil }
            self.semantics = String(semantics)
            self.mids = fields.dropFirst().map { String($0) }
        }

        public var attributeValue: String { ([semantics] + mids).joined(separator: " ") }
    }

    /// `a=sendrecv` and its kin (RFC 8866 §6.7). The name is the value.
    public enum Direction: String, Sendable, Hashable, CaseIterable {
        case sendrecv, sendonly, recvonly, inactive

        public init(sends: Bool, receives: Bool) {
            switch (sends, receives) {
            case (true, true): self = .sendrecv
            case (true, false): self = .sendonly
            case (false, true): self = .recvonly
            case (false, false): self = .inactive
            }
        }

        public var sends: Bool { self == .sendrecv || self == .sendonly }
        public var receives: Bool { self == .sendrecv || self == .recvonly }
        /// The same seen from the other side.
        public var reversed: Direction { Direction(sends: receives, receives: sends) }

        /// What both allow.
        public func intersection(_ other: Direction) -> Direction {
            Direction(sends: sends && other.sends, receives: receives && other.receives)
        }
    }

    /// `a=msid`: a media stream's id and a track's id (RFC 8830 §2).
    public struct MediaStreamID: SDPAttributeValue {
        public static let name = "msid"
        /// `-` for a track without a stream.
        public var stream: String
        /// Left out by newer descriptions (RFC 9429), in which sections and streams alone are told apart.
        public var track: String?

        public init(stream: String, track: String?) {
            self.stream = stream
            self.track = track
        }

        public init?(attributeValue: String) {
            let fields = attributeValue.sdpFields
            guard (1...2).contains(fields.count) else { return nil }
            self.stream = String(fields[0])
            self.track = fields.count > 1 ? String(fields[1]) : nil
        }

        public var attributeValue: String { track.map { "\(stream) \($0)" } ?? stream }
    }
}

extension SDPSection {
    /// The section's `a=mid`.
    public var mid: String? { first(SDP.Mid.self)?.value }

    /// The section's direction attribute, the first if there are several; nil when there is none.
    public var direction: SDP.Direction? {
        for line in lines {
            if case .attribute(let attribute) = line, attribute.value == nil,
                let direction = SDP.Direction(rawValue: attribute.name)
            {
                return direction
            }
        }
        return nil
    }

    public mutating func append(_ direction: SDP.Direction) {
        append(SDPAttribute(direction.rawValue))
    }
}

extension SessionDescription {
    /// The direction that holds for a media section: its own, or the session's, or `sendrecv` (RFC 8866 §6.7).
    public func direction(ofSection index: Int) -> SDP.Direction {
        let own = media.indices.contains(index) ? media[index].direction : nil
        return own ?? direction ?? .sendrecv
    }
}
