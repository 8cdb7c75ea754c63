/// The few lines of a session description that tell connections apart. It refuses nothing: whether the description is a
/// good one is the engine's to say.
struct DescriptionScan: Hashable, Sendable {
    /// One `m=` line and what follows it.
    struct Section: Hashable, Sendable {
        /// `audio`, `video`, `application`, …
        var kind: Substring
        var isMedia: Bool { kind == "audio" || kind == "video" }
    }

    /// The second word of `o=` (RFC 8866 §5.2).
    private(set) var sessionID: String?
    /// Of the certificates; the same for as long as a connection lives (RFC 8842 §5).
    private(set) var fingerprints: Set<Substring> = []
    /// The generations of ICE.
    private(set) var usernameFragments: Set<Substring> = []
    private(set) var sections: [Section] = []
    /// Without candidates: two descriptions that are the same but for candidates say the same.
    private(set) var essence: [Substring] = []

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("a=candidate:") || line == "a=end-of-candidates" { continue }
            essence.append(line)
            if line.hasPrefix("o=") {
                let words = line.split(separator: " ")
                if words.count > 1, sessionID == nil { sessionID = String(words[1]) }
            } else if line.hasPrefix("m=") {
                sections.append(Section(kind: line.dropFirst(2).prefix { $0 != " " }))
            } else if line.hasPrefix("a=fingerprint:") {
                fingerprints.insert(line.dropFirst("a=fingerprint:".count))
            } else if line.hasPrefix("a=ice-ufrag:") {
                usernameFragments.insert(line.dropFirst("a=ice-ufrag:".count))
            }
        }
    }

    /// Whether there is anything that can be received.
    var hasMedia: Bool { sections.contains(where: \.isMedia) }

    /// Whether a candidate can belong to this description: one that names another generation of ICE does not.
    func hasGeneration(of candidate: ICECandidate.Candidate) -> Bool {
        candidate.usernameFragment.map { usernameFragments.contains($0[...]) } ?? true
    }

    /// Whether `later` belongs to the connection that this one began, and not to a new one of the same peer.
    ///
    /// The certificate stays. So does the session id (RFC 8829 §5.2.2) or, with aiortc, which makes a new one for each
    /// offer, ICE's user name. A process that uses one certificate for all its connections has neither in common.
    func isContinued(by later: DescriptionScan) -> Bool {
        fingerprints == later.fingerprints
            && (sessionID == later.sessionID || !usernameFragments.isDisjoint(with: later.usernameFragments))
    }
}
