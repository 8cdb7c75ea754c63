import ExampleSupport
import Foundation
import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire

/// Publishes a file to a media server by WHIP (RFC 9725), once through, and ends the session.
@main
struct Publish {
    static func main() async {
        do {
            try await publish()
        } catch {
            LineSignaling.note("whip-publish: \(error)")
            exit(1)
        }
    }

    private static func publish() async throws {
        let words = Example.arguments
        guard words.count >= 2, let endpoint = URL(string: words[0]) else {
            LineSignaling.note("usage: whip-publish URL FILE [SOUND] [--token=T] [--loopback]")
            exit(2)
        }
        let tracks = try words.dropFirst().flatMap { try MediaFile(path: $0).tracks }
        var configuration = try Example.configuration()
        // Only what the file holds: nothing is transcoded.
        let picture = tracks.first { $0.format.isVideo }
        if let picture { configuration.videoCodecs.removeAll { $0.payloadFormat != picture.format } }
        let connection = PeerConnection(configuration: configuration)
        let events = connection.events
        var players: [FilePlayer] = []
        for track in [picture, tracks.first { !$0.format.isVideo }].compactMap({ $0 }) {
            let sending = try await connection.addTransceiver(
                track.format.isVideo ? .video : .audio, direction: .sendonly)
            players.append(FilePlayer(playing: MediaSource(track: track, ending: .stop), on: sending.sender))
        }
        let offer = try await connection.completeLocalDescription()
        let session = try await WHIPSession(offer: offer.sdp, to: endpoint, token: Example.value(of: "token"))
        do {
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: session.answer))
            try await play(players, connection, events)
        } catch {
            await connection.close()
            try? await session.end()
            throw error
        }
        await connection.close()
        try await session.end()
        LineSignaling.note("Published.")
    }

    private static func play(
        _ players: [FilePlayer], _ connection: PeerConnection, _ events: AsyncStream<PeerConnectionEvent>
    ) async throws {
        var playing: Task<Void, Never>?
        defer { playing?.cancel() }
        for await event in events {
            switch event {
            case .connectionStateChange(.connected, _) where playing == nil:
                LineSignaling.note("Connected.")
                playing = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for player in players { group.addTask { await player.run() } }
                    }
                    if !Task.isCancelled { await connection.close() }
                }
            case .connectionStateChange(.failed, let because):
                throw Interruption(reason: because)
            case .keyFrameRequested:
                for player in players { await player.keyFrameRequested() }
            default: continue
            }
        }
    }

    private struct Interruption: Error, CustomStringConvertible {
        let reason: String
        var description: String { "The connection failed: \(reason)." }
    }
}
