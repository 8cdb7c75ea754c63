import LiveKitProtocol
import RTCEngine
import RTCWire
import SocketIO
import SwiftProtobuf
import Testing

@testable import LiveKitClient

/// Rooms that are left before anybody was in them.
@Suite(.timeLimit(.minutes(2))) struct RoomEndTests {
    /// To a server that says nothing.
    private final class SilentChannel: SignalChannel {
        func send(_ message: [UInt8]) {}
        func close() {}
    }

    /// Of a server that lets everybody in, and has no media for them.
    private static func roomThatLetsIn() throws -> Room {
        var response = LiveKitSignalResponse()
        response.message = Dialogue.join()
        let bytes: [UInt8] = try response.serializedBytes()
        var options = ConnectOptions()
        options.inProcessSignaling = InProcessSignaling { _, tell in
            tell(.open)
            tell(.message(bytes))
            return SilentChannel()
        }
        return Room(options: options)
    }

    @Test(arguments: [false, true])
    func `the events of a room that was never joined end when it is left`(isTried: Bool) async {
        let room = Room()
        let events = room.events
        if isTried {
            await #expect(throws: RoomError.invalidURL("nowhere")) {
                try await room.connect(url: "nowhere", token: "token")
            }
        }
        await room.disconnect()
        for await event in events { Issue.record("\(event)") }
        // Also for who comes to listen later.
        for await event in room.events { Issue.record("\(event)") }
    }

    @Test func `a connect that is under way when the room is left fails with that, and the events end`() async {
        let (opened, tell) = AsyncStream.makeStream(of: Void.self)
        var options = ConnectOptions()
        options.inProcessSignaling = InProcessSignaling { _, _ in
            tell.yield()
            return SilentChannel()
        }
        let room = Room(options: options)
        let events = room.events
        let joining = Task { () -> RoomError? in
            do throws(RoomError) {
                try await room.connect(url: "", token: "token")
                return nil
            } catch {
                return error
            }
        }
        for await _ in opened { break }
        await room.disconnect()
        #expect(await joining.value == .disconnected(.clientInitiated))
        for await event in events { Issue.record("\(event)") }
    }

    @Test func `a connect that is cancelled leaves the room, and one that was refused nothing`() async throws {
        let (opened, tell) = AsyncStream.makeStream(of: Void.self)
        var options = ConnectOptions()
        options.inProcessSignaling = InProcessSignaling { _, _ in
            tell.yield()
            return SilentChannel()
        }
        let room = Room(options: options)
        let joining = Task {
            await Self.failure { () async throws(RoomError) in try await room.connect(url: "", token: "t") }
        }
        for await _ in opened { break }
        // Somebody else's is refused, or cancelled before: the one that is under way goes on.
        let other = Task {
            await Self.failure { () async throws(RoomError) in try await room.connect(url: "", token: "t") }
        }
        other.cancel()
        #expect([.alreadyConnected, .disconnected(.clientInitiated)].contains(await other.value))
        #expect(await room.connectionState == .connecting)
        joining.cancel()
        #expect(await joining.value == .disconnected(.clientInitiated))
        #expect(await room.connectionState == .disconnected)
    }

    @Test func `what waits for the server waits no longer when its task is cancelled`() async throws {
        let room = try Self.roomThatLetsIn()
        let joining = Task { try? await room.connect(url: "", token: "token") }
        while await !room.isIn { await Task.yield() }
        let asking = [
            Task { await Self.failure { () async throws(RoomError) in try await room.updateMetadata(name: "ann") } },
            Task {
                await Self.failure { () async throws(RoomError) in
                    _ = try await room.publish(.opus, options: TrackPublishOptions(name: "voice", source: .microphone))
                }
            },
        ]
        while await room.waitingCount < 3 { await Task.yield() }
        for task in asking { task.cancel() }
        for task in asking { #expect(await task.value == .cancelled) }
        #expect(await room.publishedCount == 0)
        await room.disconnect()
        await joining.value
    }

    @Test func `there are statistics while there are connections`() async throws {
        let room = try Self.roomThatLetsIn()
        #expect(await room.getStats() == nil)
        let joining = Task { try? await room.connect(url: "", token: "token") }
        var stats = await room.getStats()
        while stats == nil {
            await Task.yield()
            stats = await room.getStats()
        }
        let report = try #require(stats)
        #expect(report.publisher.peerConnection != nil && report.subscriber.peerConnection != nil)
        await room.disconnect()
        await joining.value
        #expect(await room.getStats() == nil)
    }

    private static func failure(_ body: () async throws(RoomError) -> Void) async -> RoomError? {
        do throws(RoomError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a room that was left can be joined again, and tells what happens then`() async throws {
        let room = try Self.roomThatLetsIn()
        for _ in 0..<2 {
            // It comes no further, for there are no media.
            let joining = Task { try? await room.connect(url: "", token: "token") }
            while await !room.isIn { await Task.yield() }
            let events = room.events
            await room.disconnect()
            await joining.value
            var heard: [RoomEvent] = []
            for await event in events { heard.append(event) }
            guard case .disconnected(.clientInitiated)? = heard.last, heard.count == 1 else {
                Issue.record("\(heard)")
                return
            }
        }
    }

    @Test func `who joins again while the room is being left hears what happens then`() async throws {
        let room = try Self.roomThatLetsIn()
        for _ in 0..<5 {
            let first = Task { try? await room.connect(url: "", token: "token") }
            while await !room.isIn { await Task.yield() }
            let leaving = Task { await room.disconnect() }
            while await room.isIn { await Task.yield() }
            let second = Task { try? await room.connect(url: "", token: "token") }
            await leaving.value
            while await !room.isIn { await Task.yield() }
            let events = room.events
            await room.disconnect()
            await first.value
            await second.value
            var heard: [RoomEvent] = []
            for await event in events { heard.append(event) }
            guard case .disconnected(.clientInitiated)? = heard.last else {
                Issue.record("\(heard)")
                return
            }
        }
    }
}

extension Room {
    fileprivate var isIn: Bool { machine.isInRoom }
    fileprivate var waitingCount: Int { waiting.count }
    fileprivate var publishedCount: Int { machine.publishing.tracks.count }
}
