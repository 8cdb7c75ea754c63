internal import CDatagram
internal import RTCWire
internal import Synchronization

/// Looks host names up with the system's resolver. That blocks, for half a minute when no name server answers, and
/// cannot be interrupted: it has threads of its own, a few at most, which end when there is nothing left to look up.
///
/// Guarded by its lock; lookups and answers happen outside it.
final class HostResolver: Sendable {
    typealias Lookup = @Sendable (_ host: String, _ port: UInt16) -> [TransportAddress]
    typealias Answer = @Sendable ([TransportAddress]) -> Void

    static let shared = HostResolver(threadLimit: 4, lookup: systemLookup)

    private struct Question {
        let server: STUNServerURL
        /// False when nobody waits for the answer any longer.
        let isWanted: @Sendable () -> Bool
        let answer: Answer
    }

    private struct State {
        var questions: [Question] = []
        var threads = 0
    }

    private let state = Mutex(State())
    private let threadLimit: Int
    private let lookup: Lookup

    init(threadLimit: Int, lookup: @escaping Lookup) {
        self.threadLimit = threadLimit
        self.lookup = lookup
    }

    /// How many threads are looking something up.
    var threads: Int { state.withLock { $0.threads } }

    /// Answers with the server's addresses, none when its name is not known; on any thread. A question that is not
    /// wanted any longer when its turn comes is not asked and not answered.
    func resolve(_ server: STUNServerURL, if isWanted: @escaping @Sendable () -> Bool, _ answer: @escaping Answer) {
        if let ip = IPAddress(server.host) { return answer([TransportAddress(ip, port: server.port)]) }
        let needsThread = state.withLock { state in
            state.questions.append(Question(server: server, isWanted: isWanted, answer: answer))
            guard state.threads < threadLimit else { return false }
            state.threads += 1
            return true
        }
        if needsThread, !DetachedThread.start(named: "roost-names", work) { failed() }
    }

    private func work() {
        while let question = next() {
            guard question.isWanted() else { continue }
            question.answer(lookup(question.server.host, question.server.port))
        }
    }

    /// The oldest question; nil when there is none, and then the thread ends.
    private func next() -> Question? {
        state.withLock { state in
            guard !state.questions.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.questions.removeFirst()
        }
    }

    /// The system could not start a thread. Another thread of ours takes the questions; if there is none, they are
    /// answered with no addresses.
    private func failed() {
        let unanswered = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [Question]() }
            defer { state.questions = [] }
            return state.questions
        }
        for question in unanswered { question.answer([]) }
    }

    private static let systemLookup: Lookup = { host, port in
        var raw = [cdatagram_address](repeating: cdatagram_address(), count: 8)
        let count = cdatagram_resolve(host, port, &raw, Int32(raw.count))
        return raw.prefix(Int(max(0, count))).compactMap(TransportAddress.init)
    }
}
