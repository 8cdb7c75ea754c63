package import Foundation
internal import LiveKitClient

/// What a recording's file is called, with LiveKit's templates: `{room_name}`, `{room_id}`, `{publisher_identity}`,
/// `{track_id}`, `{track_type}`, `{track_source}`, `{time}` and `{utc}`.
///
/// Names of rooms and people are others' choice, and a template may come from anybody who may record. So every part is
/// made of letters, digits and a few signs, none begins with a dot, and a name never makes a folder: what comes of it
/// is below the folder that it is appended to. File systems know no characters of several code points, so each code
/// point is looked at by itself: a slash remains one whatever is written around it.
package struct RecordingPath: Sendable {
    /// What the names in a template stand for.
    package struct Subject: Sendable {
        package var roomName = ""
        package var roomID = ""
        package var publisherIdentity = ""
        package var trackID = ""
        /// `video` or `audio`.
        package var trackType = ""
        package var trackSource = ""
        package var time: Date

        package init(time: Date) { self.time = time }
    }

    /// What tells tracks apart, in a template that ends with a folder.
    package static let usualName = "{publisher_identity}-{track_source}-{track_id}"
    /// In a template that says nothing.
    package static let usualTemplate = "{room_name}-{room_id}/" + usualName

    /// Of folders, and of the file without its extension, in bytes. File systems take 255, and a number and an
    /// extension may follow.
    static let componentLimit = 220
    static let depthLimit = 8
    /// Of a name within a component: the sid behind it is never cut off.
    private static let nameLimit = 120
    /// That a template may end in: the container's own is appended.
    private static let extensions: Set<String> = ["mp4", "webm", "ivf", "ogg", "wav", "mkv", "h264", "vp8", "opus"]

    /// The folders, and last the file's name without an extension.
    package let components: [String]

    package init(_ template: String, of subject: Subject) {
        var template = template.isEmpty ? Self.usualTemplate : template
        if template.unicodeScalars.last == "/" { template += Self.usualName }
        var parts = template.unicodeScalars.split(separator: "/").map { String($0) }
        if let last = parts.last, let dot = last.lastIndex(of: ".") {
            let ending = last[last.index(after: dot)...].lowercased()
            if Self.extensions.contains(ending), dot != last.startIndex {
                parts[parts.count - 1] = String(last[..<dot])
            }
        }
        if parts.isEmpty { parts = [Self.usualName] }
        // The deepest ones are the file's.
        components = parts.suffix(Self.depthLimit).map { Self.component($0, of: subject) }
    }

    package var description: String { components.joined(separator: "/") }

    private static func component(_ template: String, of subject: Subject) -> String {
        var text = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            text += made(safe: rest[..<open], also: ".- _", limit: componentLimit)
            let name = rest[rest.index(after: open)..<close]
            text += made(safe: value(of: name, subject) ?? "_\(name)_", also: "-_", limit: nameLimit)
            rest = rest[rest.index(after: close)...]
        }
        text += made(safe: rest, also: ".- _", limit: componentLimit)
        let limited = text.prefix(bytes: componentLimit)
        guard let first = limited.unicodeScalars.first else { return "_" }
        if first == "." { return "_" + String(limited.unicodeScalars.dropFirst()) }
        // A mark in front would be one character with the slash before it.
        return first.isMark ? "_" + limited : limited
    }

    private static func value(of name: Substring, _ subject: Subject) -> String? {
        switch name {
        case "room_name": subject.roomName
        case "room_id": subject.roomID
        case "publisher_identity": subject.publisherIdentity
        case "track_id": subject.trackID
        case "track_type": subject.trackType
        case "track_source": subject.trackSource
        case "time": timestamp(of: subject.time, separators: true)
        case "utc": timestamp(of: subject.time, separators: false)
        default: nil
        }
    }

    /// As LiveKit writes it: `2006-01-02T150405`, in UTC; `utc` is `20060102150405`.
    private static func timestamp(of time: Date, separators: Bool) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: time)
        func digits(_ number: Int?, _ count: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = [digits(parts.year, 4), digits(parts.month, 2), digits(parts.day, 2)]
        let clock = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        return separators ? day.joined(separator: "-") + "T" + clock : day.joined() + clock
    }

    /// Letters, digits and a few signs, of at most so many bytes.
    package static func made(safe text: some StringProtocol, also signs: String, limit: Int) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            safe.append(scalar.isOfWords || signs.unicodeScalars.contains(scalar) ? scalar : "_")
        }
        return String(safe).prefix(bytes: limit)
    }
}

extension Unicode.Scalar {
    /// A letter, a digit, or a mark that belongs to one.
    fileprivate var isOfWords: Bool { properties.isAlphabetic || properties.numericType != nil || isMark }

    fileprivate var isMark: Bool {
        let category = properties.generalCategory
        return category == .nonspacingMark || category == .spacingMark
    }
}

extension String {
    /// Whole characters, of at most so many bytes: file systems count bytes.
    fileprivate func prefix(bytes limit: Int) -> String {
        var count = 0
        return String(
            prefix { character in
                count += character.utf8.count
                return count <= limit
            })
    }
}
