internal import CallSignaling
internal import ClientKit
internal import SocketIO
internal import Synchronization

/// `ClientKit`'s signaling for a participant that lives in the server's own process: no socket, the same events.
///
/// Guarded by its lock: who is in the room now. Effects run after it is released.
final class LocalCallSignaling: CallSignalingService {
    let events: AsyncStream<CallSignalingEvent>
    private let said: AsyncStream<CallSignalingEvent>.Continuation
    private let rooms: CallRoomServer
    private let current = Mutex<LocalParticipant?>(nil)

    init(rooms: CallRoomServer) {
        self.rooms = rooms
        (events, said) = AsyncStream.makeStream()
    }

    func connect(as identity: CallIdentity) async throws(CallSignalingError) {
        await disconnect()
        let participant: LocalParticipant
        do throws(CallRoomRefusal) {
            participant = try rooms.joinLocal(
                room: identity.room.number, username: identity.username, isCaller: identity.role.isCaller)
        } catch {
            throw .refused("\(error)")
        }
        current.withLock { $0 = participant }
        Task { [weak self] in
            for await event in participant.events { self?.pass(on: event, to: participant) }
            self?.ended(participant)
        }
    }

    func disconnect() async {
        let participant = current.withLock { current in
            defer { current = nil }
            return current
        }
        participant?.leave()
    }

    func send(_ signal: ClientKit.CallSignal) async throws(CallSignalingError) {
        guard let participant = current.withLock({ $0 }) else { throw .notConnected }
        guard let json = try? signal.json else { return }
        switch signal {
        case .offer: participant.emit(.offer(json))
        case .answer: participant.emit(.answer(json))
        case .candidate: participant.emit(.candidate(json))
        }
    }

    private func pass(on event: CallRoomEvent, to participant: LocalParticipant) {
        guard current.withLock({ $0 === participant }), let event = translate(event, for: participant) else { return }
        said.yield(event)
    }

    /// The room goes on without it: it had more to read than it may.
    private func ended(_ participant: LocalParticipant) {
        let wasCurrent = current.withLock { current in
            guard current === participant else { return false }
            current = nil
            return true
        }
        if wasCurrent { said.yield(.closed(reason: "it could not keep up with the room")) }
    }

    private func translate(_ event: CallRoomEvent, for participant: LocalParticipant) -> CallSignalingEvent? {
        switch event {
        case .connected: return .connected
        case .userJoined(let user):
            return .peerJoined(CallParticipant(username: user.username, role: CallRole(isCaller: user.isCaller)))
        case .userLeft(let username): return .peerLeft(username: username)
        case .users(let users):
            return .roster(
                users.map { CallParticipant(username: $0.username, role: CallRole(isCaller: $0.isCaller)) })
        case .offer(let json):
            let offer = CallSignalingEvent(event: "offer", json: json.text)
            // Whom an offer names, or which call it belongs to, decides; otherwise a person who takes calls in this
            // room comes first.
            if case .offer(let description)? = offer, description.toUser != nil || description.toCall != nil {
                return offer
            }
            let others = rooms.users(in: participant.user.roomId)
                .filter { $0.isCaller == participant.user.isCaller && $0.username != participant.user.username }
            return others.isEmpty ? offer : nil
        case .answer(let json): return CallSignalingEvent(event: "answer", json: json.text)
        case .candidate(let json): return CallSignalingEvent(event: "candidate", json: json.text)
        }
    }
}

extension ClientKit.CallSignal {
    /// The payload as it travels.
    var json: RawJSON {
        get throws {
            switch self {
            case .offer(let description), .answer(let description): try RawJSON(encoding: description)
            case .candidate(let candidate): try RawJSON(encoding: candidate)
            }
        }
    }
}
