/// The payload of `candidate`: `{"candidate": "candidate:…", "sdpMid": "0", "sdpMLineIndex": 0}`.
public struct IceCandidatePayload: Hashable, Sendable, Codable {
    /// The candidate-attribute (RFC 8839 §5.1) without `a=`; empty: no more candidates (RFC 8838 §13).
    public var candidate: String
    /// The media section by its identification tag.
    public var sdpMid: String?
    /// The media section by its place.
    public var sdpMLineIndex: Int?
    /// The generation of ICE that it belongs to (W3C); nil: what the candidate says itself, or the newest.
    public var usernameFragment: String?
    /// Which call of the sender's it belongs to, and which of the receiver's; ours (see `CallCorrespondence`).
    public var fromCall: String?
    public var toCall: String?
    /// Who sent it, and for whom, by name: from clients that say so (see `CallRoomSenders`).
    public var from: String?
    public var to: String?

    public init(
        candidate: String, sdpMid: String? = nil, sdpMLineIndex: Int? = nil, usernameFragment: String? = nil
    ) {
        self.candidate = candidate
        self.sdpMid = sdpMid
        self.sdpMLineIndex = sdpMLineIndex
        self.usernameFragment = usernameFragment
    }

    /// The sign that no more candidates follow.
    public static let endOfCandidates = IceCandidatePayload(candidate: "")

    /// Whether this is the sign that no more candidates follow.
    public var isEndOfCandidates: Bool {
        candidate.isEmpty
    }

    /// The same with a media section, which many clients insist on: the first one where there is none.
    var complete: IceCandidatePayload {
        guard sdpMid == nil || sdpMLineIndex == nil else { return self }
        var complete = self
        // In a bundle (RFC 9143) any section names the one transport.
        complete.sdpMid = sdpMid ?? sdpMLineIndex.map(String.init) ?? "0"
        complete.sdpMLineIndex = sdpMLineIndex ?? sdpMid.flatMap { Int($0) } ?? 0
        return complete
    }

    /// Reads what a peer sent.
    ///
    /// Read are W3C's `{candidate, sdpMid, sdpMLineIndex, usernameFragment}` with any further keys, the candidate under
    /// `sdp` (common in iOS clients), `id` and `label` for the section (AppRTC), an index written as text or missing,
    /// an `sdpMid` written as a number, the object wrapped once or twice, the same as JSON in a string, and the bare
    /// attribute. Null, an empty text, `{"candidate": null}` and nothing at all mean the end of candidates.
    init(tolerating json: LooseJSON?) throws(CallPayloadError) {
        guard let found = IceCandidatePayload.read(json ?? .null, depth: 0) else { throw .noCandidate }
        self = found
        fromCall = json?["fromCall"]?.text
        toCall = json?["toCall"]?.text
        from = json?["from"]?.text
        to = json?["to"]?.text
    }

    private static let texts = ["candidate", "sdp"]
    private static let wrappers = ["candidate", "iceCandidate", "ice", "payload", "data"]

    private static func read(_ json: LooseJSON, depth: Int) -> IceCandidatePayload? {
        guard depth < 4 else { return nil }
        switch json {
        case .null:
            return .endOfCandidates
        case .string(let text):
            if let attribute = attribute(text) { return IceCandidatePayload(candidate: attribute) }
            guard let inner = LooseJSON(text: text) else { return nil }
            if case .string = inner { return nil }
            return read(inner, depth: depth + 1)
        case .object(let members):
            return read(members, depth: depth)
        case .array(let elements):
            return elements.first.flatMap { read($0, depth: depth + 1) }
        case .bool, .number:
            return nil
        }
    }

    private static func read(_ members: [String: LooseJSON], depth: Int) -> IceCandidatePayload? {
        let mid = (members["sdpMid"] ?? members["id"])?.text
        // W3C's `unsigned short`.
        let index = (members["sdpMLineIndex"] ?? members["sdpMlineIndex"] ?? members["label"])?.wholeNumber
            .flatMap { UInt16(exactly: $0) }.map { Int($0) }
        let fragment = members["usernameFragment"]?.text
        for key in texts {
            if case .string(let text)? = members[key], let attribute = attribute(text) {
                return IceCandidatePayload(
                    candidate: attribute, sdpMid: mid, sdpMLineIndex: index, usernameFragment: fragment)
            }
        }
        for key in wrappers {
            if let member = members[key], member != .null, let found = read(member, depth: depth + 1) {
                return found
            }
        }
        // `RTCIceCandidate` of the end has a null or empty candidate beside its section.
        if members["candidate"] == .null {
            return IceCandidatePayload(candidate: "", sdpMid: mid, sdpMLineIndex: index, usernameFragment: fragment)
        }
        return nil
    }

    /// The attribute without `a=` and line ends; empty for the end of candidates; nil for something else.
    private static func attribute(_ text: String) -> String? {
        var line = text[...]
        while let last = line.last, last.isWhitespace { line.removeLast() }
        if line.hasPrefix("a=") { line.removeFirst(2) }
        // RFC 8840 §8.2: `a=end-of-candidates`.
        if line.isEmpty || line == "end-of-candidates" { return "" }
        guard line.hasPrefix("candidate:") else { return nil }
        return String(line)
    }
}
