import RTCEngine
import Testing

@testable import RTCNetwork

/// Data channels of connections of this process, over 127.0.0.1 with the real DTLS.
@Suite(.timeLimit(.minutes(2))) struct DataChannelTests {
    /// Two connections, not negotiated yet.
    private struct Pair {
        let left: PeerConnection
        let right: PeerConnection
        /// What happens to right, from its beginning: the connection's thread does not wait for a test to listen.
        private let announcements: AsyncStream<PeerConnectionEvent>

        /// - Parameter change: of right's configuration.
        init(_ change: (inout PeerConnectionConfiguration) -> Void = { _ in }) throws {
            left = PeerConnection(configuration: try ConnectedPair.configuration())
            var configuration = try ConnectedPair.configuration()
            change(&configuration)
            right = PeerConnection(configuration: configuration)
            announcements = right.events
        }

        /// Left offers, right answers, each with all candidates.
        func negotiate() async throws {
            try await right.setRemoteDescription(try await described(left))
            try await left.setRemoteDescription(try await described(right))
        }

        private func described(_ connection: PeerConnection) async throws -> SessionDescriptionInit {
            let events = connection.events
            try await connection.setLocalDescription()
            if await connection.iceGatheringState != .complete {
                for await event in events {
                    if case .iceGatheringStateChange(.complete) = event { break }
                }
            }
            guard let description = await connection.localDescription else { throw PeerConnectionError.peer(.closed) }
            return description
        }

        /// The next channel that left has opened.
        func channel() async throws -> DataChannel {
            for await event in announcements {
                if case .dataChannel(let channel) = event { return channel }
            }
            throw DataChannelError.connectionClosed
        }

        func close() async {
            await left.close()
            await right.close()
        }
    }

    @Test func `strings and bytes go both ways over a connection without media`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("chat", DataChannelInit(protocol: "irc"))
        #expect(ours.readyState == .connecting && ours.id == nil)
        try await pair.negotiate()
        // Right has answered as the client in DTLS.
        #expect(ours.id == 1)
        let theirs = try await pair.channel()
        #expect(theirs.label == "chat" && theirs.protocol == "irc" && theirs.ordered && !theirs.negotiated)
        try await ours.waitUntilOpen()
        #expect(ours.id == 1 && theirs.id == 1)
        let sent: [DataChannelMessage] = [
            .text("Hello"), .binary([1, 2, 3]), .text(""), .binary([]), .binary([UInt8](repeating: 9, count: 262_144)),
        ]
        for message in sent {
            try await ours.send(message)
            try await theirs.send(message)
        }
        for channel in [ours, theirs] {
            var heard: [DataChannelMessage] = []
            for await message in channel.messages {
                heard.append(message)
                if heard.count == sent.count { break }
            }
            #expect(heard == sent)
        }
        let stats = await pair.left.getStats()
        #expect(stats.dataChannels.map(\.bytesSent) == [262_152])
        #expect(stats.sctpTransport?.transportID == stats.transport?.id)
        // Pure data needs no SRTP, but a peer that has it agrees on it all the same.
        #expect(await pair.left.connectionState == .connected)
        await pair.close()
    }

    @Test func `closing a channel ends the messages of both handles, and nothing of them is lost`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("chat")
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        let events = ours.events
        for number in 0..<100 { try await ours.send("\(number)") }
        await ours.close()
        await ours.close()
        var heard: [DataChannelMessage] = []
        for await message in theirs.messages { heard.append(message) }
        #expect(heard == (0..<100).map { .text("\($0)") })
        for await _ in ours.messages {}
        var story: [DataChannel.Event] = []
        for await event in events where event != .bufferedAmountLow { story.append(event) }
        #expect(story == [.open, .closing, .close(nil)])
        #expect(ours.readyState == .closed)
        for side in [pair.left, pair.right] {
            let connection = try #require(await side.getStats().peerConnection)
            #expect(connection.dataChannelsOpened == 1 && connection.dataChannelsClosed == 1)
        }
        await #expect(throws: DataChannelError.unknownChannel) { try await ours.send("late") }
        await pair.close()
    }

    @Test func `a reader that does not read makes the sender wait, and misses nothing`() async throws {
        let pair = try Pair { $0.dataChannels.receiveBuffer = 2 << 20 }
        let ours = try await pair.left.createDataChannel("files")
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        await ours.setBufferedAmountLowThreshold(262_144)
        let count = 400
        let sender = Task {
            for number in 0..<count {
                try await ours.send([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 65_536))
                try await ours.waitForBufferedAmountLow()
            }
        }
        // Nobody reads until the peer's window is used up: what is kept here stays far below the 26 MB that are sent.
        while (await pair.left.getStats()).sctpTransport?.receiverWindow ?? .max > 65_536 { await Task.yield() }
        #expect(await pair.right.getStats().dataChannels[0].bytesReceived < 8 << 20)
        var next = 0
        for await message in theirs.messages {
            #expect(message == .binary([UInt8](repeating: UInt8(truncatingIfNeeded: next), count: 65_536)))
            next += 1
            if next == count { break }
        }
        try await sender.value
        #expect(next == count)
        await pair.close()
    }

    @Test func `small messages that nobody reads make the sender wait as well, and none is missed`() async throws {
        let pair = try Pair { $0.dataChannels.receiveBuffer = 2 << 20 }
        let ours = try await pair.left.createDataChannel("game")
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        let count = 30_000
        for number in 0..<count { try await ours.send("\(number)") }
        // Their bytes alone are less than a tenth of the window.
        while (await pair.left.getStats()).sctpTransport?.receiverWindow ?? .max > 65_536 { await Task.yield() }
        #expect(theirs.readyState == .open)
        var heard: [DataChannelMessage] = []
        for await message in theirs.messages {
            heard.append(message)
            if heard.count == count { break }
        }
        #expect(heard == (0..<count).map { .text("\($0)") })
        await pair.close()
    }

    @Test func `what a closed channel has left does not hold up the others, and may still be read`() async throws {
        let pair = try Pair { $0.dataChannels.receiveBuffer = 2 << 20 }
        let first = try await pair.left.createDataChannel("first")
        let second = try await pair.left.createDataChannel("second")
        try await pair.negotiate()
        let announced = [try await pair.channel(), try await pair.channel()]
        let closed = try #require(announced.first { $0.label == "first" })
        let other = try #require(announced.first { $0.label == "second" })
        try await first.waitUntilOpen()
        try await second.waitUntilOpen()
        // As much as the window takes, but for a little.
        let count = 31
        for number in 0..<count { try await first.send([UInt8](repeating: UInt8(number), count: 65_536)) }
        await first.close()
        for await _ in closed.events {}
        #expect(closed.readyState == .closed)
        while (await pair.left.getStats()).sctpTransport?.receiverWindow ?? 0 < 1 << 20 { await Task.yield() }
        let large = DataChannelMessage.binary([UInt8](repeating: 7, count: 262_144))
        try await second.send(large)
        var messages = other.messages.makeAsyncIterator()
        #expect(await messages.next() == large)
        var heard: [DataChannelMessage] = []
        for await message in closed.messages { heard.append(message) }
        #expect(heard == (0..<count).map { .binary([UInt8](repeating: UInt8($0), count: 65_536)) })
        await pair.close()
    }

    @Test func `a flood of small messages arrives whole and in order, in packets that they share`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("flood")
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        let events = ours.events
        let count = 20_000
        for number in 0..<count { try await ours.send("\(number)") }
        var heard: [DataChannelMessage] = []
        for await message in theirs.messages {
            heard.append(message)
            if heard.count == count { break }
        }
        #expect(heard == (0..<count).map { .text("\($0)") })
        try await ours.waitForBufferedAmountLow()
        #expect(ours.bufferedAmount == 0)
        for await event in events where event == .bufferedAmountLow { break }
        let stats = await pair.left.getStats()
        #expect(stats.dataChannels.map(\.messagesSent) == [UInt64(count)])
        #expect(stats.transport?.packetsSent ?? .max < UInt64(count) / 2)
        await pair.close()
    }

    @Test func `what cannot be sent is refused at once, and what was taken arrives`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("files")
        await #expect(throws: DataChannelError.notOpen(.connecting)) { try await ours.send("early") }
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        await #expect(throws: DataChannelError.messageTooLarge(limit: 262_144)) {
            try await ours.send([UInt8](repeating: 0, count: 262_145))
        }
        #expect(ours.bufferedAmount == 0)
        // Nobody reads: sooner or later the buffer is full.
        var taken = 0
        var refusal: DataChannelError?
        while refusal == nil {
            do throws(DataChannelError) {
                try await ours.send([UInt8](repeating: UInt8(truncatingIfNeeded: taken), count: 65_536))
                taken += 1
            } catch {
                refusal = error
            }
        }
        #expect(refusal == .bufferFull)
        #expect(ours.bufferedAmount <= 16 << 20)
        await ours.close()
        var heard = 0
        for await message in theirs.messages {
            #expect(message == .binary([UInt8](repeating: UInt8(truncatingIfNeeded: heard), count: 65_536)))
            heard += 1
        }
        #expect(heard == taken)
        await pair.close()
    }

    @Test func `the largest message is what the peer says that it takes, once it has said it`() async throws {
        let pair = try Pair { $0.dataChannels.maximumMessageSize = 1_000 }
        let ours = try await pair.left.createDataChannel("files")
        // What there is room for here.
        #expect(await pair.left.maxMessageSize == 16 << 20)
        try await pair.negotiate()
        #expect(await pair.left.maxMessageSize == 1_000)
        #expect(await pair.right.maxMessageSize == 262_144)
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        await #expect(throws: DataChannelError.messageTooLarge(limit: 1_000)) {
            try await ours.send([UInt8](repeating: 0, count: 1_001))
        }
        let (small, large) = ([UInt8](repeating: 1, count: 1_000), [UInt8](repeating: 2, count: 262_144))
        try await ours.send(small)
        try await theirs.send(large)
        var (toThem, toUs) = (theirs.messages.makeAsyncIterator(), ours.messages.makeAsyncIterator())
        #expect(await toThem.next() == .binary(small))
        #expect(await toUs.next() == .binary(large))
        await pair.close()
    }

    @Test func `what has not gone out is still told when the connection is closed`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("files")
        try await pair.negotiate()
        _ = try await pair.channel()
        try await ours.waitUntilOpen()
        // Nobody reads.
        var refusal: DataChannelError?
        while refusal == nil {
            do throws(DataChannelError) {
                try await ours.send([UInt8](repeating: 0, count: 65_536))
            } catch {
                refusal = error
            }
        }
        await pair.close()
        #expect(ours.readyState == .closed && ours.bufferedAmount > 0)
    }

    @Test func `tasks that send on several channels at once each keep their order`() async throws {
        let pair = try Pair()
        let channels = [try await pair.left.createDataChannel("0"), try await pair.left.createDataChannel("1")]
        let announcements = pair.right.events
        try await pair.negotiate()
        for channel in channels { try await channel.waitUntilOpen() }
        let count = 5_000
        let senders = channels.map { channel in
            Task { for number in 0..<count { try await channel.send("\(channel.label) \(number)") } }
        }
        var readers: [Task<[DataChannelMessage], Never>] = []
        for await event in announcements {
            guard case .dataChannel(let theirs) = event else { continue }
            readers.append(
                Task {
                    var heard: [DataChannelMessage] = []
                    for await message in theirs.messages {
                        heard.append(message)
                        if heard.count == count { break }
                    }
                    #expect(heard == (0..<count).map { .text("\(theirs.label) \($0)") })
                    return heard
                })
            if readers.count == channels.count { break }
        }
        for sender in senders { try await sender.value }
        for reader in readers { #expect(await reader.value.count == count) }
        await pair.close()
    }

    @Test func `the end of a connection ends everything that waits for its channels`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("chat")
        let waiting = Task { try await ours.waitUntilOpen() }
        let reading = Task { for await _ in ours.messages {} }
        await pair.left.close()
        await #expect(throws: DataChannelError.notOpen(.closed)) { try await waiting.value }
        await reading.value
        await #expect(throws: DataChannelError.connectionClosed) { _ = try await pair.left.createDataChannel("x") }
        await pair.close()
    }

    @Test func `a task that is cancelled stops waiting, and the next message is another's`() async throws {
        let pair = try Pair()
        let ours = try await pair.left.createDataChannel("chat")
        try await pair.negotiate()
        let theirs = try await pair.channel()
        try await ours.waitUntilOpen()
        let reading = Task {
            var iterator = theirs.messages.makeAsyncIterator()
            return await iterator.next()
        }
        reading.cancel()
        #expect(await reading.value == nil)
        try await ours.send("x")
        var iterator = theirs.messages.makeAsyncIterator()
        #expect(await iterator.next() == .text("x"))
        await pair.close()
    }

    @Test func `channels that are made on both sides, and channels in numbers`() async throws {
        let pair = try Pair()
        let options = DataChannelInit(ordered: false, maxRetransmits: 2, negotiated: true, id: 100)
        let left = try await pair.left.createDataChannel("same", options)
        let right = try await pair.right.createDataChannel("same", options)
        try await pair.negotiate()
        try await left.waitUntilOpen()
        try await right.waitUntilOpen()
        try await right.send("hello")
        var iterator = left.messages.makeAsyncIterator()
        #expect(await iterator.next() == .text("hello"))
        let events = pair.right.events
        for number in 0..<300 { try await pair.left.createDataChannel("\(number)").send("to \(number)") }
        var count = 0
        for await event in events {
            guard case .dataChannel(let channel) = event else { continue }
            var messages = channel.messages.makeAsyncIterator()
            #expect(await messages.next() == .text("to \(channel.label)"))
            count += 1
            if count == 300 { break }
        }
        #expect(await pair.left.dataChannels.count == 301)
        await pair.close()
    }
}

/// What is received and not read, as the peer is told of it.
@Suite struct UnreadDataTests {
    private static let overhead = UnreadData.overhead

    private static func mebibyte() -> DataChannelMessage { .binary([UInt8](repeating: 0, count: 1 << 20)) }

    @Test func `a message counts for more than its bytes, until it is taken or nobody can take it any more`() async {
        let unread = UnreadData()
        var inboxes = [DataChannelInbox(unread: unread)]
        for text in ["a", "b", "c"] { #expect(inboxes[0].append(.text(text))) }
        #expect(unread.count == 3 * (1 + Self.overhead))
        #expect(await inboxes[0].next() == .text("a"))
        #expect(unread.count == 2 * (1 + Self.overhead))
        inboxes.removeAll()
        #expect(unread.count == 0)
    }

    @Test func `what a closed channel has left counts no more, and not once again when it is taken`() async {
        let unread = UnreadData()
        let relieved = Counter()
        unread.whenRelieved { relieved.increment() }
        var inboxes = [DataChannelInbox(unread: unread), DataChannelInbox(unread: unread)]
        for _ in 0..<3 { #expect(inboxes[0].append(Self.mebibyte())) }
        #expect(inboxes[1].append(.text("b")))
        inboxes[0].finish()
        inboxes[0].finish()
        #expect(unread.count == 1 + Self.overhead)
        // The peer has to hear of it.
        #expect(relieved.value == 1)
        #expect(await inboxes[0].next() == Self.mebibyte())
        #expect(unread.count == 1 + Self.overhead)
        inboxes.removeFirst()
        #expect(unread.count == 1 + Self.overhead)
        #expect(await inboxes[0].next() == .text("b"))
        #expect(unread.count == 0)
    }

    @Test func `channels that are filled and closed one after the other count from a limit on`() async {
        let unread = UnreadData()
        let relieved = Counter()
        unread.whenRelieved { relieved.increment() }
        var inboxes: [DataChannelInbox] = []
        for _ in 0..<6 {
            let inbox = DataChannelInbox(unread: unread)
            for _ in 0..<3 { #expect(inbox.append(Self.mebibyte())) }
            inbox.finish()
            inboxes.append(inbox)
        }
        // 18 MiB, of which 16 are let pass.
        #expect(unread.count == 2 << 20 + 18 * Self.overhead)
        let before = relieved.value
        for _ in 0..<2 { #expect(await inboxes[0].next() == Self.mebibyte()) }
        #expect(unread.count == 16 * Self.overhead)
        // From 2 MiB to 1, and from there to none.
        #expect(relieved.value == before + 2)
        inboxes.removeAll()
        #expect(unread.count == 0)
    }
}
