/// A way to reach a peer, as it travels over the app's signaling.
public struct ICECandidate: Codable, Hashable, Sendable {
    /// `ice`.
    public var type: String
    /// Whom it leads to.
    public var from: String
    /// Who is to use it.
    public var to: String
    /// The way itself.
    public var candidate: Candidate

    /// What W3C calls RTCIceCandidateInit.
    public struct Candidate: Codable, Hashable, Sendable {
        /// `candidate:…`; empty: there are no more (RFC 8838 §13).
        public var candidate: String
        /// The place of the media section it belongs to, counted from 0.
        public var sdpMLineIndex: Int
        /// The name of that section.
        public var sdpMid: String?

        public init(candidate: String, sdpMLineIndex: Int, sdpMid: String?) {
            self.candidate = candidate
            self.sdpMLineIndex = sdpMLineIndex
            self.sdpMid = sdpMid
        }
    }

    public init(type: String, from: String, to: String, candidate: Candidate) {
        self.type = type
        self.from = from
        self.to = to
        self.candidate = candidate
    }
}

extension ICECandidate.Candidate {
    /// The candidate-attribute without `a=`; nil when the text is none. Empty for the end of candidates.
    var attribute: String? {
        var line = candidate[...]
        while let last = line.last, last.isWhitespace { line.removeLast() }
        if line.hasPrefix("a=") { line.removeFirst(2) }
        if line.isEmpty || line == "end-of-candidates" { return "" }
        return line.hasPrefix("candidate:") ? String(line) : nil
    }

    /// The generation of ICE that it belongs to, where it says so (RFC 8839 §5.1, the extension `ufrag`).
    var usernameFragment: String? {
        let words = candidate.split(separator: " ")
        guard let name = words.firstIndex(of: "ufrag"), words.indices.contains(name + 1) else { return nil }
        return String(words[name + 1])
    }
}
