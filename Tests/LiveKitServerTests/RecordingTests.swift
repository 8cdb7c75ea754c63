import Foundation
import LiveKitClient
import LiveKitProtocol
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// A recorder that is really in the room, over sockets on loopback, of tracks of which nothing is sent. Files come in
/// `Interop`.
@Suite(.timeLimit(.minutes(2))) struct RecordingTests {
    /// Somebody with a camera of which nothing comes.
    private final class Publisher {
        private let room = Room()
        let track: String

        init(_ server: TestServer, letsEverybody: Bool) async throws {
            try await room.connect(
                url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token(identity: "ann"))
            await room.setTrackSubscriptionPermissions(allowing: letsEverybody ? nil : [])
            track = try await room.publish(.vp8, options: TrackPublishOptions(name: "camera", source: .camera))
                .sid.rawValue
            // Others may have it once there is a path for it.
            while await server.livekit.workers[0].look(at: "kitchen")?.people.contains(where: { $0.isPublisher })
                != true
            { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    private static func run(
        patience: Duration = .seconds(1), _ body: (TestServer, Egresses) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-rec-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let change: (inout LiveKitServerConfiguration) -> Void = { configuration in
            var recordings = RecordingConfiguration(folder: folder.path)
            recordings.patience = patience
            configuration.recordings = recordings
        }
        try await TestServer.run(change) { server in
            try await body(server, try #require(server.livekit.egresses))
        }
    }

    private static func end(of id: String, _ egresses: Egresses) async throws -> LiveKitEgressInfo {
        while true {
            let info = await egresses.list(.with { $0.egressID = id }).items.first ?? LiveKitEgressInfo()
            if info.endedAt > 0 { return info }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func `a track that the recorder may not have is not waited for`() async throws {
        try await Self.run { server, egresses in
            let ann = try await Publisher(server, letsEverybody: false)
            let begun = try await egresses.start(track: ann.track, inRoom: "kitchen", template: "")
            let info = try await Self.end(of: begun.egressID, egresses)
            #expect(info.status == .egressFailed)
            #expect(info.error == "The track's publisher does not let everybody have it.")
            withExtendedLifetime(ann) {}
        }
    }

    @Test func `of a whole room one that it may not have is left out`() async throws {
        try await Self.run { server, egresses in
            let ann = try await Publisher(server, letsEverybody: false)
            let begun = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
            var info = begun
            while info.details.isEmpty {
                try await Task.sleep(for: .milliseconds(10))
                info = await egresses.list(.with { $0.egressID = begun.egressID }).items.first ?? info
            }
            #expect(info.status == .egressActive && info.details.contains(ann.track))
            withExtendedLifetime(ann) {}
        }
    }

    @Test func `a track that it may have is waited for, for something may come yet`() async throws {
        try await Self.run(patience: .seconds(3)) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let begun = try await egresses.start(track: ann.track, inRoom: "kitchen", template: "")
            // The recorder is in the room, and longer than it waits for a track.
            while await server.livekit.workers[0].look(at: "kitchen")?.people.contains(where: {
                $0.kind == .egress && $0.state == .active
            }) != true { try await Task.sleep(for: .milliseconds(10)) }
            try await Task.sleep(for: .seconds(4))
            let info = await egresses.list(.with { $0.egressID = begun.egressID }).items.first
            #expect(info?.status == .egressStarting)
            _ = try await egresses.stop(begun.egressID)
            #expect(try await Self.end(of: begun.egressID, egresses).status == .egressAborted)
            withExtendedLifetime(ann) {}
        }
    }
}
