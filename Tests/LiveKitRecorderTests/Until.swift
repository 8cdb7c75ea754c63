import Testing

/// Asks again and again: what another thread counts has no event. What was awaited is said when it does not come, and
/// nothing is tried after that.
func until(
    _ what: String, within limit: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        try #require(.now < end, "not in \(limit): \(what)", sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(10))
    }
}
