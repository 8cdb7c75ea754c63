import Testing

/// Waits for what has been told, but not done yet. The line that waits is named when it does not come, and nothing is
/// tried after that.
func until(
    within limit: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        try #require(.now < end, "what is awaited here has not come in \(limit)", sourceLocation: sourceLocation)
        await Task.yield()
    }
}
