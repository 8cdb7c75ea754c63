import Foundation
import LiveKitProtocol
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// Servers and rooms that have all they may have.
@Suite(.timeLimit(.minutes(2))) struct FullServerTests {
    private static func join(
        _ server: TestServer, _ identity: String, room: String = "kitchen"
    ) async throws -> TestWebSocket {
        let token = try TestServer.token(identity: identity, room: room)
        return try await server.openWebSocket("/rtc?protocol=16&access_token=\(token)")
    }

    @Test func `a worker has so many connections, and who is in may come again`() async throws {
        try await TestServer.run({ $0.media.maximumPeers = 2 }) { server in
            let ann = try await Self.join(server, "ann")
            #expect(ann.answer.hasPrefix("HTTP/1.1 101"))
            // Clients of two connections have one at once.
            #expect(server.livekit.statistics.peers == 1)
            let bob = try await Self.join(server, "bob", room: "cellar")
            #expect(await bob.isOpen)
            for room in ["kitchen", "cellar", "attic"] {
                let late = try await Self.join(server, "eve", room: room)
                #expect(late.answer.hasPrefix("HTTP/1.1 503"))
                #expect(late.answer.hasSuffix("The server is full: there are 2 connections where the room is."))
            }
            #expect(server.livekit.statistics.rooms == 2)
            let again = try await Self.join(server, "ann")
            #expect(await again.isOpen)
            await again.close()
            try await until("one peer is left at most") { server.livekit.statistics.peers <= 1 }
            #expect(await (try Self.join(server, "eve")).isOpen)
            for socket in [ann, bob] { await socket.close() }
        }
    }

    @Test func `a worker has so many rooms, and no more`() async throws {
        try await TestServer.run({ $0.maximumRooms = 1 }) { server in
            let ann = try await Self.join(server, "ann")
            #expect(await ann.isOpen)
            let late = try await Self.join(server, "eve", room: "cellar")
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
            #expect(late.answer.hasSuffix("The server is full: it has 1 rooms."))
            #expect(await (try Self.join(server, "eve")).isOpen)
            await ann.close()
        }
    }

    @Test func `a room has so many participants as the server says, or its token`() async throws {
        try await TestServer.run({ $0.maximumParticipants = 1 }) { server in
            var sockets = [try await Self.join(server, "ann")]
            #expect(await sockets[0].isOpen)
            let late = try await Self.join(server, "eve")
            #expect(late.answer.hasPrefix("HTTP/1.1 503"))
            #expect(late.answer.hasSuffix("The room is full: 1 participants are in it."))
            var claims = AccessToken.Claims()
            claims.video = VideoGrants()
            claims.video?.roomJoin = true
            claims.video?.room = "hall"
            claims.roomConfig = .with { $0.maxParticipants = 2 }
            let key = try #require(TestServer.key)
            for (identity, isIn) in [("ann", true), ("bob", true), ("eve", false)] {
                let token = try AccessToken(identity: identity, claims: claims, at: Date(), validFor: 600)
                    .signed(with: key)
                let socket = try await server.openWebSocket("/rtc?protocol=16&access_token=\(token)")
                #expect(await socket.isOpen == isIn)
                sockets.append(socket)
            }
            for socket in sockets { await socket.close() }
        }
    }
}
