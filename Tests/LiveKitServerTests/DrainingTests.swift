import Foundation
import LiveKitProtocol
import RTCNetwork
import RTCWire
import SocketIO
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// A server that takes no new rooms, and what is seen of its workers.
@Suite(.timeLimit(.minutes(2))) struct DrainingTests {
    private static func join(
        _ server: TestServer, _ identity: String, room: String = "kitchen", _ query: String = ""
    ) async throws -> TestWebSocket {
        let token = try TestServer.token(identity: identity, room: room)
        return try await server.openWebSocket("/rtc?protocol=16\(query)&access_token=\(token)")
    }

    private static func first(_ socket: TestWebSocket) async throws -> LiveKitSignalResponse {
        switch try await socket.next() {
        case .binary(let bytes): return try LiveKitSignalResponse(serializedBytes: bytes)
        default: throw TestServer.Unusable()
        }
    }

    @Test func `a server that is draining takes no new rooms, and those that there are go on`() async throws {
        try await TestServer.run({ $0.workers = 2 }) { server in
            let ann = try await Self.join(server, "ann")
            let session = try await Self.first(ann).join.participant.sid
            #expect(!server.livekit.isDraining)
            #expect(await server.livekit.drain(within: .zero) == 1)
            #expect(server.livekit.isDraining && server.livekit.loads.map(\.isDraining) == [true, true])

            let sentence = "The server takes no new rooms: it is about to go down."
            let late = try await Self.join(server, "eve", room: "cellar")
            #expect(late.answer.hasPrefix("HTTP/1.1 503") && late.answer.hasSuffix(sentence))
            let token = try TestServer.token(identity: "eve", room: "cellar")
            let asked = try await server.ask("/rtc/validate?access_token=\(token)")
            #expect(asked.status == 503 && asked.body == sentence)
            let maker = try TestServer.serviceToken { $0.roomCreate = true }
            let made = try await server.ask(
                "/twirp/livekit.RoomService/CreateRoom", method: "POST",
                headers: ["Authorization": "Bearer \(maker)", "Content-Type": "application/json"],
                body: Array(#"{"name":"cellar"}"#.utf8))
            #expect(made.status == 503 && made.body.contains(#""code":"unavailable""#))

            // Into the room that there is people come, and come back.
            let bob = try await Self.join(server, "bob")
            #expect(try await Self.first(bob).join.otherParticipants.map(\.identity) == ["ann"])
            let back = try await Self.join(server, "ann", "&reconnect=1&sid=\(session)")
            #expect(try await Self.first(back).reconnect.hasServerInfo)
            #expect(server.livekit.statistics.rooms == 1 && server.livekit.statistics.joins == 2)
            for socket in [ann, bob, back] { await socket.close() }
        }
    }

    @Test func `who drains a server waits until the last one has left, and has had the time to come back`() async throws
    {
        try await TestServer.run { server in
            try await server.livekit.openRoom("kitchen", emptyTimeout: 60, departureTimeout: 1)
            let ann = try await Self.join(server, "ann")
            _ = try await Self.first(ann)
            async let left = server.livekit.drain(within: .seconds(100))
            try await until("the server drains") { server.livekit.isDraining }
            #expect(server.livekit.statistics.signals == 1)
            await ann.close()
            #expect(await left == 0)
            #expect(server.livekit.statistics.rooms == 0)
        }
    }

    @Test func `one room can be drained, and others go on`() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await Self.join(server, "ann"), try await Self.join(server, "bob", room: "cellar"))
            _ = (try await Self.first(ann), try await Self.first(bob))
            await server.livekit.drainRoom("kitchen")
            await server.livekit.drainRoom("nowhere")
            let late = try await Self.join(server, "eve")
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
            #expect(late.answer.hasSuffix("The room takes nobody new: it ends when those have left who are in it."))
            #expect(await (try Self.join(server, "eve", room: "cellar")).isOpen)
            #expect(await (try Self.join(server, "ann")).isOpen)
            for socket in [ann, bob] { await socket.close() }
        }
    }

    @Test func `a room begins on no worker that is draining while there is another`() {
        let directory = RoomDirectory()
        let full = RoomDirectory.Load(peers: 9)
        let draining = RoomDirectory.Load(peers: 0, isDraining: true)
        #expect(directory.place("kitchen", loads: [draining, full]) == 1)
        #expect(directory.place("kitchen", loads: [draining, draining]) == 0)
        // Where a room is, it stays.
        #expect(directory.claim("kitchen", for: 0))
        #expect(directory.place("kitchen", loads: [draining, full]) == 0)
    }

    @Test func `datagrams that the system does not take are counted`() async throws {
        try await TestServer.run { server in
            await server.livekit.workers[0].sendInVain(3)
            try await until("three datagrams are counted") { server.livekit.statistics.datagramsUnsent >= 3 }
            #expect(server.livekit.statistics.datagramsUnsent == 3)
        }
    }
}

extension MediaWorker {
    /// To an address that its socket has no way to.
    fileprivate func sendInVain(_ count: Int) {
        for _ in 0..<count {
            datagramPorts[0].outgoing.append([1].span.bytes, to: TransportAddress(.v6(0, 1), port: 9))
        }
        datagramPorts[0].flush()
        publish()
    }
}
