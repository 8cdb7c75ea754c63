import CallSignaling
import SocketIO
import Testing

struct CallRoomInteropTests {
    @Test(arguments: ["polling", "websocket", "polling+websocket"])
    func `python-socketio's clients hold the seed's conversation on our server`(transports: String) async throws {
        try await withRooms { _, url in
            let lines = try await PythonPeer.run("room_client.py", [url, transports])
            #expect(lines == ["done"])
        }
    }

    @Test func `our client copes with a server that does not tell the newcomer who is present`() async throws {
        let server = try PythonPeer("server.py")
        let url = "http://127.0.0.1:" + (try await server.line()) + "/rooms"
        let ann = try await join(url, "Ann", isCaller: true)
        let bob = try await join(url, "Bob", isCaller: false)
        var (toAnn, toBob) = (ann.events.makeAsyncIterator(), bob.events.makeAsyncIterator())
        #expect(await toAnn.next() == .connected)
        #expect(await toAnn.next() == .userJoined(CallRoomUser(username: "Bob", roomId: 1, isCaller: false)))
        #expect(await toBob.next() == .connected)
        ann.send(.offer(RawJSON(string: "o")))
        #expect(await toBob.next() == .userJoined(CallRoomUser(username: "", roomId: 1, isCaller: true)))
        #expect(await toBob.next() == .offer(RawJSON(string: "o")))
        await ann.leave()
        #expect(await toBob.next() == .userLeft(username: "Ann"))
        await server.kill()
        guard case .disconnected(_, willReconnect: true) = await toBob.next() else {
            Issue.record("The loss was not told.")
            return
        }
        let port = url.dropFirst("http://127.0.0.1:".count).prefix { $0 != "/" }
        let successor = try PythonPeer("server.py", [String(port)])
        #expect(await toBob.next() == .connected)
        await bob.leave()
        await successor.kill()
    }
}
