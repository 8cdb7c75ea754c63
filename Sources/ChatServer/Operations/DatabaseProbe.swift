internal import ChatCore

/// Asks the database something small, for who has to know whether it answers. One question is under way at a time: what
/// asks every second of a database that hangs is not to take all its connections.
actor DatabaseProbe {
    private let service: ChatService
    private var question: Task<Int?, Never>?

    init(_ service: ChatService) { self.service = service }

    /// How many calls go on; nil when the database has not said so in time.
    func runningCalls(within patience: Duration) async -> Int? {
        let question = question ?? ask()
        let (answers, answer) = AsyncStream.makeStream(of: Int?.self)
        let waiting = Task {
            answer.yield(await question.value)
        }
        let timer = Task {
            try await Task.sleep(for: patience)
            answer.yield(nil)
        }
        defer {
            waiting.cancel()
            timer.cancel()
        }
        for await first in answers { return first }
        return nil
    }

    private func ask() -> Task<Int?, Never> {
        let question = Task { [service] in
            let calls = try? await service.read { try $0.runningCallCount() }
            answered()
            return calls
        }
        self.question = question
        return question
    }

    private func answered() { question = nil }
}
