import ClientKit
import Synchronization

/// A signaling server in memory: the seeds' one, which tells only those already present about a newcomer, or one
/// that also tells the newcomer who is present.
final class CallRoomInMemory: Sendable {
    private let tellsNewcomers: Bool
    /// Written by the members as they come and go.
    private let members = Mutex<[Member]>([])

    init(tellsNewcomers: Bool) {
        self.tellsNewcomers = tellsNewcomers
    }

    func makeService() -> any CallSignalingService {
        Member(room: self)
    }

    private func join(_ newcomer: Member, as participant: CallParticipant) {
        members.withLock { members in
            newcomer.say(.connected)
            if tellsNewcomers { newcomer.say(.roster(members.compactMap(\.participant))) }
            newcomer.set(participant)
            for member in members { member.say(.peerJoined(participant)) }
            members.append(newcomer)
        }
    }

    private func leave(_ leaver: Member) {
        members.withLock { members in
            guard let index = members.firstIndex(where: { $0 === leaver }) else { return }
            members.remove(at: index)
            guard let username = leaver.participant?.username else { return }
            for member in members { member.say(.peerLeft(username: username)) }
        }
    }

    private func relay(_ event: CallSignalingEvent, from sender: Member) {
        members.withLock { members in
            for member in members where member !== sender { member.say(event) }
        }
    }

    private final class Member: CallSignalingService {
        let events: AsyncStream<CallSignalingEvent>
        private let said: AsyncStream<CallSignalingEvent>.Continuation
        private let room: CallRoomInMemory
        private let identity = Mutex<CallParticipant?>(nil)

        init(room: CallRoomInMemory) {
            self.room = room
            (events, said) = AsyncStream.makeStream()
        }

        var participant: CallParticipant? { identity.withLock { $0 } }

        func set(_ participant: CallParticipant) { identity.withLock { $0 = participant } }

        func say(_ event: CallSignalingEvent) { said.yield(event) }

        func connect(as identity: CallIdentity) async throws(CallSignalingError) {
            room.join(self, as: CallParticipant(username: identity.username, role: identity.role))
        }

        func disconnect() async { room.leave(self) }

        func send(_ signal: CallSignal) async throws(CallSignalingError) {
            switch signal {
            case .offer(let offer): room.relay(.offer(offer), from: self)
            case .answer(let answer): room.relay(.answer(answer), from: self)
            case .candidate(let candidate): room.relay(.candidate(candidate), from: self)
            }
        }
    }
}
