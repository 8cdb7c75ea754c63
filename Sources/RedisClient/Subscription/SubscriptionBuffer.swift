/// What a subscription's reader has not taken yet.
struct SubscriptionBuffer {
    /// What an event without a message counts as, and each message besides its bytes.
    static let overhead = 64

    enum AddAction {
        case none
        /// The reader does not keep up: what waited is gone, and nothing is to come until it has taken `down`.
        case pause
    }

    enum Next {
        case event(RedisSubscriptionEvent, resumes: Bool)
        case nothingYet
        case finished
    }

    private let limit: Int
    private var events: [RedisSubscriptionEvent] = []
    /// The first event that has not been taken.
    private var position = 0
    private var bytes = 0
    private var isUp = false
    private var isPaused = false
    private var isFinished = false

    init(limit: Int) { self.limit = limit }

    mutating func add(_ event: RedisSubscriptionEvent) -> AddAction {
        guard !isFinished, !isPaused else { return .none }
        switch event {
        case .up: isUp = true
        case .down:
            // Attempts that fail are no news.
            guard isUp else { return .none }
            isUp = false
        case .message: break
        }
        guard bytes + Self.cost(of: event) <= limit else { return overflow() }
        events.append(event)
        bytes += Self.cost(of: event)
        return .none
    }

    private mutating func overflow() -> AddAction {
        (events, position, bytes) = ([.down], 0, Self.overhead)
        (isUp, isPaused) = (false, true)
        return .pause
    }

    mutating func next() -> Next {
        guard position < events.count else { return isFinished ? .finished : .nothingYet }
        let event = events[position]
        bytes -= Self.cost(of: event)
        // The message is not to stay for as long as others wait.
        events[position] = .down
        position += 1
        // What was taken is cleared away when it is half of all: each event is moved once, in the mean.
        if position * 2 >= events.count {
            events.removeFirst(position)
            position = 0
        }
        let resumes = isPaused && events.isEmpty && !isFinished
        if resumes { isPaused = false }
        return .event(event, resumes: resumes)
    }

    /// Nothing more comes.
    mutating func finish() { isFinished = true }

    private static func cost(of event: RedisSubscriptionEvent) -> Int {
        if case .message(let message) = event { overhead + message.count } else { overhead }
    }
}
