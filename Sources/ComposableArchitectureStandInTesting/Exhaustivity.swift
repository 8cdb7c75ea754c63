/// How much of what happens in a test store a test has to assert.
public enum Exhaustivity: Equatable, Sendable {
    /// All of it: every change of state, every received action, and the end of every effect.
    case on
    /// What the test mentions. What it skips is noted as a known issue, if asked for.
    case off(showSkippedAssertions: Bool)

    /// What the test mentions.
    public static let off = Self.off(showSkippedAssertions: false)
}

/// What a sent action set going in a test store.
public struct TestStoreTask: Hashable, Sendable {
    let rawValue: Task<Void, Never>?
    let timeout: Duration

    /// Cancels it all, and waits until it has ended.
    public func cancel() async {
        rawValue?.cancel()
        await rawValue?.value
    }

    /// Waits until it has ended; the test fails when that takes too long.
    public func finish(
        timeout duration: Duration? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        guard let rawValue else { return }
        let duration = duration ?? timeout
        let hasEnded = await withTaskGroup(of: Bool.self) { group in
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            Task {
                await rawValue.value
                end.finish()
            }
            group.addTask {
                for await _ in ends {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: duration)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        guard !hasEnded else { return }
        Place(fileID: fileID, filePath: filePath, line: line, column: column)
            .record("Expected task to finish, but it is still in flight after \(duration).")
    }

    /// Whether it was cancelled, or there was nothing to do.
    public var isCancelled: Bool { rawValue?.isCancelled ?? true }
}
