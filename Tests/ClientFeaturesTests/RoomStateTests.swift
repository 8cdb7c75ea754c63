import ClientKit
import Testing

@testable import ClientFeatures

@MainActor @Suite(.timeLimit(.minutes(5))) struct `The room's screen` {
    private let signaling = ScriptedSignaling()
    private let room: RoomStateViewModel

    init() throws {
        let login = QuickCallLogin(username: "Anna", room: try #require(CallRoomID(1)))
        room = RoomStateViewModel(login: login, signaling: signaling)
    }

    /// Connects; the events are passed on by hand, as the coordinator does.
    private func connected(as role: CallRole, roster: [CallParticipant]? = []) {
        room.send(.isCallerChanged(role.isCaller))
        room.send(.connectTapped)
        room.receive(.connected)
        if let roster { room.receive(.roster(roster)) }
    }

    @Test func `offers a switch and one button at first`() {
        #expect(room.state.roleControl == .isCallerSwitch(false))
        #expect(room.state.connectButton == .connect)
        #expect(room.state.connectionText == "Not connected")
        #expect(room.state.peerText == nil)
        #expect(!room.state.canStartCall)
    }

    @Test(arguments: [true, false])
    func `lists a thousand of those whom a server names without end`(atOnce: Bool) {
        let others = (0..<1_001).map { CallParticipant(username: "Bob \($0)", role: .caller) }
        connected(as: .caller, roster: atOnce ? others : [])
        if !atOnce { for other in others { room.receive(.peerJoined(other)) } }
        #expect(room.state.sameRoleNames.count == 1_000)
    }

    @Test func `fixes the role from connecting on`() {
        room.send(.isCallerChanged(true))
        #expect(room.state.roleControl == .isCallerSwitch(true))
        room.send(.connectTapped)
        #expect(room.state.roleControl == .fixed("You are the caller"))
        #expect(room.state.connectButton == .cancel)
        room.send(.isCallerChanged(false))
        #expect(room.state.role == .caller)
        room.receive(.connected)
        #expect(room.state.roleControl == .fixed("You are the caller"))
        #expect(room.state.connectButton == .disconnect)
        room.send(.disconnectTapped)
        #expect(room.state.roleControl == .isCallerSwitch(true))
        #expect(room.state.connectButton == .connect)
    }

    @Test(arguments: [CallRole.caller, .callee])
    func `starts a call only with somebody of the opposite role`(role: CallRole) {
        connected(as: role)
        #expect(!room.state.canStartCall)
        #expect(room.state.peerText == "No \(role.opposite.rawValue) is in the room")

        room.receive(.peerJoined(CallParticipant(username: "Eve", role: role)))
        #expect(!room.state.canStartCall)
        #expect(room.state.sameRoleNames == ["Eve"])

        room.receive(.peerJoined(CallParticipant(username: "Bob", role: role.opposite)))
        #expect(room.state.canStartCall)
        #expect(room.state.peerText == "Bob is here (\(role.opposite.rawValue))")

        room.receive(.peerLeft(username: "Eve"))
        #expect(room.state.canStartCall)
        room.receive(.peerLeft(username: "Bob"))
        #expect(!room.state.canStartCall)
    }

    @Test func `lets a newcomer try with a server that tells nothing, until it knows better`() {
        connected(as: .caller, roster: nil)
        #expect(room.state.presence == .unknown)
        #expect(room.state.canStartCall)
        #expect(room.state.peerText == "This server does not say whether a callee is in the room")
        room.receive(.peerJoined(CallParticipant(username: "Bob", role: .callee)))
        room.receive(.peerLeft(username: "Bob"))
        #expect(room.state.presence == .absent)
        #expect(!room.state.canStartCall)
    }

    @Test func `does not know everybody until the server has told of the last one`() {
        connected(as: .caller, roster: nil)
        let (bob, cid) = (
            CallParticipant(username: "Bob", role: .callee), CallParticipant(username: "Cid", role: .callee)
        )
        room.receive(.peerJoined(bob))
        #expect(room.state.canStartCall && !room.state.knowsEverybody)
        room.receive(.peerJoined(cid))
        #expect(!room.state.knowsEverybody)
        room.receive(.roster([bob, cid]))
        #expect(room.state.knowsEverybody)
        room.receive(.connectionLost(reason: "timeout"))
        #expect(!room.state.knowsEverybody)
    }

    @Test func `knows a caller by the offer`() {
        connected(as: .callee, roster: nil)
        room.receive(.offer(SessionDescriptionPayload(type: .offer, sdp: "v=0")))
        #expect(room.state.presence == .present(name: nil))
        #expect(room.state.peerText == "A caller is here")
        room.receive(.peerLeft(username: "Bob"))
        #expect(room.state.presence == .unknown)
    }

    @Test func `keeps somebody who is back before the old connection is noticed to be gone`() {
        connected(as: .caller)
        let bob = CallParticipant(username: "Bob", role: .callee)
        room.receive(.peerJoined(bob))
        room.receive(.peerJoined(bob))
        room.receive(.peerLeft(username: "Bob"))
        #expect(room.state.presence == .present(name: "Bob"))
    }

    @Test func `shows a broken connection, and forgets who was there when it is back`() {
        connected(as: .caller, roster: [CallParticipant(username: "Bob", role: .callee)])
        room.receive(.connectionLost(reason: "timeout"))
        #expect(room.state.connectionText == "The connection broke, reconnecting…")
        #expect(!room.state.canStartCall)
        #expect(room.state.connectButton == .disconnect)
        room.receive(.reconnected)
        #expect(room.state.presence == .unknown)
        room.receive(.roster([]))
        #expect(room.state.presence == .absent)
    }

    @Test func `says why a connection failed, and offers to connect again`() async {
        signaling.willAnswer(.fails(.unreachable("nobody listens on localhost:3000")))
        room.send(.connectTapped)
        await room.settled()
        #expect(room.state.connection == .disconnected)
        #expect(
            room.state.notice == "The signaling server cannot be reached: nobody listens on localhost:3000.")
        signaling.willAnswer(.connects)
        room.send(.connectTapped)
        #expect(room.state.notice == nil)
    }

    @Test func `says why the server ended the connection`() {
        connected(as: .caller)
        room.receive(.closed(reason: "too many messages"))
        #expect(room.state.connection == .disconnected)
        #expect(room.state.notice == "The signaling server ended the connection: too many messages.")
    }

    @Test func `gives an attempt up`() async {
        signaling.willAnswer(.nothing)
        room.send(.connectTapped)
        room.send(.disconnectTapped)
        await room.settled()
        #expect(room.state.connection == .disconnected)
        #expect(room.state.notice == nil)
        // The abandoned attempt succeeds all the same.
        room.receive(.connected)
        #expect(room.state.connection == .disconnected)
    }

    @Test func `connects once for two taps, and asks in order`() async throws {
        room.send(.connectTapped)
        room.send(.connectTapped)
        await room.settled()
        room.send(.disconnectTapped)
        room.send(.disconnectTapped)
        room.send(.connectTapped)
        await room.settled()
        let identity = CallIdentity(username: "Anna", room: try #require(CallRoomID(1)), role: .callee)
        var log = signaling.log.makeAsyncIterator()
        #expect(await log.next() == .connect(identity))
        #expect(await log.next() == .disconnect)
        #expect(await log.next() == .connect(identity))
    }

    @Test func `hears nothing about a room it is not in`() {
        room.receive(.peerJoined(CallParticipant(username: "Bob", role: .caller)))
        room.receive(.connectionLost(reason: ""))
        room.receive(.reconnected)
        #expect(room.state.roster == RoomRoster())
        #expect(room.state.connection == .disconnected)
    }
}
