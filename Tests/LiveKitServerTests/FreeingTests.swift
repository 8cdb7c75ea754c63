import Foundation
import LiveKitProtocol
import RTCSecurity
import RTCWire
import Testing

@testable import LiveKitServer

/// What is left of a server that nobody has any more.
@Suite(.timeLimit(.minutes(1))) struct FreeingTests {
    enum Ending: CaseIterable { case neverStarted, forgotten, stopped }

    private static func server() throws -> LiveKitServer {
        let key = try #require(TestServer.key)
        var media = MediaWorkerConfiguration(
            addresses: [.init(local: .v4(0x7f00_0001))], security: try OpenSSLSecurity())
        media.port = 0
        media.tcpPort = 0
        var configuration = LiveKitServerConfiguration(keys: APIKeys(key), signingKey: key, media: media)
        configuration.recordings = RecordingConfiguration(folder: NSTemporaryDirectory())
        return LiveKitServer(configuration)
    }

    @Test(arguments: Ending.allCases) func `all of it is freed, whether it is stopped or not`(
        _ ending: Ending
    ) async throws {
        weak var server: LiveKitServer?
        weak var worker: MediaWorker?
        weak var agents: Agents?
        weak var egresses: Egresses?
        do {
            let made = try Self.server()
            (server, worker, agents, egresses) = (made, made.workers[0], made.agents, made.egresses)
            #expect(egresses != nil)
            switch ending {
            case .neverStarted: break
            case .forgotten: _ = try await made.start()
            case .stopped:
                _ = try await made.start()
                await made.stop()
            }
        }
        // A task or a thread may be about to let go of it.
        for _ in 0..<1_000 where server != nil || worker != nil || agents != nil || egresses != nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(server == nil && worker == nil && agents == nil && egresses == nil)
    }
}
