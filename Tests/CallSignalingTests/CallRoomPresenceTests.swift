import SocketIO
import Testing

@testable import CallSignaling

struct CallRoomPresenceTests {
    private let reason = SocketIOClientDisconnectReason.transportClosed

    @Test func `a loss is told once, however many attempts follow`() {
        var presence = CallRoomPresence(user: CallRoomUser(username: "Ann", roomId: 1, isCaller: true))
        #expect(presence.received(.state(.connecting)) == [])
        #expect(presence.received(.state(.connected(id: "1"))) == [.connected])
        #expect(
            presence.received(.state(.reconnecting(attempt: 1, wait: .seconds(1), because: reason)))
                == [.disconnected(reason, willReconnect: true)])
        #expect(presence.received(.state(.reconnecting(attempt: 2, wait: .seconds(2), because: reason))) == [])
        #expect(presence.received(.state(.connected(id: "2"))) == [.connected])
        #expect(!presence.isOver)
        #expect(presence.received(.state(.disconnected(.local))) == [.disconnected(.local, willReconnect: false)])
        #expect(presence.isOver)
    }
}
