import Foundation

/// The files of `Tests/Vectors`.
enum Vectors {
    static func text(_ name: String) throws -> String {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return String(decoding: try Data(contentsOf: tests.appending(path: "Vectors/\(name)")), as: UTF8.self)
    }
}
