import CallSignaling
import SocketIO
import Testing

/// Runs `body` with a call-room server on a free port.
func withRooms<Result>(
    _ limits: CallRoomServer.Limits = CallRoomServer.Limits(),
    _ body: (CallRoomServer, String) async throws -> Result
) async throws -> Result {
    let server = SocketIOServer()
    let rooms = CallRoomServer(server: server, limits: limits)
    let port = try await server.bind(host: "127.0.0.1", port: 0)
    do {
        let result = try await body(rooms, "http://127.0.0.1:\(port)")
        await server.shutdown()
        return result
    } catch {
        await server.shutdown()
        throw error
    }
}

func join(_ url: String, _ username: String, isCaller: Bool, room: Int = 1) async throws -> CallRoomClient {
    var configuration = SocketIOClientConfiguration()
    configuration.reconnection.delay = .milliseconds(20)
    return try await CallRoomClient.join(
        url: url, room: room, username: username, isCaller: isCaller, configuration: configuration)
}

struct CallRoomServerTests {
    @Test func `caller and callee learn of each other and exchange signals byte for byte`() async throws {
        try await withRooms { rooms, url in
            let ann = try await join(url, "Ann", isCaller: true)
            var toAnn = ann.events.makeAsyncIterator()
            #expect(await toAnn.next() == .connected)
            let bob = try await join(url, "Bob", isCaller: false)
            var toBob = bob.events.makeAsyncIterator()
            #expect(await toBob.next() == .connected)
            #expect(await toBob.next() == .userJoined(CallRoomUser(username: "Ann", roomId: 1, isCaller: true)))
            #expect(await toAnn.next() == .userJoined(CallRoomUser(username: "Bob", roomId: 1, isCaller: false)))
            let offer = try #require(RawJSON(#"{"type":"offer", "sdp":"v=0\r\n","n":1.50e0,"ї":[null]}"#))
            ann.send(.offer(offer))
            #expect(await toBob.next() == .offer(offer))
            bob.send(.answer(.null))
            bob.send(.candidate(offer))
            #expect(await toAnn.next() == .answer(.null))
            #expect(await toAnn.next() == .candidate(offer))
            await bob.leave()
            #expect(await toBob.next() == .disconnected(.local, willReconnect: false))
            #expect(await toAnn.next() == .userLeft(username: "Bob"))
            #expect(rooms.users(in: 1).map(\.username) == ["Ann"])
            await ann.leave()
        }
    }

    @Test func `a newcomer is told who is there, and that nobody is`() async throws {
        try await withRooms { rooms, url in
            func lists(_ name: String, isCaller: Bool) async throws -> (SocketIOClient, RawJSON?) {
                var configuration = SocketIOClientConfiguration()
                configuration.connectParams = [
                    .init(name: "roomId", value: "9"), .init(name: "username", value: name),
                    .init(name: "isCaller", value: isCaller ? "true" : "false"),
                ]
                let client = try SocketIOClient(url: url, configuration: configuration)
                let events = client.events()
                try await client.connect()
                for await event in events where event.name == "room_users" { return (client, event.arguments.first) }
                return (client, nil)
            }
            let (ann, empty) = try await lists("Ann", isCaller: true)
            #expect(empty == RawJSON(#"{"users":[]}"#))
            let (bob, one) = try await lists("Bob", isCaller: false)
            #expect(one == RawJSON(#"{"users":[{"username":"Ann","isCaller":true}]}"#))
            await ann.disconnect()
            await bob.disconnect()
        }
    }

    @Test func `rooms do not hear each other`() async throws {
        try await withRooms { rooms, url in
            let ann = try await join(url, "Ann", isCaller: true, room: 1)
            let bob = try await join(url, "Bob", isCaller: false, room: 2)
            let cid = try await join(url, "Cid", isCaller: false, room: 1)
            #expect(rooms.population == (rooms: 2, members: 3))
            ann.send(.offer(RawJSON(1)))
            var toCid = cid.events.makeAsyncIterator()
            while let event = await toCid.next(), event != .offer(RawJSON(1)) {}
            await ann.leave()
            await bob.leave()
            var heard: [CallRoomClient.Event] = []
            for await event in bob.events { heard.append(event) }
            #expect(heard == [.connected, .disconnected(.local, willReconnect: false)])
            await cid.leave()
        }
    }

    @Test func `a participant of the server's own process is a member like any other`() async throws {
        try await withRooms { rooms, url in
            let echo = try rooms.joinLocal(room: 1, username: "Echo", isCaller: false)
            var toEcho = echo.events.makeAsyncIterator()
            #expect(await toEcho.next() == .connected)
            let ann = try await join(url, "Ann", isCaller: true)
            var toAnn = ann.events.makeAsyncIterator()
            #expect(await toAnn.next() == .connected)
            #expect(await toAnn.next() == .userJoined(CallRoomUser(username: "Echo", roomId: 1, isCaller: false)))
            #expect(await toEcho.next() == .userJoined(CallRoomUser(username: "Ann", roomId: 1, isCaller: true)))
            ann.send(.offer(RawJSON(string: "o")))
            #expect(await toEcho.next() == .offer(RawJSON(string: "o")))
            echo.emit(.answer(RawJSON(string: "a")))
            #expect(await toAnn.next() == .answer(RawJSON(string: "a")))
            echo.leave()
            echo.leave()
            #expect(await toEcho.next() == nil)
            #expect(await toAnn.next() == .userLeft(username: "Echo"))
            await ann.leave()
        }
    }

    @Test func `a participant of the server's own process comes back to where it stood`() async throws {
        try await withRooms { rooms, url in
            let first = try rooms.joinLocal(room: 1, username: "Echo", isCaller: false)
            let ann = try SocketIOClient(url: url + "/?roomId=1&username=Ann&isCaller=1")
            let events = ann.events()
            try await ann.connect()
            let ben = try await join(url, "Ben", isCaller: false)
            first.leave()
            let again = try rooms.joinLocal(room: 1, username: "Echo", isCaller: false)
            #expect(rooms.users(in: 1).map(\.username) == ["Echo", "Ann", "Ben"])
            let list = try #require(
                RawJSON(#"{"users":[{"username":"Echo","isCaller":false},{"username":"Ben","isCaller":false}]}"#))
            for await event in events where event.name == "room_users" && event.arguments.first == list { break }
            again.leave()
            await ann.disconnect()
            await ben.leave()
        }
    }

    @Test(arguments: [
        ("", "", "missing_parameter", "roomId"),
        ("roomId=x&username=a&isCaller=1", "", "malformed_parameter", "roomId"),
        ("roomId=9007199254740992&username=a&isCaller=1", "", "malformed_parameter", "roomId"),
        ("roomId=1&isCaller=1", "", "missing_parameter", "username"),
        ("roomId=1&username=%20&isCaller=1", "", "malformed_parameter", "username"),
        ("roomId=1&username=a", "", "missing_parameter", "isCaller"),
        ("roomId=1&username=a%0Ab&isCaller=1", "", "malformed_parameter", "username"),
        ("roomId=1&username=%FF&isCaller=1", "", "malformed_parameter", "username"),
        ("roomId=1&username=a&isCaller=maybe", "", "malformed_parameter", "isCaller"),
        ("", #"{"roomId":1.5,"username":"a","isCaller":true}"#, "malformed_parameter", "roomId"),
        ("", #"{"roomId":1,"username":7,"isCaller":true}"#, "malformed_parameter", "username"),
    ])
    func `says which parameter is missing or malformed`(
        query: String, auth: String, code: String, field: String
    ) async throws {
        try await withRooms { _, url in
            var configuration = SocketIOClientConfiguration()
            configuration.auth = RawJSON(auth)
            let client = try SocketIOClient(url: url + "/?" + query, configuration: configuration)
            let error = await #expect(throws: SocketIOClientError.self) { try await client.connect() }
            guard case .disconnected(.refused(let message, let data)) = error else {
                Issue.record("Refused in another way: \(String(describing: error))")
                return
            }
            #expect(message.hasPrefix(field))
            #expect(data?["code"]?.string == code && data?["field"]?.string == field)
        }
    }

    @Test(arguments: [
        #"{"roomId":5,"username":"Ї","isCaller":false}"#, #"{"roomId":"5","username":"Ї","isCaller":"0"}"#,
    ])
    func `takes the parameters from the auth object too`(auth: String) async throws {
        try await withRooms { rooms, url in
            var configuration = SocketIOClientConfiguration()
            configuration.auth = RawJSON(auth)
            let client = try SocketIOClient(url: url, configuration: configuration)
            try await client.connect()
            #expect(rooms.users(in: 5) == [CallRoomUser(username: "Ї", roomId: 5, isCaller: false)])
            await client.disconnect()
        }
    }

    @Test func `a full room says so, a large payload as well`() async throws {
        try await withRooms(.init(membersPerRoom: 1, payload: 100)) { _, url in
            let ann = try await join(url, "Ann", isCaller: true)
            let error = await #expect(throws: SocketIOClientError.self) { try await join(url, "Bob", isCaller: false) }
            #expect(error?.description.contains("the room is full: 1 people are in it") == true)
            await ann.leave()
            let client = try SocketIOClient(url: url + "/?roomId=2&username=a&isCaller=1")
            var events = client.events().makeAsyncIterator()
            try await client.connect()
            client.emit("offer", [.json(RawJSON(string: String(repeating: "x", count: 200)))])
            var event = await events.next()
            while let other = event, other.name != "room_error" { event = await events.next() }
            #expect(event?.name == "room_error" && event?.arguments.first?["code"]?.string == "payload_too_large")
            await client.disconnect()
        }
    }

    @Test func `what is attached counts for the size of a signal`() async throws {
        try await withRooms(.init(payload: 100)) { _, url in
            let bob = try await join(url, "Bob", isCaller: false)
            let ann = try SocketIOClient(url: url + "/?roomId=1&username=Ann&isCaller=1")
            let events = ann.events()
            try await ann.connect()
            // Each by itself would pass.
            let attachment = [UInt8](repeating: 1, count: 60)
            ann.emit("offer", [1, .binary(attachment), .binary(attachment)])
            ann.emit("offer", [2])
            var toBob = bob.events.makeAsyncIterator()
            var heard = await toBob.next()
            while let other = heard {
                if case .offer = other { break }
                heard = await toBob.next()
            }
            try #require(heard == .offer(RawJSON(2)))
            for await event in events where event.name == "room_error" {
                #expect(event.arguments.first?["code"]?.string == "payload_too_large")
                break
            }
            await ann.disconnect()
            await bob.leave()
        }
    }

    @Test func `a server that goes down sends nobody away: calls go on while their media flows`() async throws {
        let server = SocketIOServer()
        let rooms = CallRoomServer(server: server)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        var people: [CallRoomClient] = []
        for room in 1...10 {
            for (name, isCaller) in [("Ann", true), ("Bob", false)] {
                people.append(try await join("http://127.0.0.1:\(port)", name, isCaller: isCaller, room: room))
            }
        }
        await server.shutdown()
        for person in people {
            var told: [CallRoomClient.Event] = []
            for await event in person.events {
                if case .disconnected(_, let willReconnect) = event {
                    #expect(willReconnect)
                    break
                }
                told.append(event)
            }
            #expect(!told.contains { if case .userLeft = $0 { true } else { false } })
            await person.leave()
        }
        #expect(rooms.population == (rooms: 0, members: 0))
    }

    @Test func `a client that connects again takes its lost connection's place, and nobody notices`() async throws {
        try await withRooms { rooms, url in
            let ann = try await join(url, "Ann", isCaller: true)
            func bob() async throws -> CallRoomClient {
                var configuration = SocketIOClientConfiguration()
                configuration.reconnection = .never
                configuration.connectParams = [.init(name: "client", value: "b7")]
                return try await CallRoomClient.join(
                    url: url, room: 1, username: "Bob", isCaller: false, configuration: configuration)
            }
            let lost = try await bob()
            let again = try await bob()
            for await event in lost.events { if case .disconnected = event { break } }
            #expect(rooms.users(in: 1).map(\.username) == ["Ann", "Bob"])
            // Hanging up is leaving; no lost connection hides it.
            await again.leave()
            var heard: [CallRoomClient.Event] = []
            for await event in ann.events {
                heard.append(event)
                if event == .userLeft(username: "Bob") { break }
            }
            let joined = CallRoomClient.Event.userJoined(
                CallRoomUser(username: "Bob", roomId: 1, isCaller: false))
            #expect(heard == [.connected, joined, .userLeft(username: "Bob")])
            await ann.leave()
        }
    }

    @Test func `when one of two connections of a name goes, the others are told who is there`() async throws {
        try await withRooms { rooms, url in
            let ann = try SocketIOClient(url: url + "/?roomId=1&username=Ann&isCaller=1")
            let events = ann.events()
            try await ann.connect()
            let lost = try await join(url, "Bob", isCaller: false)
            let again = try await join(url, "Bob", isCaller: false)
            await lost.leave()
            var names: [String] = []
            for await event in events {
                names.append(event.name)
                if event.name == "room_users", names.count > 1 {
                    #expect(event.arguments.first == RawJSON(#"{"users":[{"username":"Bob","isCaller":false}]}"#))
                    break
                }
            }
            #expect(names == ["room_users", "room_user_joined", "room_user_joined", "room_users"])
            await again.leave()
            await ann.disconnect()
        }
    }
}
