import RTCWire
import Testing

@testable import RTCEngine

/// Resetting streams (RFC 6525 as RFC 8831 §6.7 uses it).
@Suite struct SCTPResetTests {
    @Test func `a reset comes after what was sent, and both sides hear of it`() throws {
        var pair = SCTPPair.connected()
        for number in 0..<30 { try pair.send(numbered(number, count: 1_000), on: 4) }
        pair[.left].resetStreams([4], at: pair.now)
        #expect(throws: SCTPSendError.streamClosing) { try pair.send([1], on: 4) }
        try pair.send([1], on: 5)
        pair.run(for: .seconds(Int64(2)))
        #expect(pair.received(by: .right).filter { $0.stream == 4 }.count == 30)
        #expect(pair.told(.right) == [.incomingStreamsReset([4])])
        #expect(pair.told(.left).filter { $0 == .outgoingStreamsReset([4]) }.count == 1)
        #expect(pair.transcript.filter { $0.contains("RE-CONFIG") }.count == 2)
    }

    @Test func `a stream that was reset begins at its first number, and may be reset again`() throws {
        var pair = SCTPPair.connected()
        for round in 0..<3 {
            try pair.send([UInt8(round), 1], on: 9)
            try pair.send([UInt8(round), 2], on: 9)
            pair[.left].resetStreams([9], at: pair.now)
            pair.run(for: .seconds(Int64(1)))
        }
        #expect(pair.received(by: .right).map(\.bytes) == [[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]])
        #expect(pair.transcript.filter { $0.contains("DATA 9/0, DATA 9/1") }.count == 3)
        #expect(pair.told(.right) == Array(repeating: .incomingStreamsReset([9]), count: 3))
    }

    @Test func `both sides reset at once`() throws {
        var pair = SCTPPair.connected()
        try pair.send([1], on: 1)
        try pair.send([2], from: .right, on: 1)
        pair[.left].resetStreams([1], at: pair.now)
        pair[.right].resetStreams([1], at: pair.now)
        pair.run(for: .seconds(Int64(2)))
        for side in SCTPPair.Side.allCases {
            #expect(pair.told(side).contains(.incomingStreamsReset([1])))
            #expect(pair.told(side).contains(.outgoingStreamsReset([1])))
        }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `resets survive a bad link, each once`(seed: UInt64) throws {
        var conditions = SCTPPair.Conditions()
        conditions.loss = 0.2
        conditions.duplication = 0.1
        conditions.jitter = .milliseconds(80)
        var pair = SCTPPair.connected(seed: seed, conditions: conditions)
        var rounds = 0
        for _ in 0..<4 {
            for stream in UInt16(0)..<3 {
                try pair.send(numbered(rounds, count: 3_000), on: stream)
            }
            pair[.left].resetStreams([0, 1, 2], at: pair.now)
            let before = rounds
            let isDone = pair.run(until: pair.now + .seconds(Int64(100))) { pair in
                let reset = pair.told(.left).reduce(0) { sum, output in
                    if case .outgoingStreamsReset(let streams) = output { sum + streams.count } else { sum }
                }
                return reset == 3 * (before + 1)
            }
            #expect(isDone)
            rounds += 1
        }
        #expect(pair.received(by: .right).count == 12)
        let heard = pair.told(.right).flatMap { output in
            if case .incomingStreamsReset(let streams) = output { streams } else { [UInt16]() }
        }
        #expect(heard.count == 12)
    }

    @Test func `hundreds of streams at once take several requests`() throws {
        var pair = SCTPPair.connected()
        for stream in UInt16(0)..<450 { try pair.send([1], on: stream) }
        pair[.left].resetStreams(Array(0..<450), at: pair.now)
        pair.run(for: .seconds(Int64(5)))
        let reset = pair.told(.right).flatMap { output in
            if case .incomingStreamsReset(let streams) = output { streams } else { [UInt16]() }
        }
        #expect(Set(reset) == Set(0..<450) && reset.count == 450)
        #expect(pair[.left].outgoingResets.isIdle)
    }

    @Test func `a request that comes again is answered again, and a wrong number refused`() {
        var resets = SCTPIncomingResets(initialTSN: 10)
        // Its data has not come: in progress, also when it comes again.
        #expect(resets.requested(10, lastTSN: 5, streams: [1], cumulativeTSN: 4) == .answer(6))
        #expect(resets.requested(10, lastTSN: 5, streams: [1], cumulativeTSN: 4) == .answer(6))
        // One from long ago or far ahead is wrong.
        #expect(resets.requested(9, lastTSN: 5, streams: [2], cumulativeTSN: 4) == .answer(5))
        #expect(resets.requested(2_000, lastTSN: 5, streams: [2], cumulativeTSN: 4) == .answer(5))
        let early = resets.takeDeferred(cumulativeTSN: 4)
        #expect(early == nil)
        #expect(resets.isPremature(SCTPText.data(6, stream: 1)))
        #expect(!resets.isPremature(SCTPText.data(6, stream: 2)))
        let granted = resets.takeDeferred(cumulativeTSN: 5)
        #expect(granted?.request == 10 && granted?.streams == [1])
        #expect(resets.requested(10, lastTSN: 5, streams: [1], cumulativeTSN: 5) == .answer(1))
        #expect(resets.refused(11) == .answer(SCTPReconfigurationResult.denied))
        #expect(resets.refused(11) == .answer(SCTPReconfigurationResult.denied))
    }

    @Test func `a peer without stream reset keeps its numbers`() throws {
        var pair = SCTPPair.connected()
        pair[.left].peer?.features.remove(.reconfiguration)
        try pair.send([1], on: 2)
        pair[.left].resetStreams([2], at: pair.now)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.told(.left).contains(.outgoingStreamsNotReset([2])))
        try pair.send([2], on: 2)
        pair.run(for: .seconds(Int64(1)))
        #expect(pair.received(by: .right).map(\.bytes) == [[1], [2]])
    }
}
