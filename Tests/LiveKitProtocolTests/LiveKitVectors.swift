import Foundation

/// The files of `Tests/Vectors/livekit`.
enum LiveKitVectors {
    static func data(_ name: String) throws -> Data {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: tests.appending(path: "Vectors/livekit/\(name)"))
    }

    static func text(_ name: String) throws -> String { String(decoding: try data(name), as: UTF8.self) }
}
