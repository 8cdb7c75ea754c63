/// Does something, and waits no longer than so long; what is not done by then goes on by itself.
///
/// - Returns: whether it is done.
func isDone(within patience: Duration, _ body: @escaping @Sendable () async -> Void) async -> Bool {
    let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
    Task {
        await body()
        outcome.yield(true)
    }
    let deadline = Task {
        try await Task.sleep(for: patience)
        outcome.yield(false)
    }
    defer { deadline.cancel() }
    for await isDone in outcomes { return isDone }
    return false
}
