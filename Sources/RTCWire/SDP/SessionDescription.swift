/// A session description (RFC 8866): the session section and the media sections, each line in its place. What is not
/// understood is kept, so that parsing and serialising gives the same text.
public struct SessionDescription: Hashable, Sendable, SDPSection {
    /// The `o=` line.
    public var origin: SDP.Origin
    /// The `s=` line; `-` when the session has no name.
    public var sessionName: String
    /// The session section's lines from behind `s=` to the first `m=`.
    public var lines: [SDPLine]
    /// The media sections in order; an m-line's index is its place here (RFC 8829 §3.5.2.1).
    public var media: [MediaDescription]

    /// A description without media sections.
    public init(
        origin: SDP.Origin, sessionName: String = "-",
        lines: [SDPLine] = [.other(type: "t", value: "0 0")], media: [MediaDescription] = []
    ) {
        self.origin = origin
        self.sessionName = sessionName
        self.lines = lines
        self.media = media
    }

    /// The text, each line ended by CR LF.
    public var text: String {
        var text = "v=0\r\no=\(origin.text)\r\ns=\(sessionName)\r\n"
        for line in lines { text += "\(line.text)\r\n" }
        for section in media {
            text += "m=\(section.head)\r\n"
            for line in section.lines { text += "\(line.text)\r\n" }
        }
        return text
    }

    /// The index of the media section with a mid.
    public func mediaIndex(ofMid mid: String) -> Int? {
        media.firstIndex { $0.mid == mid }
    }

    /// The `a=group:BUNDLE` lines' mids (RFC 9143 §7.1).
    public var bundleGroups: [[String]] {
        all(SDP.Group.self).filter { $0.semantics == "BUNDLE" }.map(\.mids)
    }
}

extension SDP {
    /// The `o=` line (RFC 8866 §5.2).
    public struct Origin: Hashable, Sendable {
        public var username: String
        /// Digits; RFC 8829 §5.2.1 wants 63 bits.
        public var sessionID: String
        /// Grows with each description that differs from the one before.
        public var sessionVersion: UInt64
        /// `IN`.
        public var networkType: String
        /// `IP4` or `IP6`.
        public var addressType: String
        public var address: String

        public init(
            username: String = "-", sessionID: String, sessionVersion: UInt64, networkType: String = "IN",
            addressType: String = "IP4", address: String = "127.0.0.1"
        ) {
            self.username = username
            self.sessionID = sessionID
            self.sessionVersion = sessionVersion
            self.networkType = networkType
            self.addressType = addressType
            self.address = address
        }

        init?(_ value: Substring) {
            let fields = value.sdpFields
            guard fields.count == 6, UInt64(sdpDigits: fields[1]) != nil,
                let version = UInt64(sdpDigits: fields[2])
            else { return nil }
            self.init(
                username: String(fields[0]), sessionID: String(fields[1]), sessionVersion: version,
                networkType: String(fields[3]), addressType: String(fields[4]), address: String(fields[5]))
        }

        var text: String { "\(username) \(sessionID) \(sessionVersion) \(networkType) \(addressType) \(address)" }
    }
}
