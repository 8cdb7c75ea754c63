/// An offer with its data channels taken out, for an engine that would accept them.
///
/// A section is refused in an offer as in an answer by port 0 (RFC 3264 §5.1, RFC 8829 §5.3.1), and leaves its bundle
/// (RFC 9143 §7.3.1): the answerer has nothing left to accept.
enum ReceiveOnlyOffer {
    static func refusingData(_ sdp: String) -> String {
        let lines = sdp.split(whereSeparator: \.isNewline)
        let refused = names(of: "application", in: lines)
        guard lines.contains(where: { $0.hasPrefix("m=application ") }) else { return sdp }
        let rewritten = lines.map { line in
            if line.hasPrefix("m=application ") { return closed(line) }
            if line.hasPrefix("a=group:BUNDLE") {
                return line.split(separator: " ").filter { !refused.contains($0) }.joined(separator: " ")
            }
            return String(line)
        }
        return rewritten.map { $0 + "\r\n" }.joined()
    }

    private static func closed(_ line: Substring) -> String {
        var words = line.split(separator: " ").map(String.init)
        if words.count > 1 { words[1] = "0" }
        return words.joined(separator: " ")
    }

    /// The `a=mid` of each section of a kind.
    private static func names(of kind: Substring, in lines: [Substring]) -> Set<Substring> {
        var names: Set<Substring> = []
        var isInside = false
        for line in lines {
            if line.hasPrefix("m=") { isInside = line.dropFirst(2).hasPrefix(kind + " ") }
            if isInside, line.hasPrefix("a=mid:") { names.insert(line.dropFirst(6)) }
        }
        return names
    }
}
