import Dispatch
import Foundation
import LiveKitClient
import LiveKitCore
import LiveKitProtocol
import Logging
import RTCEngine
import RTCNetwork
import RTCWire
import SocketIO
import SwiftProtobuf
import Synchronization
import Testing

@testable import LiveKitServer

/// A recorder that is really in the room, over sockets on loopback, of tracks of which nothing is sent. Files come in
/// `Interop`.
@Suite(.timeLimit(.minutes(2))) struct RecordingTests {
    /// Somebody with a camera of which nothing comes.
    private final class Publisher {
        private let room = Room()
        let track: String

        init(
            _ server: TestServer, as identity: String = "ann", in name: String = "kitchen", letsEverybody: Bool
        ) async throws {
            try await room.connect(
                url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token(identity: identity, room: name))
            await room.setTrackSubscriptionPermissions(allowing: letsEverybody ? nil : [])
            track = try await room.publish(.vp8, options: TrackPublishOptions(name: "camera", source: .camera))
                .sid.rawValue
            // Others may have it once there is a path for it.
            try await until("there is a path for what \(identity) publishes") {
                await server.livekit.workers[0].look(at: name)?.people.contains {
                    $0.identity == identity && $0.isPublisher
                } == true
            }
        }

        func publishScreen() async throws -> String {
            try await room.publish(.vp8, options: TrackPublishOptions(name: "screen", source: .screenShare))
                .sid.rawValue
        }

        func publishMicrophone() async throws -> LocalTrackPublication {
            try await room.publish(.opus, options: TrackPublishOptions(name: "microphone", source: .microphone))
        }

        func letNobody() async { await room.setTrackSubscriptionPermissions(allowing: []) }

        func leave() async { await room.disconnect() }
    }

    private static func run(
        patience: Duration = .seconds(1), limit: Int = 100, sections: Int = RoomLimits().transceivers,
        webhooks: [WebhookURL] = [], logger: Logger = Logger(label: "livekit"),
        _ body: (TestServer, Egresses) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-rec-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let change: (inout LiveKitServerConfiguration) -> Void = { configuration in
            var recordings = RecordingConfiguration(folder: folder.path)
            recordings.patience = patience
            recordings.limit = limit
            configuration.recordings = recordings
            configuration.rooms.limits.transceivers = sections
            configuration.webhooks = webhooks
        }
        try await TestServer.run(logger: logger, change) { server in
            try await body(server, try #require(server.livekit.egresses))
        }
    }

    /// As soon as it is so.
    private static func info(
        of id: String, _ egresses: Egresses, _ what: String = "what is told of a recording is as expected",
        sourceLocation: SourceLocation = #_sourceLocation, when isSo: (LiveKitEgressInfo) -> Bool
    ) async throws -> LiveKitEgressInfo {
        var info = LiveKitEgressInfo()
        try await until(what, sourceLocation: sourceLocation) {
            info = await egresses.list(.with { $0.egressID = id }).items.first ?? LiveKitEgressInfo()
            return isSo(info)
        }
        return info
    }

    private static func end(
        of id: String, _ egresses: Egresses, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> LiveKitEgressInfo {
        try await info(of: id, egresses, "the recording ends", sourceLocation: sourceLocation) { $0.endedAt > 0 }
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
            let info = try await Self.info(of: begun.egressID, egresses) { !$0.details.isEmpty }
            #expect(info.status == .egressActive && info.details.contains(ann.track))
            // It was all that there was.
            _ = try await egresses.stop(begun.egressID)
            let end = try await Self.end(of: begun.egressID, egresses)
            #expect(end.status == .egressFailed && end.error == info.details)
            withExtendedLifetime(ann) {}
        }
    }

    @Test func `a track of a room that finds no place is recorded when another has ended, and both is told`()
        async throws
    {
        let receiver = WebhookTests.Receiver()
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = { receiver.take($0) }
        let listener = SocketIOServer(configuration: configuration)
        let port = try await listener.bind(host: "127.0.0.1", port: 0)
        let url = try #require(WebhookURL("http://127.0.0.1:\(port)/"))
        try await Self.run(patience: .seconds(60), limit: 1, webhooks: [url]) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            // The room itself takes no place.
            let begun = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
            try await until("a track is recorded") { egresses.statistics.tracks > 0 }
            let bob = try await Publisher(server, as: "bob", letsEverybody: true)
            let full = try await Self.info(of: begun.egressID, egresses) { !$0.details.isEmpty }
            #expect(full.details == "Not recorded: \(bob.track): The server records 1 tracks already.")
            await ann.leave()
            _ = try await Self.info(of: begun.egressID, egresses) { $0.details.isEmpty }
            #expect(egresses.statistics.tracks == 1 && egresses.statistics.omitted == 1)
            // That the recorder is in the room, that bob's track waits, and that it does not any more.
            try await until("three updates are told") { receiver.events.count { $0 == "egress_updated" } >= 3 }
            withExtendedLifetime(bob) {}
        }
        await listener.shutdown()
    }

    /// Of a track that nobody has.
    private static func happen(_ event: String, _ track: String, inRoom room: String, _ egresses: Egresses) async {
        await egresses.happened(
            .with {
                $0.event = event
                $0.room.sid = room
                $0.room.name = "kitchen"
                $0.track.sid = track
            })
    }

    @Test func `a track that goes while it waits for a place is waited for no more`() async throws {
        try await Self.run(patience: .seconds(60), limit: 1) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let begun = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
            try await until("a track is recorded") { egresses.statistics.tracks > 0 }
            func happen(_ event: String) async { await Self.happen(event, "TR_x", inRoom: begun.roomID, egresses) }
            // What waits is not left out once more, and what is not waited for is.
            for _ in 0..<2 { await happen("track_published") }
            #expect(egresses.statistics.omitted == 1)
            await happen("track_unpublished")
            await happen("track_published")
            #expect(egresses.statistics.omitted == 2)
            let bob = try await Publisher(server, as: "bob", letsEverybody: true)
            _ = try await Self.info(of: begun.egressID, egresses) { $0.details.contains(bob.track) }
            // Its end may also have been missed.
            await ann.leave()
            let info = try await Self.info(of: begun.egressID, egresses) { !$0.details.contains(bob.track) }
            #expect(info.details == "Not recorded: TR_x: The server records 1 tracks already.")
            #expect(egresses.statistics.omitted == 3)
            await happen("track_published")
            #expect(egresses.statistics.omitted == 4)
            withExtendedLifetime(bob) {}
        }
    }

    @Test func `a whole room may be asked for while no more tracks are recorded, as often as the limit says`()
        async throws
    {
        try await Self.run(patience: .seconds(60), limit: 1) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            func start(_ name: String?) async throws(TwirpError) -> String {
                if let name { return try await egresses.start(track: name, inRoom: "kitchen", template: "").egressID }
                return try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "").egressID
            }
            _ = try await start(ann.track)
            let room = try await start(nil)
            let info = try await Self.info(of: room, egresses) { !$0.details.isEmpty }
            #expect(info.details == "Not recorded: \(ann.track): The server records 1 tracks already.")
            for name in [ann.track, nil] {
                do throws(TwirpError) {
                    _ = try await start(name)
                    Issue.record("one more is recorded")
                } catch {
                    #expect(error.code == .resourceExhausted)
                    #expect(error.message.contains(name == nil ? "1 rooms already" : "1 tracks already"))
                }
            }
            withExtendedLifetime(ann) {}
        }
    }

    /// Who records in the kitchen, once it is there; another one than `before`.
    private static func recorder(
        of server: TestServer, after before: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        var identity = ""
        try await until("a recorder is in the room", sourceLocation: sourceLocation) {
            let people = await server.livekit.workers[0].look(at: "kitchen")?.people ?? []
            let one = people.first { $0.kind == .egress && $0.state == .active && $0.identity != before }
            identity = one?.identity ?? ""
            return one != nil
        }
        return identity
    }

    @Test func `a recorder that is sent away is a failure, and for what is recorded by itself another one comes`()
        async throws
    {
        try await Self.run(patience: .seconds(60)) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            let asked = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
            _ = try await Self.info(of: asked.egressID, egresses) { $0.status == .egressActive }
            await egresses.startAutomatic(room: room, template: "")
            let first = try await Self.recorder(of: server)
            await server.livekit.removeParticipant(first, from: "kitchen")
            let second = try await Self.recorder(of: server, after: first)
            #expect(second != first)
            let infos = await egresses.list(LiveKitListEgressRequest()).items
            #expect(infos.map(\.status) == [.egressFailed, .egressFailed, .egressStarting])
            #expect(infos.dropFirst().map(\.track.trackID) == [ann.track, ann.track])
            #expect(!infos[0].error.isEmpty && infos[1].error == infos[0].error && infos[2].error.isEmpty)
            withExtendedLifetime(ann) {}
        }
    }

    @Test func `a room that is deleted while its recorder is still coming has been recorded to its end`() async throws {
        try await Self.run { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let begun = try await egresses.start(room: "kitchen", sound: true, pictures: true, template: "")
            try await until("a recorder is let in") {
                await server.livekit.workers[0].look(at: "kitchen")?.people.contains { $0.kind == .egress } == true
            }
            let token = try TestServer.serviceToken { $0.roomCreate = true }
            let deleted = try await server.ask(
                "/twirp/livekit.RoomService/DeleteRoom", method: "POST",
                headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"],
                body: Array(#"{"room":"kitchen"}"#.utf8))
            #expect(deleted.status == 200)
            let info = try await Self.end(of: begun.egressID, egresses)
            #expect(info.status == .egressComplete && info.error.isEmpty)
            withExtendedLifetime(ann) {}
        }
    }

    /// Holds the thread up that writes, as a disk does.
    private actor HungDisk {
        nonisolated private let loop: NetworkLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(under loop: NetworkLoop) { self.loop = loop }

        func hang(_ began: AsyncStream<Void>.Continuation, until end: DispatchSemaphore) {
            began.yield()
            end.wait()
        }
    }

    private struct Index: Decodable {
        struct Recording: Decodable {
            let frames: Int
            let complete: Bool
        }
        let recordings: [Recording]
    }

    @Test(arguments: [false, true])
    func `what waits for a disk that hangs is in a file that is stopped, and missing when the server goes down`(
        goesDown: Bool
    ) async throws {
        try await Self.run { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let microphone = try await ann.publishMicrophone()
            let sent = Atomic(0)
            let sending = Task {
                while (try? await Task.sleep(for: .milliseconds(20))) != nil {
                    let number = sent.add(1, ordering: .relaxed).oldValue
                    await microphone.send(
                        EncodedFrame(
                            payload: [0x78, 1], timestamp: UInt32(number) * 960, isKeyFrame: true, format: .opus))
                }
            }
            defer { sending.cancel() }
            let track = microphone.sid.rawValue
            let begun = try await egresses.start(track: track, inRoom: "kitchen", template: "sound")
            _ = try await Self.info(of: begun.egressID, egresses) { $0.status == .egressActive }
            let disk = HungDisk(under: egresses.loop)
            let isOver = DispatchSemaphore(value: 0)
            let (hangs, began) = AsyncStream.makeStream(of: Void.self)
            async let hung: Void = disk.hang(began, until: isOver)
            defer { isOver.signal() }
            for await _ in hangs { break }
            // More than all that has been written.
            let before = sent.load(ordering: .relaxed)
            try await until("as much is sent once more") { sent.load(ordering: .relaxed) > 2 * before + 50 }
            if goesDown {
                // Its patience is over before the disk goes on.
                await egresses.stop(within: .seconds(1))
            } else {
                _ = try await egresses.stop(begun.egressID)
            }
            isOver.signal()
            await hung
            let info = try await Self.end(of: begun.egressID, egresses)
            #expect((info.status == .egressComplete) == !goesDown)
            let index = URL(filePath: egresses.configuration.folder).appending(path: info.manifestLocation)
            let recordings = try JSONDecoder().decode(Index.self, from: Data(contentsOf: index)).recordings
            #expect(recordings.map(\.complete) == [!goesDown])
            if !goesDown { #expect(try #require(recordings.first).frames > before) }
            withExtendedLifetime(ann) {}
        }
    }

    /// Waits for another recorder than `before`, and sends it away once it knows itself that it is in the room.
    private static func sendAway(
        _ server: TestServer, after before: String = "", _ egresses: Egresses
    ) async throws -> String {
        let identity = try await recorder(of: server, after: before)
        // That a whole room is recorded is told when its recorder is there. No camera is recorded by it.
        let asked = try await egresses.start(room: "kitchen", sound: true, pictures: false, template: "")
        _ = try await info(of: asked.egressID, egresses) { $0.status == .egressActive }
        await server.livekit.removeParticipant(identity, from: "kitchen")
        return identity
    }

    /// Of each egress of these tracks.
    private static func states(of tracks: [String], _ egresses: Egresses) async -> [LiveKitEgressStatus] {
        let infos = await egresses.list(LiveKitListEgressRequest()).items
        return infos.filter { tracks.contains($0.track.trackID) }.map(\.status)
    }

    @Test func `when two recorders were sent away as soon as they came no other one comes for what they recorded`()
        async throws
    {
        let log = Log()
        try await Self.run(patience: .seconds(60), logger: Logger(label: "test") { _ in log }) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            await egresses.startAutomatic(room: room, template: "")
            let first = try await Self.sendAway(server, egresses)
            let second = try await Self.sendAway(server, after: first, egresses)
            // It is said instead of sending the third one.
            try await until("it is said that no other one comes") {
                log.lines.contains { $0.contains("participants of the kind EGRESS stay 1") }
            }
            #expect(await Self.states(of: [ann.track], egresses) == [.egressFailed, .egressFailed])
            // What is new is tried.
            let bob = try await Publisher(server, as: "bob", letsEverybody: true)
            _ = try await Self.recorder(of: server, after: second)
            #expect(await Self.states(of: [bob.track], egresses) == [.egressStarting])
            #expect(await Self.states(of: [ann.track], egresses) == [.egressFailed, .egressFailed])
            withExtendedLifetime([ann, bob]) {}
        }
    }

    @Test func `tracks whose recorder was sent away are recorded in their places, which none that waits is given`()
        async throws
    {
        try await Self.run(patience: .seconds(60), limit: 4) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let lost = [ann.track, try await ann.publishScreen()]
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            await egresses.startAutomatic(room: room, template: "")
            let bob = try await Publisher(server, as: "bob", in: "cellar", letsEverybody: true)
            for _ in 0..<2 { _ = try await egresses.start(track: bob.track, inRoom: "cellar", template: "") }
            try await until("four tracks are recorded") { egresses.statistics.tracks >= 4 }
            let eve = try await Publisher(server, as: "eve", in: "attic", letsEverybody: true)
            let waiting = [eve.track, try await eve.publishScreen()]
            let asked = try await egresses.start(room: "attic", sound: true, pictures: true, template: "")
            func leavesOut(_ info: LiveKitEgressInfo) -> Bool { waiting.allSatisfy { info.details.contains($0) } }
            _ = try await Self.info(of: asked.egressID, egresses) { leavesOut($0) }
            _ = try await Self.sendAway(server, egresses)
            try await until("the lost ones are begun anew") { await Self.states(of: lost, egresses).count >= 4 }
            let states = await Self.states(of: lost, egresses)
            #expect(states == [.egressFailed, .egressFailed, .egressStarting, .egressStarting])
            let info = try #require(await egresses.list(.with { $0.egressID = asked.egressID }).items.first)
            #expect(leavesOut(info) && egresses.statistics.tracks == 4)
            // Places of what is gone are free.
            await ann.leave()
            _ = try await Self.info(of: asked.egressID, egresses) { $0.details.isEmpty }
            withExtendedLifetime([bob, eve]) {}
        }
    }

    @Test func `a track that is withdrawn before the recorder has it is waited for no more`() async throws {
        try await Self.run(patience: .seconds(60)) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            await egresses.startAutomatic(room: room, template: "")
            // Before the recorder is in the room, and after.
            for track in ["TR_x", "TR_y"] {
                for event in ["track_published", "track_unpublished"] {
                    await Self.happen(event, track, inRoom: room.sid, egresses)
                }
                let begun = await egresses.list(LiveKitListEgressRequest()).items
                let id = try #require(begun.first(where: { $0.track.trackID == track })).egressID
                #expect(try await Self.end(of: id, egresses).status == .egressAborted)
                _ = try await Self.recorder(of: server)
            }
            #expect(egresses.statistics.tracks == 1 && egresses.statistics.failed == 0)
            withExtendedLifetime(ann) {}
        }
    }

    /// When the second one of two that are not there is given up, the recorder's patience with all others is long over.
    private static func outlastPatience(
        with tracks: [String], inRoom room: String, _ egresses: Egresses
    ) async throws {
        for track in tracks {
            await happen("track_published", track, inRoom: room, egresses)
            let begun = await egresses.list(LiveKitListEgressRequest()).items
            let id = try #require(begun.first(where: { $0.track.trackID == track })).egressID
            #expect(try await end(of: id, egresses).error == "There is no such track in the room.")
        }
    }

    @Test func `a track for which a connection has no section yet is waited for, longer than one that is not there`()
        async throws
    {
        try await Self.run(sections: 1) { server, egresses in
            let people = [
                try await Publisher(server, letsEverybody: true),
                try await Publisher(server, as: "bob", letsEverybody: true),
            ]
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            await egresses.startAutomatic(room: room, template: "")
            _ = try await Self.recorder(of: server)
            try await Self.outlastPatience(with: ["TR_x", "TR_y"], inRoom: room.sid, egresses)
            let infos = await egresses.list(LiveKitListEgressRequest()).items
            #expect(Set(infos.prefix(2).map(\.track.trackID)) == Set(people.map(\.track)))
            #expect(infos.prefix(2).map(\.status) == [.egressStarting, .egressStarting])
            withExtendedLifetime(people) {}
        }
    }

    @Test func `one for which there is no section yet is given up when its publisher lets nobody have it any more`()
        async throws
    {
        try await Self.run(sections: 1) { server, egresses in
            let ann = try await Publisher(server, letsEverybody: true)
            let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
            await egresses.startAutomatic(room: room, template: "")
            _ = try await Self.recorder(of: server)
            // So the only section is for ann's.
            try await Self.outlastPatience(with: ["TR_w", "TR_x"], inRoom: room.sid, egresses)
            #expect(await Self.states(of: [ann.track], egresses) == [.egressStarting])
            let bob = try await Publisher(server, as: "bob", letsEverybody: true)
            try await until("bob's track is asked for") { await !Self.states(of: [bob.track], egresses).isEmpty }
            try await Self.outlastPatience(with: ["TR_y", "TR_z"], inRoom: room.sid, egresses)
            #expect(await Self.states(of: [bob.track], egresses) == [.egressStarting])
            await bob.letNobody()
            try await until("bob's track is given up") {
                await Self.states(of: [bob.track], egresses) != [.egressStarting]
            }
            let infos = await egresses.list(LiveKitListEgressRequest()).items
            let info = infos.first { $0.track.trackID == bob.track }
            #expect(info?.error == "The track's publisher does not let everybody have it.")
            #expect(await Self.states(of: [ann.track], egresses) == [.egressStarting])
            withExtendedLifetime([ann, bob]) {}
        }
    }

    @Test func `a track that it may have is waited for, for something may come yet`() async throws {
        // On a busy machine it takes longer than that to the recorder, and is tried with more.
        for patience in [Duration.milliseconds(200), .seconds(3)] {
            var isWaitedFor = false
            try await Self.run(patience: patience) { server, egresses in
                let ann = try await Publisher(server, letsEverybody: true)
                let room = try #require(await server.livekit.workers[0].look(at: "kitchen")?.room)
                let begun = try await egresses.start(track: ann.track, inRoom: "kitchen", template: "")
                await egresses.startAutomatic(room: room, template: "")
                try await Self.outlastPatience(with: ["TR_x", "TR_y"], inRoom: room.sid, egresses)
                // The one that was asked for, and the one that is recorded by itself.
                isWaitedFor = await Self.states(of: [ann.track], egresses) == [.egressStarting, .egressStarting]
                if isWaitedFor {
                    _ = try await egresses.stop(begun.egressID)
                    #expect(try await Self.end(of: begun.egressID, egresses).status == .egressAborted)
                }
                withExtendedLifetime(ann) {}
            }
            if isWaitedFor { return }
        }
        Issue.record("it is not waited for")
    }
}
