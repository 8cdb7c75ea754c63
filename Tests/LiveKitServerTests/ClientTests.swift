import Foundation
import LiveKitCore
import LiveKitProtocol
import RTCEngine
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
                try await until("the server takes the bot \(isPublisher ? "" : "no longer ")for a publisher") {
                    await server.livekit.workers[0].look(at: "kitchen")?.people.first?.isPublisher == isPublisher
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
            try await until("the listener's events are read") { listener.broadcast.readerCount > 0 }
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

    @Test func `an encoder is told what the path carries, and no more than its track was said to take`() async throws {
        try await TestServer.run { server in
            let room = Room()
            try await room.connect(url: "ws://127.0.0.1:\(server.port)", token: try TestServer.token(identity: "bot"))
            var options = TrackPublishOptions(name: "camera", source: .camera)
            options.bitrate = 400_000
            let publication = try await room.publish(.vp8, options: options)
            let camera = Task {
                // 200 kbit/s, of which the server says what has arrived.
                let picture: [UInt8] = [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0] + [UInt8](repeating: 7, count: 490)
                for number in 0 as UInt32..<5_000 where !Task.isCancelled {
                    await publication.send(
                        EncodedFrame(payload: picture, timestamp: number &* 1_800, isKeyFrame: true, format: .vp8))
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            var bitrates = publication.targetBitrates.makeAsyncIterator()
            let told = try #require(await bitrates.next())
            #expect(told > .kilobits(30) && told <= .kilobits(400))
            camera.cancel()
            await camera.value
            await publication.unpublish()
            while await bitrates.next() != nil {}
            await room.disconnect()
        }
    }

    /// Two in a room, of whom one has just come in and has no channel yet.
    private static func withNewcomer(_ body: (_ listener: Room, _ newcomer: Room) async throws -> Void) async throws {
        try await TestServer.run { server in
            let url = "ws://127.0.0.1:\(server.port)"
            let (listener, newcomer) = (Room(), Room())
            try await listener.connect(url: url, token: try TestServer.token(identity: "ann"))
            try await newcomer.connect(url: url, token: try TestServer.token(identity: "bob"))
            try await body(listener, newcomer)
            await newcomer.disconnect()
            await listener.disconnect()
        }
    }

    @Test func `a long file goes whole, also where it is the first thing that is sent`() async throws {
        try await Self.withNewcomer { listener, newcomer in
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
            defer { try? FileManager.default.removeItem(at: file) }
            let content = (0..<9_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }
            try Data(content).write(to: file)
            let (received, result) = AsyncStream.makeStream(of: [UInt8].self)
            await listener.registerByteStreamHandler(for: "files") { reader, sender in
                #expect(sender == "bob" && reader.info.totalLength == 9_000_000)
                result.yield(try await reader.readAll())
            }
            try await newcomer.sendFile(at: file.path, options: StreamByteOptions(topic: "files"))
            let isSame = await received.first { _ in true } == content
            #expect(isSame)
            // And a text that is packed in the meantime.
            let (texts, text) = AsyncStream.makeStream(of: String.self)
            await listener.registerTextStreamHandler(for: "notes") { reader, _ in
                text.yield(try await reader.readAll())
            }
            let long = (0..<200_000).map { "\($0) " }.joined()
            try await newcomer.sendText(long, options: StreamTextOptions(topic: "notes"))
            let isSameText = await texts.first { _ in true } == long
            #expect(isSameText)
        }
    }

    @Test func `a stream whose writer is let go of breaks off, and one that is ended is over`() async throws {
        try await Self.withNewcomer { listener, newcomer in
            let (ends, end) = AsyncStream.makeStream(of: String.self)
            await listener.registerTextStreamHandler(for: "notes") { reader, _ in
                do {
                    end.yield(try await reader.readAll() + " \(reader.attributes)")
                } catch {
                    end.yield("\(error)")
                }
            }
            var told = ends.makeAsyncIterator()
            func leaveUnfinished() async throws {
                let writer = try await newcomer.streamText(options: StreamTextOptions(topic: "notes"))
                try await writer.write("half")
            }
            try await leaveUnfinished()
            #expect(await told.next() == "Its sender has given it up: its writer let go of it")
            let writer = try await newcomer.streamText(options: StreamTextOptions(topic: "notes"))
            try await writer.write("all")
            let tooMuch = ["a": String(repeating: "b", count: 70_000)]
            await #expect(throws: RoomError.dataTooLarge(limit: 64_000)) { try await writer.close(attributes: tooMuch) }
            try await writer.close(attributes: ["mood": "good"])
            #expect(await told.next() == "all [\"mood\": \"good\"]")
            await #expect(throws: RoomError.streamClosed) { try await writer.write("more") }
            await #expect(throws: RoomError.streamClosed) { try await writer.close() }
            // Of those that are over nothing is left.
            try await until("the inboxes are empty") { await listener.inboxes.isEmpty }
        }
    }

    @Test func `what a handler throws or leaves unread keeps nobody from anything`() async throws {
        try await Self.withNewcomer { listener, newcomer in
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            // The handler is at work as long as the test is.
            let (work, end) = AsyncStream.makeStream(of: Void.self)
            defer { end.finish() }
            await listener.registerByteStreamHandler(for: "files") { reader, _ in
                reader.cancel()
                begin.yield()
                for await _ in work {}
            }
            let bytes = [UInt8](repeating: 7, count: 6 << 20)
            var options = StreamByteOptions(topic: "files")
            options.totalLength = bytes.count
            let writer = try await newcomer.streamBytes(options: options)
            try await writer.write([1])
            _ = await begun.first { true }
            try await writer.write(bytes)
            let (calls, call) = AsyncStream.makeStream(of: Void.self)
            await listener.registerRPCMethod("ping") { _ in
                call.yield()
                return "pong"
            }
            #expect(try await newcomer.performRPC("ping", payload: "", of: "ann") == "pong")
            _ = await calls.first { true }
        }
    }

    /// With a data track that bob publishes, of which ann was told.
    private static func withDataTrack(
        _ body: (_ listener: Room, _ track: LocalDataTrack, _ remote: RemoteDataTrack) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let url = "ws://127.0.0.1:\(server.port)"
            let (speaker, listener) = (Room(), Room())
            let events = listener.events
            try await listener.connect(url: url, token: try TestServer.token(identity: "ann"))
            try await speaker.connect(url: url, token: try TestServer.token(identity: "bob"))
            let track = try await speaker.publishDataTrack(name: "pose")
            var published: RemoteDataTrack?
            for await event in events {
                guard case .dataTrackPublished(let remote) = event else { continue }
                published = remote
                break
            }
            try await body(listener, track, try #require(published))
            await speaker.disconnect()
            await listener.disconnect()
        }
    }

    @Test func `frames of a data track come whole to who subscribes, until they are let go of or the track ends`()
        async throws
    {
        try await Self.withDataTrack { listener, track, remote in
            #expect(track.isPublished)
            #expect(remote.name == "pose" && remote.publisher == "bob" && remote.sid == track.sid)
            let others = await listener.remoteParticipants
            #expect(others["bob"]?.dataTracks == [remote])
            let frame = DataTrackFrame(payload: (0..<30_000).map { UInt8($0 % 251) }, userTimestamp: 7)
            let pushing = Task {
                while !Task.isCancelled {
                    try await track.push(frame)
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            func hearOne() async throws {
                let frames = try await listener.subscribe(to: remote)
                for await heard in frames {
                    #expect(heard == frame)
                    break
                }
            }
            try await hearOne()
            // The stream is gone, and with it the subscription.
            try await until("the stream of frames is forgotten") { await listener.dataStreams.isEmpty }
            try await hearOne()
            let frames = try await listener.subscribe(to: remote)
            pushing.cancel()
            _ = try? await pushing.value
            await track.unpublish()
            #expect(!track.isPublished)
            for await heard in frames { #expect(heard == frame) }
            await #expect(throws: RoomError.dataTrackEnded) { try await track.push(frame) }
            await #expect(throws: RoomError.dataTrackEnded) { _ = try await listener.subscribe(to: remote) }
        }
    }

    /// A data track whose room nobody has any more.
    private static func trackOfForgottenRoom(_ url: String) async throws -> LocalDataTrack {
        let room = Room()
        try await room.connect(url: url, token: try TestServer.token(identity: "bob"))
        let track = try await room.publishDataTrack(name: "pose")
        #expect(track.isPublished)
        return track
    }

    @Test func `a data track is over with the room that its user forgot`() async throws {
        try await TestServer.run { server in
            let track = try await Self.trackOfForgottenRoom("ws://127.0.0.1:\(server.port)")
            try await until("the track is over") { !track.isPublished }
            await #expect(throws: RoomError.dataTrackEnded) { try await track.push(DataTrackFrame(payload: [])) }
        }
    }

    @Test func `who takes frames of a data track slowly has the newest ones`() async throws {
        try await Self.withDataTrack { listener, track, remote in
            let slow = try await listener.subscribe(to: remote, bufferSize: 2)
            let fast = try await listener.subscribe(to: remote)
            let pushing = Task {
                for number in 1...10_000 {
                    try await track.push(DataTrackFrame(payload: [], userTimestamp: UInt64(number)))
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            var (heard, late): ([UInt64?], [UInt64?]) = ([], [])
            for await frame in fast {
                heard.append(frame.userTimestamp)
                guard heard.count == 8 else { continue }
                pushing.cancel()
                await track.unpublish()
            }
            for await frame in slow { late.append(frame.userTimestamp) }
            #expect(heard.count >= 8)
            #expect(late == Array(heard.suffix(2)))
        }
    }
}
