import Foundation
import LiveKitProtocol
import Logging
import SwiftProtobuf
import Synchronization
import Testing

@testable import LiveKitServer

/// Who is recorded and who is not, of tracks that nobody ever sends.
@Suite(.timeLimit(.minutes(1))) struct EgressesTests {
    private static let room = LiveKitRoom.with {
        $0.name = "kitchen"
        $0.sid = "RM_x"
    }

    private static func tracks(_ count: Int, encrypted: Set<Int> = []) -> [LiveKitTrackInfo] {
        (0..<count).map { number in
            .with {
                $0.sid = "TR_\(number)"
                $0.type = .audio
                $0.encryption = encrypted.contains(number) ? .gcm : .none
            }
        }
    }

    /// A server of which no room can be joined, so that what is begun ends by itself.
    ///
    /// - Parameters:
    ///   - looks: how often somebody looks before the tracks are there.
    ///   - end: how often before the room is over.
    private static func egresses(
        limit: Int, _ tracks: [LiveKitTrackInfo], after looks: Int = 0, until end: Int = .max
    ) -> Egresses {
        var configuration = RecordingConfiguration(folder: NSTemporaryDirectory())
        configuration.limit = limit
        let person = LiveKitParticipantInfo.with { $0.tracks = tracks }
        let looked = Atomic(0)
        return Egresses(
            configuration,
            Egresses.Surroundings(
                participants: EmbeddedParticipants(worker: { _ in nil }),
                look: { _ in
                    let number = looked.add(1, ordering: .relaxed).oldValue
                    guard number < end else { return nil }
                    return (room, number < looks ? [] : [person])
                },
                webhook: { _ in }), moment: .seconds(60), logger: Logger(label: "test"))
    }

    private static func infos(_ egresses: Egresses) async -> [LiveKitEgressInfo] {
        await egresses.list(LiveKitListEgressRequest()).items
    }

    @Test func `one room has half of the server's recordings, whatever is published there`() async throws {
        let egresses = Self.egresses(limit: 6, Self.tracks(5))
        await egresses.startAutomatic(room: Self.room, template: "")
        #expect(egresses.statistics.started == 5 && egresses.statistics.tracks <= 3)
        let refused = await Self.infos(egresses).filter { $0.error.contains("3 tracks of this room") }
        #expect(refused.map(\.track.trackID) == ["TR_3", "TR_4"])
        #expect(refused.allSatisfy { $0.status == .egressFailed })
        #expect(egresses.statistics.omitted == 2)
        await egresses.stop()
        let over = egresses.statistics
        #expect(over.active == 0 && over.tracks == 0 && over.failed + over.completed + over.aborted == 5)
    }

    @Test func `a service may name more of one room, up to what the server records`() async throws {
        let egresses = Self.egresses(limit: 6, Self.tracks(5))
        for number in 0..<5 { _ = try await egresses.start(track: "TR_\(number)", inRoom: "kitchen", template: "") }
        #expect(egresses.statistics.started == 5 && egresses.statistics.omitted == 0)
        await egresses.stop()
    }

    @Test func `a track is waited for that its publisher knows of and nobody else yet`() async throws {
        let egresses = Self.egresses(limit: 6, Self.tracks(1), after: 3)
        let begun = try await egresses.start(track: "TR_0", inRoom: "kitchen", template: "")
        #expect(begun.track.trackID == "TR_0")
        await egresses.stop()
    }

    @Test func `a room that is gone before its recorder comes has been recorded to its end`() async throws {
        let egresses = Self.egresses(limit: 6, [], until: 1)
        _ = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
        try await until("the recording is over") { egresses.statistics.active == 0 }
        let info = try #require(await Self.infos(egresses).first)
        #expect(info.status == .egressComplete && info.error.isEmpty)
        await egresses.stop()
    }

    @Test func `of a room that is over before its recorder comes nothing is kept`() async throws {
        let egresses = Self.egresses(limit: 6, Self.tracks(1), until: 1)
        _ = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
        // That it is over was told before.
        try await until("its folder is forgotten") { await egresses.folders.isEmpty }
        await egresses.startAutomatic(room: Self.room, template: "")
        #expect(await egresses.automatic.isEmpty)
        await egresses.stop()
    }

    @Test func `so many tracks of a room are recorded as they are published, and nothing is kept of more`() async throws
    {
        let egresses = Self.egresses(limit: 10_000, Self.tracks(Egress.trackLimit + 50))
        await egresses.startAutomatic(room: Self.room, template: "")
        #expect(egresses.statistics.started == Egress.trackLimit && egresses.statistics.omitted == 50)
        await egresses.stop()
    }

    @Test func `what is encrypted from end to end is not recorded, and whoever asks for it is told`() async throws {
        let egresses = Self.egresses(limit: 10, Self.tracks(2, encrypted: [1]))
        do throws(TwirpError) {
            _ = try await egresses.start(track: "TR_1", inRoom: "kitchen", template: "")
            Issue.record("it was recorded")
        } catch {
            #expect(error.code == .failedPrecondition)
        }
        #expect(egresses.statistics == EgressStatistics())
        await egresses.startAutomatic(room: Self.room, template: "")
        #expect(await Self.infos(egresses).map(\.track.trackID) == ["TR_0"])
        #expect(egresses.statistics.omitted == 1)
        await egresses.stop()
    }
}
