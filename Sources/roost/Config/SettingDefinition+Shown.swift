/// What `roost config` prints of a setting.
extension SettingDefinition {
    /// A value without what nobody is to read over a shoulder.
    func shown(_ value: String) -> String {
        let isKey = name.hasSuffix("-key") && !["file", "folder", "id"].contains(valueName) && !valueName.contains(":")
        // A file's name tells nothing of what is in it.
        let isSecret = (name.hasSuffix("secret") || name.hasSuffix("password")) && valueName != "file"
        if isSecret || isKey { return Self.hidden }
        if valueName.hasSuffix(":secret") || valueName.hasSuffix(":password"), let colon = value.firstIndex(of: ":") {
            return value[...colon] + Self.hidden
        }
        // A quotation mark or a space in front does not make it another kind of value.
        return value.prefixMatch(of: #/\W*[A-Za-z][A-Za-z0-9+.-]*:\/\//#) == nil
            ? Self.shownPairs(value) : shownURL(value)
    }

    private func shownURL(_ url: String) -> String {
        let shown = withoutPassword(url)
        guard name == "livekit-webhook" else { return shown }
        // There a name without a password is a token.
        return shown.replacing(#/^(\W*[A-Za-z][A-Za-z0-9+.-]*:\/\/)[^:\/?]*@/#) { "\($0.1)\(Self.hidden)@" }
    }

    /// A name may have an @ in it, as those of mail servers do, and a password anything.
    private func withoutPassword(_ url: String) -> String {
        let password = #/^(\W*[A-Za-z][A-Za-z0-9+.-]*:\/\/[^:?]*):(.*)@(.*)$/#.dotMatchesNewlines()
        guard let match = url.firstMatch(of: password) else { return shownQuery(of: url) }
        // Whether what is behind the @ is the host, or the end of a value of the query, cannot be told.
        if match.2.contains("?") { return "\(match.1):\(Self.hidden)" }
        return shownQuery(of: "\(match.1):\(Self.hidden)@\(match.3)")
    }

    /// Any value of a query may be a token, but for those of a database, whose names are known.
    private func shownQuery(of url: String) -> String {
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return url }
        let pieces = parts[1].split(separator: "&", omittingEmptySubsequences: false).map { piece -> String in
            guard !piece.isEmpty else { return "" }
            guard let sign = piece.firstIndex(of: "=") else { return name == "database" ? String(piece) : Self.hidden }
            let isShown = name == "database" && !piece[..<sign].lowercased().contains("password")
            return isShown ? String(piece) : piece[...sign] + Self.hidden
        }
        return "\(parts[0])?\(pieces.joined(separator: "&"))"
    }

    /// PostgreSQL ("Keyword/Value Connection Strings"): a backslash takes quotes, spaces and itself into a value.
    private static func shownPairs(_ text: String) -> String {
        text.replacing(#/(password\s*=\s*)('(?:\\.?|[^'\\])*'?|(?:\\.?|[^\s\\])+)/#.ignoresCase()) {
            "\($0.1)\(hidden)"
        }
    }

    static let hidden = "(hidden)"
}
