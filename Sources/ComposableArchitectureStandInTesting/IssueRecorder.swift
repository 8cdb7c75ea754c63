import ComposableArchitectureStandIn
import Testing

/// Records in Swift Testing what the stand-in reports. `Reporting` finds it by this very name.
enum IssueRecorder: IssueRecording {
    static func record(_ message: String, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt) {
        Issue.record(
            Comment(rawValue: message),
            sourceLocation: SourceLocation(
                fileID: "\(fileID)", filePath: "\(filePath)", line: Int(line), column: max(1, Int(column))))
    }

    static var testID: String? { Test.current.map { "\($0.id)" } }
}

/// The place in a test that an issue is recorded for.
struct Place: Sendable {
    let fileID: StaticString
    let filePath: StaticString
    let line: UInt
    let column: UInt

    func record(_ message: String) {
        IssueRecorder.record(message, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
