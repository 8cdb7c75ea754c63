import Foundation
import LiveKitCore
import LiveKitProtocol
import RTCWire
import Testing

@testable import LiveKitClient
@testable import LiveKitServer

/// Our client and our server, over real sockets on loopback.
@Suite(.timeLimit(.minutes(2))) struct ClientTests {
    @Test func `who publishes again and again needs no section for each track that there ever was`() async throws {
        try await TestServer.run({ $0.rooms.limits.transceivers = 4 }) { server in
            let room = Room()
            try await room.connect(
                url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token(identity: "bot"))
            let session = await room.localParticipant.sid
            var tracks: Set<String> = []
            func wait(until isPublisher: Bool) async throws {
                while await server.livekit.workers[0].look(at: "kitchen")?.people.first?.isPublisher != isPublisher {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            for _ in 0..<6 {
                for format in [PayloadFormat.opus, .vp8] {
                    let publication = try await room.publish(
                        format, options: TrackPublishOptions(name: "speech", source: .unknown))
                    try await wait(until: true)
                    tracks.insert(publication.sid.rawValue)
                    await publication.unpublish()
                    try await wait(until: false)
                }
            }
            #expect(tracks.count == 12)
            #expect(await room.localParticipant.sid == session)
            #expect(await room.connectionState == .connected)
            await room.disconnect()
        }
    }

    @Test func `who reads events slowly misses no reliable message, and who sends them waits`() async throws {
        try await TestServer.run { server in
            let url = "ws://127.0.0.1:\(server.port)"
            let (speaker, listener) = (Room(), Room())
            let events = listener.events
            try await listener.connect(url: url, token: try TestServer.token(identity: "ann"))
            try await speaker.connect(url: url, token: try TestServer.token(identity: "bob"))
            // The first one has its channel made.
            try await speaker.publish(data: [1], topic: "0")
            for await event in events {
                if case .dataReceived = event { break }
            }
            let count = 12_000
            let sending = Task {
                for number in 1...count {
                    try await speaker.publish(data: [UInt8](repeating: 1, count: 400), topic: "\(number)")
                }
            }
            while listener.broadcast.readerCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            var heard: [String] = []
            for await event in events {
                guard case .dataReceived(let message) = event else { continue }
                heard.append(message.topic ?? "")
                if heard.count == count { break }
            }
            #expect(heard == (1...count).map { "\($0)" })
            try await sending.value
            await speaker.disconnect()
            await listener.disconnect()
        }
    }
}
