import Testing

@testable import CallSignaling

struct CallRoomPresenceTests {
    @Test func `a presence starts empty`() {
        #expect(CallRoomPresence(user: CallRoomUser(username: "Ann", roomId: 1, isCaller: true)).others.isEmpty)
    }
}
