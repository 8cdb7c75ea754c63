import Testing

@testable import LiveKitClient

/// What happens in a room, on its way to whoever listens.
@Suite(.timeLimit(.minutes(2))) struct RoomEventTests {
    /// 64 KiB, called by its number.
    private static func message(_ number: Int, isReliable: Bool = true) -> RoomEvent {
        .dataReceived(
            DataReceived(
                payload: [UInt8](repeating: 0, count: 65_536), topic: "\(number)", sender: nil,
                isReliable: isReliable))
    }

    private static func name(_ event: RoomEvent) -> String {
        switch event {
        case .dataReceived(let message): message.topic ?? ""
        case .roomMetadataChanged(let metadata): metadata
        default: "another"
        }
    }

    private static func names(_ stream: AsyncStream<RoomEvent>) async -> [String] {
        var names: [String] = []
        for await event in stream { names.append(name(event)) }
        return names
    }

    private static func numbers(_ numbers: some Sequence<Int>) -> [String] { numbers.map { "\($0)" } }

    /// More than one who does not read may leave to us.
    private static func fill(_ broadcast: RoomEventBroadcast) {
        for number in 0..<65 { broadcast.send(message(number)) }
    }

    @Test func `who reads messages from the network waits for who listens, and none is lost`() async {
        let broadcast = RoomEventBroadcast()
        let stream = broadcast.stream()
        let reader = Task {
            for number in 0..<400 {
                await broadcast.waitForRoom()
                broadcast.send(Self.message(number))
            }
            broadcast.finish()
        }
        while broadcast.readerCount == 0 { await Task.yield() }
        #expect(await Self.names(stream) == Self.numbers(0..<400))
        await reader.value
    }

    @Test func `the slowest listener counts, and the rest goes on when it has taken half`() async {
        let broadcast = RoomEventBroadcast()
        var slow = broadcast.stream().makeAsyncIterator()
        var quick = broadcast.stream().makeAsyncIterator()
        Self.fill(broadcast)
        for _ in 0..<65 { _ = await quick.next() }
        let reader = Task { await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        for _ in 0..<30 { _ = await slow.next() }
        #expect(broadcast.readerCount == 1)
        for _ in 30..<40 { _ = await slow.next() }
        await reader.value
        let next = await slow.next()
        #expect(next.map(Self.name) == "40")
    }

    @Test func `messages push out nothing but messages, and lossy ones no reliable ones`() {
        var backlog = RoomEventBacklog()
        backlog.append(.roomMetadataChanged("first"))
        backlog.append(Self.message(0))
        for number in 1...100 { backlog.append(Self.message(number, isReliable: false)) }
        backlog.append(Self.message(101))
        backlog.append(.roomMetadataChanged("last"))
        var heard: [String] = []
        while let event = backlog.popFirst() { heard.append(Self.name(event)) }
        // Of lossy ones fifteen: each takes more than its bytes.
        #expect(heard == ["first", "0"] + Self.numbers(86...100) + ["101", "last"])
    }

    @Test func `other events give way to newer ones, and take no message with them`() {
        var backlog = RoomEventBacklog()
        backlog.append(Self.message(0))
        for number in 1...10_000 { backlog.append(.roomMetadataChanged("\(number)")) }
        var heard: [String] = []
        while let event = backlog.popFirst() { heard.append(Self.name(event)) }
        #expect(heard == ["0"] + Self.numbers(1_809...10_000))
        #expect(backlog.reliableCost == 0)
    }

    @Test func `before anybody listens the newest messages are kept, up to a mebibyte, and nobody waits`() async {
        let broadcast = RoomEventBroadcast()
        broadcast.send(.roomMetadataChanged("first"))
        for number in 0..<200 {
            await broadcast.waitForRoom()
            broadcast.send(Self.message(number))
        }
        let stream = broadcast.stream()
        let second = broadcast.stream()
        broadcast.send(.roomMetadataChanged("last"))
        broadcast.finish()
        #expect(await Self.names(stream) == ["first"] + Self.numbers(185..<200) + ["last"])
        #expect(await Self.names(second) == ["last"])
        #expect(await Self.names(broadcast.stream()).isEmpty)
    }

    @Test func `a stream that is dropped holds nobody up, nor does one whose reader was cancelled`() async {
        let broadcast = RoomEventBroadcast()
        var streams = [broadcast.stream()]
        #expect(streams.count == 1)
        Self.fill(broadcast)
        let reader = Task { await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        streams.removeAll()
        await reader.value
        #expect(broadcast.listenerCount == 0)
        let stream = broadcast.stream()
        let listening = Task { for await _ in stream {} }
        listening.cancel()
        await listening.value
        Self.fill(broadcast)
        await broadcast.waitForRoom()
        #expect(broadcast.listenerCount == 0)
        withExtendedLifetime(stream) {}
    }

    @Test func `the end, or being cancelled, wakes who waits, and what was sent before is still heard`() async {
        let broadcast = RoomEventBroadcast()
        let stream = broadcast.stream()
        Self.fill(broadcast)
        let cancelled = Task { await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        cancelled.cancel()
        await cancelled.value
        let reader = Task { await broadcast.waitForRoom() }
        while broadcast.readerCount == 0 { await Task.yield() }
        broadcast.finish()
        await reader.value
        #expect(await Self.names(stream) == Self.numbers(0..<65))
    }

    @Test func `when it begins anew, who listened before has heard the end, and others hear the rest`() async {
        let broadcast = RoomEventBroadcast()
        let first = broadcast.stream()
        broadcast.send(Self.message(1))
        broadcast.finish()
        broadcast.begin()
        broadcast.send(Self.message(2))
        let second = broadcast.stream()
        #expect(await Self.names(first) == ["1"])
        broadcast.finish()
        #expect(await Self.names(second) == ["2"])
    }

    @Test func `a listener that waits hears what comes next, and the end`() async {
        let broadcast = RoomEventBroadcast()
        let stream = broadcast.stream()
        let listening = Task { await Self.names(stream) }
        for number in 0..<100 {
            broadcast.send(.roomMetadataChanged("\(number)"))
            await Task.yield()
        }
        broadcast.finish()
        #expect(await listening.value == Self.numbers(0..<100))
    }
}
