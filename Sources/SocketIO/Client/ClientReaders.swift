import Synchronization

/// The async sequences that read from one client. Readers come and go on any thread; elements are added on the
/// client's loop.
final class ClientReaders: Sendable {
    private enum Reader {
        case events(AsyncStream<SocketIOEvent>.Continuation)
        case states(AsyncStream<SocketIOClientState>.Continuation)
        case happenings(AsyncStream<SocketIOClientHappening>.Continuation)
    }

    private struct State {
        var readers: [Int: Reader] = [:]
        var nextNumber = 0

        mutating func add(_ reader: Reader) -> Int {
            nextNumber += 1
            readers[nextNumber] = reader
            return nextNumber
        }
    }

    private let state = Mutex(State())

    func addEvents(limit: Int) -> AsyncStream<SocketIOEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SocketIOEvent.self, bufferingPolicy: .bufferingOldest(limit))
        let number = state.withLock { $0.add(.events(continuation)) }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    func addHappenings(limit: Int) -> AsyncStream<SocketIOClientHappening> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SocketIOClientHappening.self, bufferingPolicy: .bufferingOldest(limit))
        let number = state.withLock { $0.add(.happenings(continuation)) }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    func addStates(startingWith current: borrowing Mutex<SocketIOClientState>) -> AsyncStream<SocketIOClientState> {
        // Old states are of no interest to a late reader.
        let (stream, continuation) = AsyncStream.makeStream(
            of: SocketIOClientState.self, bufferingPolicy: .bufferingNewest(64))
        let number = current.withLock { current in
            continuation.yield(current)
            return state.withLock { $0.add(.states(continuation)) }
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) { state.withLock { _ = $0.readers.removeValue(forKey: number) } }

    private var all: [Reader] { state.withLock { Array($0.readers.values) } }

    /// False if a reader did not keep up.
    func yield(_ event: SocketIOEvent) -> Bool {
        var isTaken = true
        for reader in all {
            switch reader {
            case .events(let continuation):
                if case .dropped = continuation.yield(event) { isTaken = false }
            case .happenings(let continuation):
                if case .dropped = continuation.yield(.event(event)) { isTaken = false }
            case .states: break
            }
        }
        return isTaken
    }

    /// False if a reader of happenings did not keep up.
    func yield(_ new: SocketIOClientState) -> Bool {
        var isTaken = true
        for reader in all {
            switch reader {
            case .states(let continuation): continuation.yield(new)
            case .happenings(let continuation):
                if case .dropped = continuation.yield(.state(new)) { isTaken = false }
            case .events: break
            }
        }
        return isTaken
    }

    func finish() {
        for reader in all {
            switch reader {
            case .events(let continuation): continuation.finish()
            case .states(let continuation): continuation.finish()
            case .happenings(let continuation): continuation.finish()
            }
        }
    }
}
