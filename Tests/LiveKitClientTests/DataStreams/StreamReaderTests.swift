import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct StreamReaderTests {
    private let broadcast = RoomEventBroadcast()

    private func text(totalLength: Int? = nil) -> (TextStreamReader, DataStreamInbox) {
        let info = TextStreamInfo(
            StreamTextOptions(topic: "notes"), id: "s", timestamp: 1, length: totalLength)
        let header = IncomingStreamHeader(kind: .text(info), sender: "ann", isPacked: false)
        let inbox = DataStreamInbox(header, broadcast: broadcast)
        return (TextStreamReader(info, inbox), inbox)
    }

    @Test func `pieces come as they do, and the end after them`() async throws {
        let (reader, inbox) = text()
        async let read = reader.readAll()
        inbox.receive(Array("he".utf8))
        inbox.receive(Array("llo".utf8))
        inbox.end(.success(["a": "b"]))
        #expect(try await read == "hello")
        #expect(reader.attributes == ["a": "b"])
        // The end stays the end.
        #expect(try await reader.readAll().isEmpty)
    }

    @Test func `what came before it broke off is read, and then the error, as often as one asks`() async throws {
        let (reader, inbox) = text()
        inbox.receive(Array("he".utf8))
        inbox.end(.failure(.senderLeft))
        var pieces = reader.makeAsyncIterator()
        #expect(try await pieces.next() == "he")
        for _ in 0..<2 {
            await #expect(throws: StreamError.senderLeft) { try await pieces.next() }
        }
    }

    @Test func `who reads all says how much that may be`() async throws {
        let (reader, inbox) = text()
        inbox.receive(Array("hello".utf8))
        inbox.end(.success([:]))
        await #expect(throws: StreamError.tooLong(limit: 4)) { try await reader.readAll(limit: 4) }
    }

    @Test func `who waits and is cancelled waits no longer`() async throws {
        let (reader, inbox) = text()
        let task = Task { try await reader.readAll() }
        while inbox.waiterCount == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
        // Another may read on.
        inbox.receive(Array("a".utf8))
        inbox.end(.success([:]))
        #expect(try await reader.readAll() == "a")
    }

    @Test func `who sends waits for who does not read, until it is read`() async throws {
        let (reader, inbox) = text()
        for _ in 0..<5 { inbox.receive([UInt8](repeating: 0x61, count: 1 << 20)) }
        let network = Task { await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        var pieces = reader.makeAsyncIterator()
        var taken = 0
        while broadcast.readerCount > 0 { taken += try await pieces.next()?.utf8.count ?? 0 }
        await network.value
        // Of 5 MiB so much that an eighth of the 4 MiB is free.
        #expect(taken == 3 << 19)
    }

    @Test func `who sends does not wait for who has let go`() async {
        var (reader, inbox): (TextStreamReader?, DataStreamInbox) = text()
        for _ in 0..<5 { inbox.receive([UInt8](repeating: 0x61, count: 1 << 20)) }
        let network = Task { [broadcast] in await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        _ = reader
        reader = nil
        await network.value
        // What comes for nobody is not counted either.
        for _ in 0..<5 { inbox.receive([UInt8](repeating: 0x61, count: 1 << 20)) }
        await broadcast.waitForRoom()
    }

    @Test func `a reader that is cancelled reads no more and holds nobody up`() async throws {
        let (reader, inbox) = text()
        let task = Task { try await reader.readAll() }
        while inbox.waiterCount == 0 { await Task.yield() }
        reader.cancel()
        reader.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
        for _ in 0..<5 { inbox.receive([UInt8](repeating: 0x61, count: 1 << 20)) }
        inbox.end(.success([:]))
        await broadcast.waitForRoom()
        await #expect(throws: StreamError.cancelled) { try await reader.readAll() }
    }

    @Test func `what cannot be decoded holds nobody up`() async throws {
        let (reader, inbox) = text()
        inbox.receive([0xff])
        for _ in 0..<5 { inbox.receive([UInt8](repeating: 0x61, count: 1 << 20)) }
        await #expect(throws: StreamError.undecodable) { try await reader.readAll() }
        await broadcast.waitForRoom()
        inbox.receive([0x61])
        await #expect(throws: StreamError.undecodable) { try await reader.readAll() }
    }
}
