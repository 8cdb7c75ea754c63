import Foundation
import LiveKitClient
import LiveKitCore
import LiveKitProtocol
import RTCWire
import Testing

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
}
