import RTCWire
import Testing

@testable import RTCEngine

/// What channels refuse: calls that cannot be done, and peers that keep to no rule.
@Suite struct DataChannelRefusalTests {
    private func connected(
        _ configure: (inout DataChannelConfiguration) -> Void = { _ in }
    ) -> DataChannelPair {
        var pair = DataChannelPair(configure)
        pair.connect()
        pair.run { $0.areEstablished }
        return pair
    }

    // MARK: Calls

    @Test(arguments: [
        (DataChannelInit(maxPacketLifeTime: 1, maxRetransmits: 1), DataChannelError.conflictingReliability),
        (DataChannelInit(protocol: String(repeating: "p", count: 65_536)), .protocolTooLong),
        (DataChannelInit(negotiated: true), .invalidID), (DataChannelInit(negotiated: true, id: 65_535), .invalidID),
    ])
    func `options that cannot be are refused`(options: DataChannelInit, error: DataChannelError) {
        var pair = DataChannelPair()
        #expect(throws: error) { try pair.create("x", options) }
        #expect(pair[.left].channels.isEmpty)
    }

    @Test func `a label beyond 65,535 bytes, and an id that is taken, are refused`() throws {
        var pair = connected()
        #expect(throws: DataChannelError.labelTooLong) { try pair.create(String(repeating: "é", count: 32_768)) }
        _ = try pair.create("first")
        #expect(throws: DataChannelError.idInUse(0)) { try pair.create("x", DataChannelInit(negotiated: true, id: 0)) }
    }

    @Test func `messages are sent while the channel is open only`() throws {
        var pair = DataChannelPair()
        let id = try pair.create("x")
        #expect(throws: DataChannelError.notOpen(.connecting)) { try pair.send(.text("x"), on: id) }
        pair.connect()
        pair.run()
        try pair.send(.text("x"), on: id)
        pair.close(id)
        #expect(throws: DataChannelError.notOpen(.closing)) { try pair.send(.text("x"), on: id) }
        pair.run()
        #expect(throws: DataChannelError.unknownChannel) { try pair.send(.text("x"), on: id) }
    }

    @Test func `a message larger than the peer takes is refused, and nothing of it is sent`() throws {
        var pair = DataChannelPair()
        let id = try pair.create("x")
        pair.connect(maximumMessageSize: 1_000)
        pair.run()
        #expect(throws: DataChannelError.messageTooLarge(limit: 1_000)) {
            try pair.send(.binary([UInt8](repeating: 0, count: 1_001)), on: id)
        }
        try pair.send(.binary([UInt8](repeating: 0, count: 1_000)), on: id)
        #expect(pair[.left].channels[id]?.counters.messagesSent == 1)
        // And so is one whose name alone is larger.
        let named = try pair.create(String(repeating: "n", count: 2_000))
        pair.run()
        #expect(pair.journal(.left).story(of: named) == ["failed nameTooLong"])
    }

    @Test func `more than is kept for sending is refused`() throws {
        var pair = connected()
        let id = try pair.create("x")
        pair.line.loss = 1
        #expect(throws: DataChannelError.bufferFull) {
            for _ in 0..<100 { try pair.send(.binary([UInt8](repeating: 0, count: 262_144)), on: id) }
        }
    }

    @Test func `a refusal by the descriptions, and the end of the connection, end every channel`() throws {
        var pair = connected()
        let first = try pair.create("x")
        pair.run()
        pair.tell(.left) { end, now in end.agree(nil, at: now) }
        pair.run()
        #expect(pair.journal(.left).story(of: first) == ["open", "failed refused"])
        let theirs = try #require(pair.journal(.right).announced.first)
        #expect(pair.journal(.right).story(of: theirs).last?.hasPrefix("failed transport") == true)

        var other = connected()
        let second = try other.create("x")
        other.tell(.left) { end, now in end.close(at: now) }
        #expect(other.journal(.left).story(of: second) == ["open", "failed connectionClosed"])
        #expect(throws: DataChannelError.connectionClosed) { try other.create("y") }
    }

    // MARK: Peers

    @Test(
        arguments: [
            ([1, 2, 3], 50), ([3, 0], 50), ([0], 58), ([0], 0),
            (DCEPMessage.open(.init(label: "")).bytes, 50),
        ] as [([UInt8], UInt32)])
    func `what the protocol does not allow closes the channel it came on`(bytes: [UInt8], payload: UInt32) throws {
        var pair = connected()
        let other = try pair.create("other")
        let id = try pair.create("x")
        pair.run()
        try pair.forge(bytes, as: payload, on: 2)
        pair.run()
        let theirs = pair.journal(.right).announced
        #expect(pair.journal(.right).story(of: theirs[1]).last?.hasPrefix("failed protocolViolation") == true)
        #expect(pair.journal(.left).story(of: id) == ["open", "closing", "closed"])
        try pair.send(.text("goes on"), on: other)
        pair.run()
        #expect(pair.journal(.right).messages(of: theirs[0]) == [.text("goes on")])
    }

    @Test func `a string that is not UTF-8 is read as browsers read it, and the channel goes on`() throws {
        var pair = connected()
        let id = try pair.create("x")
        pair.run()
        try pair.forge([0x61, 0xff, 0xfe, 0x62], as: 51, on: 0)
        // The pieces of a character make it whole.
        try pair.forge([0xc3], as: 54, on: 0)
        try pair.forge([0xa4], as: 51, on: 0)
        try pair.send(.text("goes on"), on: id)
        pair.run()
        let theirs = try #require(pair.journal(.right).announced.first)
        #expect(
            pair.journal(.right).messages(of: theirs)
                == [.text("a\u{fffd}\u{fffd}b"), .text("ä"), .text("goes on")])
        #expect(!pair.journal(.right).story(of: theirs).contains { $0.hasPrefix("failed") })
    }

    @Test func `messages and closings of streams without a channel leave nothing behind`() throws {
        var pair = connected()
        try pair.forge([1], as: 53, on: 10)
        try pair.forge([2], as: 50, on: 12)
        try pair.forge(Array("junk".utf8), as: 50, on: 14)
        pair.run()
        #expect(pair[.right].totals.strayMessages == 1)
        #expect(pair[.right].totals.refused == 2)
        #expect(pair[.right].channels.isEmpty && pair[.left].channels.isEmpty)
        // Resets of the refused streams have been answered, and were not answered for ever.
        let packets = pair.journal(.left).packets + pair.journal(.right).packets
        #expect(packets < 60, "\(packets)")
        #expect(pair[.right].streams == [:] && pair[.left].streams == [:])
    }

    @Test func `a channel on a stream that has no way back is refused, and nobody waits for its end`() throws {
        var pair = connected()
        // As if its INIT had granted one stream and asked for all (RFC 9260 §5.1.1).
        pair.tell(.right) { end, _ in
            var peer = end.association?.peer
            peer?.inboundStreams = 1
            end.association?.peer = peer
        }
        let first = try pair.create("on stream 0")
        let second = try pair.create("on stream 2")
        pair.run()
        #expect(pair.journal(.right).announced.count == 1)
        #expect(pair[.right].totals.refused == 1)
        #expect(pair[.right].streams[2] == .spent)
        // Whatever comes on it leaves nothing behind.
        try pair.send(.text("hello?"), on: second)
        pair.close(second)
        pair.close(first)
        pair.run()
        #expect(pair[.right].totals.strayMessages == 1)
        #expect(pair[.right].streams == [2: .spent])
        #expect(pair.journal(.left).story(of: first) == ["open", "closing", "closed"])
    }

    @Test func `a peer that closes what there is not on all streams has some thousands of them kept`() throws {
        var pair = connected()
        let association = try #require(pair[.right].association)
        var number = association.incomingResets.lastNumber
        for first in stride(from: 0, to: 60_000, by: 500) {
            number &+= 1
            let request = SCTPReconfiguration.outgoingReset(
                request: number, response: 0, lastTSN: association.received.cumulative,
                streams: (first..<first + 500).map { UInt16($0) })
            let packet = SCTPText.packet(tag: association.handshake.localTag) { SCTPText.append(request, to: &$0) }
            pair.tell(.right) { end, now in end.receive(packet, at: now) }
        }
        #expect(pair[.right].streams.count == 4_096)
        pair.run()
        #expect(pair[.right].streams == [:])
    }

    @Test func `a peer opens so many channels and no more, and may go on when it closes some`() throws {
        var pair = connected { $0.maximumRemoteChannels = 10 }
        var ids: [DataChannelID] = []
        for number in 0..<15 { ids.append(try pair.create("\(number)")) }
        pair.run()
        #expect(pair.journal(.right).announced.count == 10)
        #expect(pair[.right].totals.refused == 5)
        // The refused ones are closed on the other side too.
        #expect(pair[.left].channels.count == 10)
        pair.close(ids[0])
        pair.run()
        _ = try pair.create("again")
        pair.run()
        #expect(pair.journal(.right).announced.count == 11)
    }

    @Test func `names of a peer's channels fill no memory`() throws {
        var pair = connected { $0.maximumRemoteNames = 200_000 }
        for _ in 0..<5 { _ = try pair.create(String(repeating: "n", count: 65_000)) }
        pair.run()
        #expect(pair.journal(.right).announced.count == 3)
        #expect(pair[.right].totals.remoteNames == 195_000)
    }

    @Test func `the deprecated pieces are put together, within limits`() throws {
        var pair = connected { $0.maximumPartialBytes = 100 }
        _ = try pair.create("x")
        pair.run()
        let theirs = try #require(pair.journal(.right).announced.first)
        for (bytes, payload) in [("one ", 54), ("two ", 54), ("three", 51)] as [(String, UInt32)] {
            try pair.forge(Array(bytes.utf8), as: payload, on: 0)
        }
        try pair.forge([1], as: 52, on: 0)
        try pair.forge([2], as: 53, on: 0)
        pair.run()
        #expect(pair.journal(.right).messages(of: theirs) == [.text("one two three"), .binary([1, 2])])
        #expect(pair[.right].totals.partialBytes == 0)
        for _ in 0..<3 { try pair.forge([UInt8](repeating: 0, count: 40), as: 52, on: 0) }
        pair.run()
        #expect(pair.journal(.right).story(of: theirs).last?.hasPrefix("failed protocolViolation") == true)
        #expect(pair[.right].totals.partialBytes == 0)
    }

    @Test func `two peers that both take themselves for the client lose what collides, and no more`() throws {
        var pair = DataChannelPair()
        for side in DataChannelPair.Side.allCases {
            pair.tell(side) { end, now in
                end.agree(.plain(), at: now)
                end.transportConnected(as: .client, at: now)
            }
        }
        pair.run { $0.areEstablished }
        _ = try pair.create("left", by: .left)
        _ = try pair.create("right", by: .right)
        pair.run()
        #expect(pair[.left].streams == [:] && pair[.right].streams == [:])
        _ = try pair.create("again", by: .left)
        pair.run()
        #expect(pair.journal(.right).announced.count == 1)
    }
}
