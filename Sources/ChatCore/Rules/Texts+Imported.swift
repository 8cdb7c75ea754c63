/// Names of elsewhere, as they can be here.
extension Texts {
    /// On one line, without what nobody sees.
    static func oneLine(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { isControl($0) ? " " : $0 }
        return trimmed(String(String.UnicodeScalarView(scalars)))
    }

    /// A username that is like this text.
    static func usernameLike(_ text: String, _ limits: Limits) -> String {
        if let name = try? username(text, limits) { return name }
        var name = ""
        for byte in text.lowercased().utf8.prefix(limits.usernameLength) {
            name.append(isNameByte(byte) ? Character(Unicode.Scalar(byte)) : "-")
        }
        name = String(name.drop { ".-_".contains($0) })
        while let last = name.last, ".-".contains(last) { name.removeLast() }
        return (try? username(name, limits)) ?? (try? username("user-\(name)", limits)) ?? "user"
    }

    /// A channel's name that is like this text.
    static func channelNameLike(_ text: String, _ limits: Limits) -> String {
        if let name = try? channelName(text, limits) { return name }
        let scalars = text.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        let shown = String(String.UnicodeScalarView(scalars))
        if let name = try? channelName(shown, limits) { return name }
        let name = channelKey(shown).prefix(limits.channelNameLength).map { (character: Character) -> Character in
            (try? channelName(String(character), limits)) == nil ? "-" : character
        }
        return (try? channelName(String(name), limits)) ?? "channel"
    }

    /// A name, or where it is taken the name with a number: `ann`, `ann2`, `ann3`.
    static func numbered(_ name: String, _ number: Int, upTo length: Int) -> String {
        guard number > 1 else { return name }
        return name.prefix(length - String(number).count) + String(number)
    }
}
