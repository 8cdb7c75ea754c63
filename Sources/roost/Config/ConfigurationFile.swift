internal import Foundation

/// A file of settings: `name = value` on a line each, names as the command line has them without `--`. A list repeats
/// its name. Lines that begin with `#` are for people.
struct ConfigurationFile {
    struct Entry: Equatable {
        let name: String
        let value: String
        let line: Int
    }

    let path: String
    let entries: [Entry]

    private static let largest = 1 << 20

    init(path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw CommandError("The file \(path) of --config cannot be read.", status: 64)
        }
        guard bytes.count <= Self.largest, let text = String(data: bytes, encoding: .utf8) else {
            throw CommandError("The file \(path) of --config is no text of settings.", status: 64)
        }
        try self.init(text, path: path)
    }

    init(_ text: String, path: String) throws {
        self.path = path
        entries = try text.split(omittingEmptySubsequences: false) { $0.isNewline }.enumerated().compactMap {
            try Self.entry(String($1).trimmingCharacters(in: .whitespaces), line: $0 + 1, of: path)
        }
    }

    private static func entry(_ line: String, line number: Int, of path: String) throws -> Entry? {
        guard !line.isEmpty, !line.hasPrefix("#") else { return nil }
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(where: \.isWhitespace) else {
            throw CommandError("\(path), line \(number): this is not of the form 'name = value'.", status: 64)
        }
        // Between quotes spaces at the ends count.
        let isQuoted = parts[1].count >= 2 && parts[1].hasPrefix("\"") && parts[1].hasSuffix("\"")
        let value = isQuoted ? String(parts[1].dropFirst().dropLast()) : parts[1]
        guard !value.isEmpty else {
            throw CommandError("\(path), line \(number): '\(parts[0])' has no value; leave the line out.", status: 64)
        }
        return Entry(name: parts[0].replacing("_", with: "-"), value: value, line: number)
    }
}
