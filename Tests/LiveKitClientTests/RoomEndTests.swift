import Testing

@testable import LiveKitClient

/// Rooms that are left before anybody was in them.
@Suite(.timeLimit(.minutes(2))) struct RoomEndTests {
    /// To a server that says nothing.
    private final class SilentChannel: SignalChannel {
        func send(_ message: [UInt8]) {}
        func close() {}
    }

    @Test(arguments: [false, true])
    func `the events of a room that was never joined end when it is left`(isTried: Bool) async {
        let room = Room()
        let events = room.events
        if isTried {
            await #expect(throws: RoomError.invalidURL("nowhere")) {
                try await room.connect(url: "nowhere", token: "token")
            }
        }
        await room.disconnect()
        for await event in events { Issue.record("\(event)") }
        // Also for who comes to listen later.
        for await event in room.events { Issue.record("\(event)") }
    }

    @Test func `a connect that is under way when the room is left fails with that, and the events end`() async {
        let (opened, tell) = AsyncStream.makeStream(of: Void.self)
        var options = ConnectOptions()
        options.door = SignalDoor { _, _ in
            tell.yield()
            return SilentChannel()
        }
        let room = Room(options: options)
        let events = room.events
        let joining = Task { () -> RoomError? in
            do throws(RoomError) {
                try await room.connect(url: "", token: "token")
                return nil
            } catch {
                return error
            }
        }
        for await _ in opened { break }
        await room.disconnect()
        #expect(await joining.value == .disconnected(.clientInitiated))
        for await event in events { Issue.record("\(event)") }
    }
}
