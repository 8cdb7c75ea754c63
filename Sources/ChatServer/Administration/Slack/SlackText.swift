internal import ChatCore
internal import Foundation

/// Text of Slack's (https://docs.slack.dev/messaging/formatting-message-text) as Markdown: what is in angle brackets
/// names people, channels and addresses; `&`, `<` and `>` are written `&amp;`, `&lt;`, `&gt;`.
struct SlackText {
    /// Names by identifiers.
    var users: [String: String] = [:]
    var channels: [String: String] = [:]

    /// - Returns: whom it names, too.
    func markdown(_ text: String) -> (content: String, mentions: ExportedMentions) {
        var (content, mentions, rest) = ("", ExportedMentions(), text[...])
        while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
            content += Self.plain(rest[..<start])
            content += named(rest[rest.index(after: start)..<end], &mentions)
            rest = rest[rest.index(after: end)...]
        }
        return (content + Self.plain(rest), mentions)
    }

    private static func plain(_ text: Substring) -> String {
        String(text).replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
    }

    private func named(_ text: Substring, _ mentions: inout ExportedMentions) -> String {
        let parts = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        let target = Self.plain(parts[0])
        let label = parts.count > 1 && !parts[1].isEmpty ? Self.plain(parts[1]) : nil
        switch target.first {
        case "@":
            let id = String(target.dropFirst())
            guard let name = users[id] else { return "@\(label ?? id)" }
            if !mentions.userIDs.contains(id) { mentions.userIDs.append(id) }
            return "@\(name)"
        case "#":
            let id = String(target.dropFirst())
            return "#\(channels[id] ?? label ?? id)"
        case "!": return command(target.dropFirst(), label, &mentions)
        default: return Self.link(target, label)
        }
    }

    private func command(_ name: Substring, _ label: String?, _ mentions: inout ExportedMentions) -> String {
        switch name {
        case "channel", "everyone", "group":
            mentions.isChannel = true
            return "@channel"
        case "here":
            mentions.isHere = true
            return "@here"
        // `!subteam^S1|@crew`, `!date^…|a text`.
        default: return label ?? String(name.prefix { $0 != "^" })
        }
    }

    static func link(_ url: String, _ label: String?) -> String {
        let isWeb = url.hasPrefix("https://") || url.hasPrefix("http://")
        guard isWeb else { return label ?? String(url.trimmingPrefix("mailto:")) }
        guard let label, label != url else { return url }
        let text = label.replacing("[", with: "\\[").replacing("]", with: "\\]")
        return "[\(text)](\(url.replacing("(", with: "%28").replacing(")", with: "%29")))"
    }
}
