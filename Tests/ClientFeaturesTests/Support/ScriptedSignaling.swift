import ClientKit
import Synchronization

/// A signaling service that a test speaks for: what it was asked stands in `log`, what the server says is `say`.
final class ScriptedSignaling: CallSignalingService {
    enum Entry: Hashable, Sendable {
        case connect(CallIdentity)
        case disconnect
        case sent(CallSignal)
    }

    /// How the next attempts to connect go.
    enum Answer: Sendable {
        case connects
        case fails(CallSignalingError)
        /// Until it is given up.
        case nothing
    }

    let events: AsyncStream<CallSignalingEvent>
    let log: AsyncStream<Entry>
    private let said: AsyncStream<CallSignalingEvent>.Continuation
    private let logged: AsyncStream<Entry>.Continuation
    /// Written by the test, read by `connect`.
    private let answer = Mutex(Answer.connects)

    init() {
        (events, said) = AsyncStream.makeStream()
        (log, logged) = AsyncStream.makeStream()
    }

    func say(_ event: CallSignalingEvent) {
        said.yield(event)
    }

    func willAnswer(_ next: Answer) {
        answer.withLock { $0 = next }
    }

    func connect(as identity: CallIdentity) async throws(CallSignalingError) {
        logged.yield(.connect(identity))
        switch answer.withLock({ $0 }) {
        case .connects: said.yield(.connected)
        case .fails(let error): throw error
        case .nothing:
            let never = AsyncStream<Never> { _ in }
            for await _ in never {}
            throw .cancelled
        }
    }

    func disconnect() async {
        logged.yield(.disconnect)
    }

    func send(_ signal: CallSignal) async throws(CallSignalingError) {
        logged.yield(.sent(signal.withoutNames))
    }
}

extension CallSignal {
    /// The random names of calls have their own tests.
    fileprivate var withoutNames: CallSignal {
        switch self {
        case .offer(let offer): .offer(SessionDescriptionPayload(type: offer.type, sdp: offer.sdp))
        case .answer(let answer): .answer(SessionDescriptionPayload(type: answer.type, sdp: answer.sdp))
        case .candidate(let candidate):
            .candidate(
                IceCandidatePayload(
                    candidate: candidate.candidate, sdpMid: candidate.sdpMid, sdpMLineIndex: candidate.sdpMLineIndex))
        }
    }
}
