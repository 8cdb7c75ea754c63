import Foundation
import Testing

@testable import FuzzTargets

/// Runs every input that a fuzzer starts from, and every input that once crashed one, through its target. A crash is a
/// crash of this test; the argument tells the target's name.
@Suite struct FuzzReplayTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz")

    @Test(arguments: FuzzTarget.all)
    func `every input of the corpus and every past crash is taken`(target: FuzzTarget) throws {
        var inputs = 0
        for folder in ["Corpus", "Crashes"] {
            let files = try? FileManager.default.contentsOfDirectory(
                at: Self.folder.appending(path: "\(folder)/\(target.name)"), includingPropertiesForKeys: nil)
            for file in files ?? [] {
                let bytes = [UInt8](try Data(contentsOf: file))
                target.run(bytes.span.bytes)
                inputs += 1
            }
        }
        #expect(inputs > 0, "Fuzz/Corpus/\(target.name) is empty")
    }

    @Test func `every target is replayed`() throws {
        let targets = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: "Targets").path)
            .filter { $0.hasSuffix(".swift") }.map { String($0.dropLast(6)) }
        #expect(Set(targets) == Set(FuzzTarget.all.map(\.name)))
    }
}
