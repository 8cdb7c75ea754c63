/// Who records an issue in the running test. The module for tests brings one; a program has none.
package protocol IssueRecording: SendableMetatype {
    /// Makes the running test fail.
    static func record(_ message: String, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)
    /// Names the running test.
    static var testID: String? { get }
}

package enum Reporting {
    /// The recorder is found by its name, so that a program carries nothing of the tests, and a test needs no set-up.
    package static let recorder: (any IssueRecording.Type)? =
        _typeByName("36ComposableArchitectureStandInTesting13IssueRecorderO") as? any IssueRecording.Type
}

/// Reports a mistake in how the library is used: the running test fails, a program writes it to standard error.
public func reportIssue(
    _ message: @autoclosure () -> String? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
) {
    let message = message() ?? "An issue was reported."
    guard let recorder = Reporting.recorder else {
        StandardError.write("\(fileID):\(line): \(message)\n")
        return
    }
    recorder.record(message, fileID: fileID, filePath: filePath, line: line, column: column)
}

/// A closure that reports an issue when it is called, and returns a placeholder.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> Result = (),
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
) -> @Sendable (repeat each Argument) -> Result {
    { (argument: repeat each Argument) in
        reportIssue("Unimplemented: \(description())", fileID: fileID, filePath: filePath, line: line, column: column)
        return placeholder()
    }
}

/// A closure that reports an issue when it is called, and throws.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
) -> @Sendable (repeat each Argument) async throws -> Result {
    { (argument: repeat each Argument) in
        reportIssue("Unimplemented: \(description())", fileID: fileID, filePath: filePath, line: line, column: column)
        throw UnimplementedFailure(description: description())
    }
}

/// What an unimplemented throwing closure throws.
public struct UnimplementedFailure: Error {
    /// What is unimplemented.
    public let description: String
}
