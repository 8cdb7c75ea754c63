import Foundation
import Testing

/// What the README shows as Swift is what the tests compile and run.
@Suite struct ReadmeTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private static let readme = tests.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/WebRTCCore/README.md")

    /// Lines without what indentation and blank lines add.
    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    @Test func `every snippet stands in a test, line for line`() throws {
        let readme = try String(contentsOf: Self.readme, encoding: .utf8)
        let snippets = readme.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(snippets.count >= 3)
        let files = try #require(FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil))
        let sources = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { Self.lines(try String(contentsOf: $0, encoding: .utf8)).joined(separator: "\n") + "\n" }
        for snippet in snippets {
            let wanted = Self.lines(snippet).joined(separator: "\n") + "\n"
            #expect(sources.contains { $0.contains(wanted) }, "No test contains this snippet:\n\(snippet)")
        }
    }
}
