import ClientKit
import Testing

@testable import ClientFeatures

private func description(
    _ type: SessionDescriptionPayload.Kind, _ sdp: String, from call: String? = nil, to receiver: String? = nil,
    named name: String? = nil
) -> SessionDescriptionPayload {
    var payload = SessionDescriptionPayload(type: type, sdp: "v=0 " + sdp)
    payload.fromCall = call
    payload.toCall = receiver
    payload.fromUser = name
    return payload
}

private func candidate(_ text: String, from call: String?, to receiver: String? = nil) -> CallSignalingEvent {
    var payload = IceCandidatePayload(candidate: "candidate:" + text)
    payload.fromCall = call
    payload.toCall = receiver
    return .candidate(payload)
}

/// Calls of two with more than two in the room, or with somebody who comes back.
@MainActor @Suite(.timeLimit(.minutes(5))) struct `A call in company` {
    /// Anna, caller, in a room with two callees.
    private func withTwoCallees() async throws -> Stage {
        let stage = try await Stage.withPeer(.caller)
        stage.signaling.say(.peerJoined(CallParticipant(username: "Cid", role: .callee)))
        stage.coordinator.room?.send(.startCallTapped)
        try await stage.signaled(.sent(.offer(description(.offer, "offer 1"))))
        return stage
    }

    /// Returns when everything said so far has been heard.
    private func heard(_ stage: Stage, as role: CallRole = .caller) async throws {
        let name = "Mark \(UInt32.random(in: 0 ... .max))"
        stage.signaling.say(.peerJoined(CallParticipant(username: name, role: role)))
        try await stage.coordinator.reaches("the mark") { $0.room?.sameRoleNames.contains(name) == true }
    }

    @Test func `is with who answered, not with who stands first in the list`() async throws {
        let stage = try await withTwoCallees()
        stage.signaling.say(.answer(description(.answer, "of Cid", from: "c", named: "Cid")))
        try await stage.coordinator.reaches("in the call with Cid") {
            $0.videoChat?.call == .connected && $0.videoChat?.peerUsername == "Cid"
        }
        stage.signaling.say(.peerLeft(username: "Bob"))
        try await heard(stage)
        #expect(stage.coordinator.videoChat?.state.call == .connected)
        stage.signaling.say(.peerLeft(username: "Cid"))
        let back = try await stage.coordinator.reaches("back") { $0.path == [.room] }
        #expect(back.room?.notice == "Cid left the room, so the call is over.")
    }

    @Test func `goes on while one who may be the partner is there`() async throws {
        let stage = try await withTwoCallees()
        stage.signaling.say(.answer(description(.answer, "of somebody")))
        try await stage.coordinator.reaches("in the call with one of them") {
            $0.videoChat?.call == .connected && $0.videoChat?.peerName == "The callee"
        }
        stage.signaling.say(.peerLeft(username: "Bob"))
        try await stage.coordinator.reaches("it was Cid") { $0.videoChat?.peerName == "Cid" }
        #expect(stage.coordinator.videoChat?.state.call == .connected)
        stage.signaling.say(.peerLeft(username: "Cid"))
        try await stage.coordinator.reaches("back") { $0.path == [.room] }
    }

    @Test func `opens for nobody else than who is called by name`() async throws {
        let stage = try await Stage.withPeer(.callee)
        var others = SessionDescriptionPayload(type: .offer, sdp: "v=0 for Cid")
        others.toUser = "Cid"
        var ours = SessionDescriptionPayload(type: .offer, sdp: "v=0 for Anna")
        ours.toUser = "Anna"
        stage.signaling.say(.offer(others))
        stage.signaling.say(.offer(ours))
        stage.signaling.say(.offer(others))
        try await stage.mediaDid(.answer(to: "v=0 for Anna"))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
    }

    @Test func `rings on when one of two callees leaves`() async throws {
        let stage = try await withTwoCallees()
        stage.signaling.say(.peerLeft(username: "Bob"))
        stage.signaling.say(.answer(description(.answer, "of Cid")))
        try await stage.coordinator.reaches("in the call with Cid") {
            $0.videoChat?.call == .connected && $0.videoChat?.peerUsername == "Cid"
        }
    }

    @Test func `is not taken for a call with somebody who joins later`() async throws {
        // A server that tells a newcomer nothing: who called is not known by name.
        let stage = Stage()
        try await stage.coordinator.logIn("Anna")
        try await stage.coordinator.connect(.callee)
        stage.signaling.say(.offer(description(.offer, "from nowhere")))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
        stage.signaling.say(.peerJoined(CallParticipant(username: "Cid", role: .caller)))
        stage.signaling.say(.peerLeft(username: "Cid"))
        stage.signaling.say(.peerJoined(CallParticipant(username: "Dan", role: .callee)))
        let snapshot = try await stage.coordinator.reaches("Dan") { $0.room?.sameRoleNames == ["Dan"] }
        #expect(snapshot.videoChat?.call == .connected)
        #expect(snapshot.videoChat?.peerName == "The caller")
        stage.signaling.say(.peerLeft(username: "Bob"))
        try await stage.coordinator.reaches("back") { $0.path == [.room] }
    }

    @Test func `of former days opens no new one`() async throws {
        let stage = try await Stage.withPeer(.callee)
        stage.signaling.say(.offer(description(.offer, "restart", from: "b", to: "long over")))
        stage.signaling.say(candidate("old, addressed", from: "b", to: "long over"))
        stage.signaling.say(candidate("old", from: "former"))
        stage.signaling.say(candidate("new", from: "b2"))
        stage.signaling.say(.offer(description(.offer, "new call", from: "b2", named: "Bob")))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
        stage.signaling.say(candidate("newer", from: "b2"))
        var candidates: [ScriptedMedia.Entry] = []
        for await entry in stage.media.log {
            switch entry {
            case .answer(let sdp): #expect(sdp == "v=0 new call")
            case .remoteCandidate: candidates.append(entry)
            default: continue
            }
            if candidates.count == 2 { break }
        }
        #expect(candidates == [.remoteCandidate("candidate:new"), .remoteCandidate("candidate:newer")])
    }

    @Test func `gives way to the partner's next one when their program was started again`() async throws {
        let stage = try await Stage.withPeer(.callee)
        stage.signaling.say(.offer(description(.offer, "first", from: "b", named: "Bob")))
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
        let next = CallSignalingEvent.offer(description(.offer, "second", from: "b2", named: "Bob"))
        // While media flows it is somebody of the same name.
        stage.signaling.say(next)
        try await heard(stage, as: .callee)
        #expect(stage.coordinator.videoChat?.state.call == .connected)
        stage.media.happen(.connectionState(.disconnected))
        try await stage.coordinator.reaches("disturbed") { $0.videoChat?.call == .reconnectingMedia }
        stage.signaling.say(.offer(description(.offer, "of another", from: "c", named: "Cid")))
        try await heard(stage, as: .callee)
        #expect(stage.coordinator.videoChat?.state.call == .reconnectingMedia)
        stage.signaling.say(next)
        try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        stage.signaling.say(next)
        try await stage.coordinator.reaches("in the next call") { $0.videoChat?.call == .connected }
        try await stage.mediaDid(.answer(to: "v=0 second"))
    }

    @Test func `goes on when the partner has not heard the answer and offers the same again`() async throws {
        let stage = try await Stage.withPeer(.callee)
        let first = CallSignalingEvent.offer(description(.offer, "first", from: "b", named: "Bob"))
        stage.signaling.say(first)
        try await stage.coordinator.reaches("in the call") { $0.videoChat?.call == .connected }
        let said = description(.answer, "answer to v=0 first", from: nil, named: nil).sdp
        stage.media.happen(.connectionState(.disconnected))
        try await stage.coordinator.reaches("disturbed") { $0.videoChat?.call == .reconnectingMedia }
        stage.signaling.say(first)
        var answers = 0
        for await entry in stage.signaling.log {
            if case .sent(.answer(let answer)) = entry, answer.sdp == said { answers += 1 }
            if answers == 2 { break }
        }
        #expect(stage.coordinator.videoChat?.state.call == .reconnectingMedia)
    }

    @Test func `that ends while the connection is broken is told when it is back`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.signaling.say(.connectionLost(reason: "server stopped"))
        try await stage.coordinator.reaches("a notice") { $0.videoChat?.notice != nil }
        stage.coordinator.videoChat?.send(.endCallTapped)
        let back = try await stage.coordinator.reaches("the room") { $0.path == [.room] }
        #expect(back.room?.connection == .reconnecting(reason: "server stopped"))
        stage.signaling.say(.reconnected)
        try await stage.signaled(.disconnect)
        let identity = CallIdentity(username: "Anna", room: try #require(CallRoomID(1)), role: .caller)
        try await stage.signaled(.connect(identity))
        try await stage.coordinator.reaches("connected again") { $0.room?.connection == .connected }
    }

    @Test func `ended by logging out leaves the room before the next login enters one`() async throws {
        let stage = try await Stage.inCall(.caller)
        stage.coordinator.room?.send(.logoutTapped)
        stage.coordinator.login.send(.usernameChanged("Eve"))
        stage.coordinator.login.send(.roomChanged("2"))
        stage.coordinator.login.send(.continueTapped)
        stage.coordinator.room?.send(.connectTapped)
        try await stage.signaled(.disconnect)
        let identity = CallIdentity(username: "Eve", room: try #require(CallRoomID(2)), role: .callee)
        try await stage.signaled(.connect(identity))
        try await stage.coordinator.reaches("connected") { $0.room?.connection == .connected }
        #expect(stage.coordinator.path == [.room])
        try await stage.mediaDid(.closed)
    }
}
