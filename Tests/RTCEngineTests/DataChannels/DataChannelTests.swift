import RTCWire
import Testing

@testable import RTCEngine

/// Channels between two ends in virtual time (RFC 8831, RFC 8832).
@Suite struct DataChannelTests {
    private func connected(seed: UInt64 = 1) -> DataChannelPair {
        var pair = DataChannelPair(seed: seed)
        pair.connect()
        return pair
    }

    /// A channel that both ends know.
    private func channel(
        _ pair: inout DataChannelPair, _ options: DataChannelInit = DataChannelInit(), label: String = "chat",
        by side: DataChannelPair.Side = .left
    ) throws -> (ours: DataChannelID, theirs: DataChannelID) {
        let ours = try pair.create(label, options, by: side)
        let count = pair.journal(side.other).announced.count
        let isThere = pair.run { $0.journal(side.other).announced.count > count }
        try #require(isThere)
        return (ours, try #require(pair.journal(side.other).announced.last))
    }

    @Test func `a channel made before the connection opens with it, and is announced to the peer`() throws {
        var pair = DataChannelPair()
        let id = try pair.create("chat", DataChannelInit(maxRetransmits: 3, protocol: "irc"))
        #expect(pair[.left].description(of: id)?.options.id == nil)
        pair.connect()
        pair.run()
        #expect(pair.journal(.left).story(of: id) == ["open"])
        let theirs = try #require(pair.journal(.right).announced.first)
        #expect(pair.journal(.right).story(of: theirs) == ["announced chat", "open"])
        let description = try #require(pair[.right].description(of: theirs))
        #expect(description.options == DataChannelInit(maxRetransmits: 3, protocol: "irc", id: 0))
        #expect(description.isRemote)
    }

    @Test func `ids come with our part in DTLS, before the handshake, and nothing is sent for it`() throws {
        var pair = DataChannelPair()
        let id = try pair.create("chat")
        pair.tell(.left) { end, now in
            end.agree(.plain(), at: now)
            end.roleAgreed(.server)
        }
        #expect(pair[.left].description(of: id)?.options.id == 1)
        #expect(pair[.left].description(of: id)?.state == .connecting)
        #expect(pair[.left].phase == .idle)
        #expect(pair.journal(.left).packets == 0)
    }

    @Test func `of more channels than there are ids the last are closed, and the others open`() throws {
        var pair = DataChannelPair()
        // Of the 32,768 even ids, of which 65,534 is the last, this is taken.
        _ = try pair.create("agreed", DataChannelInit(negotiated: true, id: 65_534))
        let ids = try (0..<32_770).map { try pair.create("\($0)") }
        pair.tell(.left) { end, _ in end.roleAgreed(.client) }
        #expect(pair[.left].description(of: ids[32_766])?.options.id == 65_532)
        for id in ids.suffix(3) {
            #expect(pair.journal(.left).story(of: id) == ["failed noStreamLeft"])
            #expect(pair[.left].description(of: id) == nil)
        }
        #expect(throws: DataChannelError.noStreamLeft) { try pair.create("one more") }
        // Whoever closes one makes room.
        pair.close(ids[7])
        let next = try pair.create("in its place")
        #expect(pair[.left].description(of: next)?.options.id == 14)
    }

    @Test func `the DTLS client opens on even streams, the server on odd ones`() throws {
        var pair = connected()
        for side in DataChannelPair.Side.allCases {
            for _ in 0..<3 { _ = try pair.create("x", by: side) }
        }
        pair.run()
        func streams(_ side: DataChannelPair.Side, remote: Bool) -> [UInt16?] {
            pair[side].channelsInOrder.compactMap { pair[side].description(of: $0) }.filter { $0.isRemote == remote }
                .map(\.options.id)
        }
        #expect(streams(.left, remote: false) == [0, 2, 4])
        #expect(streams(.right, remote: false) == [1, 3, 5])
        #expect(streams(.right, remote: true) == [0, 2, 4])
    }

    @Test func `messages of every kind arrive as they were, both ways`() throws {
        var pair = connected()
        let (ours, theirs) = try channel(&pair)
        let messages: [DataChannelMessage] = [
            .text("Grüße 👋"), .text(""), .binary([]), .binary([0]), .binary([UInt8](repeating: 7, count: 262_144)),
            .text(String(repeating: "ä", count: 100_000)),
        ]
        for message in messages {
            try pair.send(message, on: ours, by: .left)
            try pair.send(message, on: theirs, by: .right)
        }
        pair.run { $0.journal(.left).messages(of: ours).count + $0.journal(.right).messages(of: theirs).count == 12 }
        #expect(pair.journal(.right).messages(of: theirs) == messages)
        #expect(pair.journal(.left).messages(of: ours) == messages)
    }

    @Test func `a message may follow the opening at once, and comes behind it even on an unordered channel`() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var pair = connected(seed: seed)
            pair.line = .init(jitter: .milliseconds(40), loss: 0.1)
            pair.run { $0[.left].phase == .established(streams: 65_535) }
            let id = try pair.create("fast", DataChannelInit(ordered: false, maxRetransmits: 0))
            try pair.send(.text("first"), on: id)
            pair.run { !$0.journal(.right).announced.isEmpty }
            pair.run(within: .seconds(Int64(5)))
            let theirs = try #require(pair.journal(.right).announced.first)
            #expect(pair[.right].totals.strayMessages == 0)
            #expect(pair.journal(.right).messages(of: theirs).count <= 1)
        }
    }

    @Test func `a channel that both applications have made needs no announcement`() throws {
        var pair = DataChannelPair()
        let options = DataChannelInit(negotiated: true, id: 7)
        let left = try pair.create("same", options, by: .left)
        let right = try pair.create("same", options, by: .right)
        pair.connect()
        pair.run()
        try pair.send(.text("x"), on: left)
        pair.run()
        #expect(pair.journal(.right).announced == [])
        #expect(pair.journal(.right).messages(of: right) == [.text("x")])
        #expect(pair.journal(.left).story(of: left) == ["open"])
    }

    @Test(arguments: DataChannelPair.Side.allCases)
    func `either side closes a channel, and what was sent before arrives`(side: DataChannelPair.Side) throws {
        var pair = connected()
        let (left, right) = try channel(&pair)
        try pair.send(.text("last words"), on: side == .left ? left : right, by: side)
        pair.close(side == .left ? left : right, by: side)
        pair.run()
        #expect(pair.journal(.left).story(of: left) == ["open", "closing", "closed"])
        #expect(pair.journal(.right).story(of: right) == ["announced chat", "open", "closing", "closed"])
        let heard = side == .left ? pair.journal(.right).messages(of: right) : pair.journal(.left).messages(of: left)
        #expect(heard == [.text("last words")])
        #expect(pair[.left].streams == [:] && pair[.right].streams == [:])
    }

    @Test func `a channel closes though the peer resets no streams, and its stream is not used again`() throws {
        var pair = connected()
        let (left, right) = try channel(&pair)
        // As if its Supported Extensions had not named RE-CONFIG.
        _ = pair.tell(.left) { end, _ in end.association?.peer?.features.remove(.reconfiguration) }
        try pair.send(.text("last words"), on: left)
        pair.close(left)
        pair.run()
        #expect(pair.journal(.left).story(of: left) == ["open", "closing", "closed"])
        #expect(pair.journal(.right).messages(of: right) == [.text("last words")])
        // The peer may not know that the channel is closed: what it sends there is nobody's.
        try pair.send(.text("too late"), on: right, by: .right)
        let next = try pair.create("next")
        #expect(throws: DataChannelError.idInUse(0)) {
            _ = try pair.create("same", DataChannelInit(negotiated: true, id: 0))
        }
        pair.run()
        #expect(pair[.left].description(of: next)?.options.id == 2)
        #expect(pair.journal(.left).story(of: next) == ["open"])
        #expect(pair[.left].totals.strayMessages == 1)
    }

    @Test func `a peer that resets all of its streams closes every channel, one on which nothing has come too`() throws
    {
        var pair = DataChannelPair()
        let agreed = DataChannelInit(negotiated: true, id: 7)
        let silent = try DataChannelPair.Side.allCases.map { try pair.create("agreed", agreed, by: $0) }
        pair.connect()
        let (ours, theirs) = try channel(&pair)
        let association = try #require(pair[.right].association)
        // RFC 6525 §4.1: it names none.
        let request = SCTPReconfiguration.outgoingReset(
            request: association.incomingResets.lastNumber &+ 1, response: 0,
            lastTSN: association.received.cumulative, streams: [])
        let packet = SCTPText.packet(tag: association.handshake.localTag) { SCTPText.append(request, to: &$0) }
        pair.tell(.right) { end, now in end.receive(packet, at: now) }
        #expect(pair.journal(.right).story(of: silent[1]) == ["open", "closing"])
        #expect(pair.journal(.right).story(of: theirs) == ["announced chat", "open", "closing"])
        pair.run()
        #expect(pair.journal(.left).story(of: silent[0]) == ["open", "closing", "closed"])
        #expect(pair.journal(.left).story(of: ours) == ["open", "closing", "closed"])
        #expect(pair[.right].channels.isEmpty && pair[.right].streams == [:])
    }

    @Test func `both sides close at once`() throws {
        var pair = connected()
        let (left, right) = try channel(&pair)
        pair.close(left, by: .left)
        pair.close(right, by: .right)
        pair.run()
        #expect(pair.journal(.left).story(of: left).last == "closed")
        #expect(pair.journal(.right).story(of: right).last == "closed")
    }

    @Test func `streams of closed channels are used again, over a bad line too`() throws {
        for seed in 1...10 as ClosedRange<UInt64> {
            var pair = connected(seed: seed)
            pair.line = .init(jitter: .milliseconds(30), loss: 0.1, duplication: 0.05)
            pair.run { $0[.left].phase == .established(streams: 65_535) }
            for round in 1...8 {
                let id = try pair.create("round \(round)")
                #expect(pair[.left].description(of: id)?.options.id == 0)
                try pair.send(.text("\(round)"), on: id)
                pair.close(id)
                let isOver = pair.run(within: .seconds(Int64(120))) { $0[.left].channels.isEmpty }
                #expect(isOver, "seed \(seed), round \(round)")
            }
            pair.run(within: .seconds(Int64(60))) { $0[.right].channels.isEmpty }
            let heard = pair.journal(.right).announced.map { pair.journal(.right).messages(of: $0) }
            #expect(heard == (1...8).map { [.text("\($0)")] }, "seed \(seed)")
        }
    }

    @Test func `hundreds of channels carry their own messages`() throws {
        var pair = connected()
        pair.line = .init(jitter: .milliseconds(5), loss: 0.02)
        pair.run { $0[.left].phase == .established(streams: 65_535) }
        for number in 0..<400 {
            let id = try pair.create("\(number)", by: number % 2 == 0 ? .left : .right)
            try pair.send(.text("to \(number)"), on: id, by: number % 2 == 0 ? .left : .right)
        }
        pair.run { $0.journal(.left).announced.count == 200 && $0.journal(.right).announced.count == 200 }
        pair.run(within: .seconds(Int64(20)))
        for side in DataChannelPair.Side.allCases {
            for id in pair.journal(side).announced {
                let label = try #require(pair[side].description(of: id)).label
                #expect(pair.journal(side).messages(of: id) == [.text("to \(label)")])
            }
        }
    }

    @Test func `what waits to be sent is counted, and that it is low is told once`() throws {
        var pair = connected()
        let (ours, theirs) = try channel(&pair)
        pair.tell(.left) { end, _ in end.setBufferedAmountLowThreshold(100_000, of: ours) }
        for _ in 0..<4 { try pair.send(.binary([UInt8](repeating: 1, count: 200_000)), on: ours) }
        #expect(pair[.left].bufferedAmount(of: ours) > 700_000)
        pair.run { $0.journal(.right).messages(of: theirs).count == 4 }
        let lows = pair.journal(.left).events.count { $0.event == .bufferedAmountLow }
        #expect(lows == 1)
        #expect(pair[.left].bufferedAmount(of: ours) == 0)
        let amounts = pair.journal(.left).events.compactMap { entry in
            if case .bufferedAmount(let amount) = entry.event { amount } else { nil }
        }
        #expect(amounts.count > 10 && amounts.last == 0)
    }

    @Test func `only what an application has sent counts as waiting`() throws {
        var pair = connected()
        let (ours, theirs) = try channel(&pair)
        // Nothing more leaves.
        pair.line.loss = 1
        for _ in 0..<10 { try pair.send(.binary([UInt8](repeating: 1, count: 20_000)), on: ours) }
        let other = try pair.create("other", DataChannelInit(protocol: "its protocol"))
        #expect(pair[.left].association?.queue.isDrained(2) == false)
        #expect(pair[.left].bufferedAmount(of: other) == 0)
        // Each is one byte on the wire.
        try pair.send(.text(""), on: other)
        try pair.send(.binary([]), on: other)
        #expect(pair[.left].bufferedAmount(of: other) == 0)
        try pair.send(.text("four"), on: other)
        #expect(pair[.left].bufferedAmount(of: other) == 4)
        pair.line.loss = 0
        pair.run()
        #expect(pair.journal(.right).messages(of: theirs).count == 10)
        let amounts = pair.journal(.left).events.filter { $0.id == other }.compactMap { entry in
            if case .bufferedAmount(let amount) = entry.event { amount } else { nil }
        }
        #expect(amounts == [0])
    }

    @Test func `room that messages leave whose time is over is told, even where another message has just taken some`()
        throws
    {
        var pair = connected()
        let (ours, _) = try channel(&pair, DataChannelInit(maxPacketLifeTime: 100))
        pair.tell(.left) { end, _ in end.setBufferedAmountLowThreshold(50_000, of: ours) }
        pair.line.loss = 1
        for _ in 0..<200 { try pair.send(.binary([UInt8](repeating: 1, count: 1_000)), on: ours) }
        #expect(pair[.left].bufferedAmount(of: ours) > 100_000)
        pair.run(within: .milliseconds(150))
        try pair.send(.binary([UInt8](repeating: 1, count: 10)), on: ours)
        #expect(pair[.left].bufferedAmount(of: ours) < 1_000)
        #expect(pair.journal(.left).events.count { $0.event == .bufferedAmountLow } == 1)
    }

    @Test func `an unreliable channel gives up what is lost, and goes on`() throws {
        for options in [
            DataChannelInit(ordered: false, maxRetransmits: 0), DataChannelInit(maxPacketLifeTime: 20),
        ] {
            var pair = connected()
            let (ours, theirs) = try channel(&pair, options)
            pair.line.loss = 0.3
            for number in 0..<200 {
                try pair.send(.text("\(number)"), on: ours)
                pair.run(within: .milliseconds(20))
            }
            pair.line.loss = 0
            pair.run(within: .seconds(Int64(3)))
            try pair.send(.text("end"), on: ours)
            pair.run(within: .seconds(Int64(10)))
            let heard = pair.journal(.right).messages(of: theirs)
            #expect(heard.count > 60 && heard.count < 201, "\(heard.count)")
            #expect(heard.last == .text("end"))
            #expect(Set(heard).count == heard.count)
        }
    }

    @Test func `when the peer begins anew every channel is over, and new ones open`() throws {
        var pair = DataChannelPair()
        let old = try ["a", "b"].map { try pair.create($0) }
        pair.connect()
        #expect(pair.run { $0.journal(.right).announced.count == 2 })
        pair.replace(.right)
        #expect(pair.run { $0.journal(.left).story(of: old[1]).last == "failed restarted" })
        for id in old { #expect(pair.journal(.left).story(of: id) == ["open", "failed restarted"]) }
        #expect(pair.run { $0.areEstablished })
        let new = try pair.create("c")
        try pair.send(.text("hello"), on: new)
        #expect(pair.run { $0.journal(.right).announced.count == 3 })
        let arrived = try #require(pair.journal(.right).announced.last)
        #expect(pair.journal(.right).story(of: arrived).suffix(2) == ["announced c", "open"])
        #expect(pair.run { $0.journal(.right).messages(of: arrived) == [.text("hello")] })
        #expect(pair[.left].description(of: new)?.options.id == 0)
    }

    @Test func `a peer that has not heard of the end is told when it sends`() throws {
        var pair = DataChannelPair()
        _ = try pair.create("a")
        pair.connect()
        #expect(pair.run { $0.journal(.right).announced.count == 1 })
        let theirs = try #require(pair.journal(.right).announced.first)
        pair.line.loss = 1
        pair.tell(.left) { end, now in end.close(at: now) }
        pair.line.loss = 0
        try pair.send(.text("still there?"), on: theirs, by: .right)
        #expect(pair.run(within: .milliseconds(100)) { $0.journal(.right).story(of: theirs).count == 3 })
        let end = DataChannelFailure.transport(.abortedByPeer(cause: nil))
        #expect(pair.journal(.right).story(of: theirs).last == "failed \(end)")
    }

    @Test func `statistics tell what was carried`() throws {
        var pair = connected()
        let (ours, theirs) = try channel(&pair)
        try pair.send(.text("four"), on: ours)
        pair.run()
        for (side, id, sent) in [(.left, ours, true), (.right, theirs, false)]
            as [(DataChannelPair.Side, DataChannelID, Bool)]
        {
            var report = StatsReport()
            pair[side].addStats(to: &report, transportID: "T0", at: pair.now)
            let stats = try #require(report.dataChannels.first)
            #expect(stats.id == "D\(id.rawValue)")
            #expect(stats.label == "chat" && stats.state == "open" && stats.dataChannelIdentifier == 0)
            #expect(stats.messagesSent == (sent ? 1 : 0) && stats.bytesSent == (sent ? 4 : 0))
            #expect(stats.messagesReceived == (sent ? 0 : 1) && stats.bytesReceived == (sent ? 0 : 4))
            #expect(report.sctpTransport?.smoothedRoundTripTime ?? 0 > 0.019)
        }
    }
}
