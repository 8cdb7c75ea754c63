internal import Foundation

/// What people say of files: names, kinds, digests.
extension Texts {
    /// The longest name of a file, in bytes of UTF-8: what file systems take.
    private static let longestFileName = 255
    private static let longestEnding = 32

    /// A file's name as it is kept: one way to write each letter (UAX #15), without what parts paths, what nobody sees
    /// and what turns the writing direction, by which an ending could look like another. A name that is too long loses
    /// its middle. It is shown, and never a path on this server's disk.
    static func fileName(_ text: String) throws(ChatError) -> String {
        guard text.utf8.count <= 16 * longestFileName else {
            throw .invalid("name", "A file's name has at most \(longestFileName) bytes.")
        }
        var scalars = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars where !isTakenOut(scalar) {
            scalars.append(scalar)
        }
        let name = trimmed(String(scalars))
        // A name of dots alone means a folder to most systems.
        guard name.contains(where: { $0 != "." }) else {
            throw .invalid("name", "A file has a name with something to see in it.")
        }
        return shortened(name)
    }

    private static func isTakenOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "/", "\\", "\u{2044}", "\u{2215}", "\u{29F8}", "\u{FF0F}", "\u{FF3C}", "\u{FFFC}", "\u{FFFD}": true
        default: isControl(scalar)
        }
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > longestFileName else { return name }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= longestEnding { ending = String(name[dot...]) }
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > longestFileName { stem.removeLast() }
        // One character can be longer than all of it.
        return stem.isEmpty ? "file" + ending : stem + ending
    }

    /// `type/subtype` in lower case, without parameters (RFC 6838 §4.2).
    static func mediaType(_ text: String?) throws(ChatError) -> String {
        let type = trimmed(String((text ?? "").prefix { $0 != ";" })).lowercased()
        if type.isEmpty { return "application/octet-stream" }
        let parts = type.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ isRestrictedName($0) }) else {
            throw .invalid("media_type", "This takes a media type such as image/png.")
        }
        return type
    }

    private static func isRestrictedName(_ name: Substring) -> Bool {
        guard (1...127).contains(name.utf8.count), let first = name.utf8.first, isLetterOrDigit(first) else {
            return false
        }
        return name.utf8.allSatisfy { isLetterOrDigit($0) || "!#$&-^_.+".utf8.contains($0) }
    }

    /// A SHA-256 digest in hexadecimal, in lower case.
    static func digest(_ text: String) throws(ChatError) -> String {
        guard text.utf8.count == 64, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw .invalid("sha256", "This takes 64 hexadecimal digits.")
        }
        return text.lowercased()
    }

    /// - Throws: where the server is told not to take such files.
    static func checkType(of name: String, _ mediaType: String, _ limits: Limits) throws(ChatError) {
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        let family = String(mediaType.prefix { $0 != "/" }) + "/*"
        guard limits.refusedFileTypes.isDisjoint(with: [ending, mediaType, family]) else {
            throw ChatError(.invalid, code: "file_type_refused", "This server does not take files of this kind.")
        }
    }
}
