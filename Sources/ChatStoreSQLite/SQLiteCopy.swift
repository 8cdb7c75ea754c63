internal import ChatModel
internal import Foundation

/// A copy of a database as it was before its tables were changed: `chat.sqlite.before-STEP-DATE` beside it.
struct SQLiteCopy {
    let path: String
    private let original: String

    /// How many are kept, the newest among them.
    private static let mostKept = 3

    /// - Parameters:
    ///   - path: of the database.
    ///   - step: the first that it has not taken.
    init(of path: String, before step: String, at now: Timestamp) {
        original = path
        // As ISO 8601 writes it in its basic form, which file names bear everywhere: 20261123T164007250Z.
        let date = now.description.filter { !"-:.".contains($0) }
        self.path = "\(path).before-\(step)-\(date)"
    }

    /// Takes away all but the newest. One that cannot be removed stays: it is no reason not to start.
    func removeOlder() {
        let file = URL(filePath: original)
        let folder = file.deletingLastPathComponent()
        let prefix = file.lastPathComponent + ".before-"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let copies = names.filter { $0.hasPrefix(prefix) }.sorted { Self.date(of: $0) < Self.date(of: $1) }
        for name in copies.dropLast(Self.mostKept) {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }

    /// Empty, and so before all others, for the copies of earlier versions, which bore none.
    private static func date(of name: String) -> Substring {
        guard let last = name.split(separator: "-").last, last.first?.isNumber == true else { return "" }
        return last
    }
}
