import Testing

struct CallRoomInteropTests {
    @Test(arguments: ["polling", "websocket", "polling+websocket"])
    func `python-socketio's clients hold the seed's conversation on our server`(transports: String) async throws {
        try await withRooms { _, url in
            let lines = try await PythonPeer.run("room_client.py", [url, transports])
            #expect(lines == ["done"])
        }
    }
}
