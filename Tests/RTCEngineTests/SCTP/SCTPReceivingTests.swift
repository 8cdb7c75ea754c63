import RTCWire
import Testing

@testable import RTCEngine

/// The receiver's parts by themselves.
@Suite struct SCTPReceivingTests {
    private func deliver(_ reassembly: inout SCTPReassembly) -> [[UInt8]] {
        var result: [[UInt8]] = []
        while let message = reassembly.popDelivered() { result.append(message.bytes) }
        return result
    }

    private func insert(_ header: SCTPDataHeader, _ payload: [UInt8], _ reassembly: inout SCTPReassembly) {
        guard case .taken = reassembly.insert(header, payload.span.bytes) else {
            Issue.record("not taken")
            return
        }
    }

    @Test func `TSNs are remembered across the wrap, whatever their order`() {
        for seed in UInt64(0)..<50 {
            var random = EngineRandom.seeded(seed)
            var received = SCTPReceivedTSNs(initialTSN: 0xffff_ffe0)
            let tsns = (UInt32(0)..<64).map { 0xffff_ffe0 &+ $0 }.shuffled(using: &random)
            for tsn in tsns {
                switch received.place(of: tsn) {
                case .next, .ahead: received.record(tsn)
                case .duplicate, .tooFar: Issue.record("\(tsn) is new")
                }
                if case .duplicate = received.place(of: tsn) {} else { Issue.record("\(tsn) has come") }
            }
            #expect(received.cumulative == 0xffff_ffe0 &+ 63)
            #expect(!received.hasGaps)
        }
    }

    @Test func `a SACK names the gaps and, once, the duplicates`() {
        var received = SCTPReceivedTSNs(initialTSN: 1)
        for tsn: UInt32 in [1, 3, 4, 7] { received.record(tsn) }
        received.noteDuplicate(3)
        let sack = received.acknowledgment(window: 9, maximumEntries: 100)
        #expect(sack.cumulativeTSN == 1)
        #expect(sack.blocks == [.init(start: 2, end: 3), .init(start: 6, end: 6)])
        #expect(sack.duplicates == [3])
        #expect(received.acknowledgment(window: 9, maximumEntries: 1).blocks.count == 1)
        #expect(received.acknowledgment(window: 9, maximumEntries: 100).duplicates.isEmpty)
        received.advance(to: 5)
        #expect(received.cumulative == 5)
        received.advance(to: 6)
        #expect(received.cumulative == 7)
    }

    @Test func `a leap and too many gaps are as good as lost`() {
        var received = SCTPReceivedTSNs(initialTSN: 1)
        if case .tooFar = received.place(of: 70_000) {} else { Issue.record("70,000 is too far") }
        var taken = 0
        for tsn in stride(from: UInt32(2), to: 60_000, by: 2) {
            guard case .ahead = received.place(of: tsn) else { break }
            received.record(tsn)
            taken += 1
        }
        #expect(taken == 2_048)
        if case .next = received.place(of: 1) {} else { Issue.record("1 is next") }
        // What repairs is taken all the same: 3 joins 2 and 4, and 4,097 makes the last range longer.
        for tsn: UInt32 in [4_097, 3] {
            if case .ahead = received.place(of: tsn) { received.record(tsn) } else { Issue.record("\(tsn) repairs") }
        }
        // A range has become free.
        if case .ahead = received.place(of: 10_000) { received.record(10_000) } else { Issue.record("one is free") }
        if case .tooFar = received.place(of: 20_000) {} else { Issue.record("none is free") }
    }

    @Test func `the stream sequence number wraps`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        // Half the circle at a time.
        for message: UInt32 in [30_000, 60_000, 65_533] {
            reassembly.forward(
                SCTPForwardTSN(
                    isInterleaved: false, cumulativeTSN: 1,
                    skipped: [.init(stream: 3, isUnordered: false, message: message)]))
        }
        insert(SCTPText.data(4, stream: 3, message: 0), [3], &reassembly)
        insert(SCTPText.data(3, stream: 3, message: 65_535), [2], &reassembly)
        #expect(deliver(&reassembly).isEmpty)
        insert(SCTPText.data(2, stream: 3, message: 65_534), [1], &reassembly)
        #expect(deliver(&reassembly) == [[1], [2], [3]])
        #expect(reassembly.held == 0)
    }

    @Test(arguments: [true, false])
    func `what was given up before a reset and is named once more is no part of the stream that begins`(
        interleaved: Bool
    ) {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        reassembly.isInterleaved = interleaved
        func skip(_ message: UInt32, upTo tsn: UInt32) -> SCTPForwardTSN {
            SCTPForwardTSN(
                isInterleaved: interleaved, cumulativeTSN: tsn,
                skipped: [.init(stream: 3, isUnordered: false, message: message)])
        }
        insert(SCTPText.data(1, stream: 3, message: 0, interleaved: interleaved), [1], &reassembly)
        reassembly.forward(skip(57, upTo: 100))
        reassembly.reset([3])
        // Another stream's message 101 is given up before our acknowledgement of 100 has arrived.
        reassembly.forward(skip(57, upTo: 101))
        insert(SCTPText.data(102, stream: 3, message: 0, interleaved: interleaved), [2], &reassembly)
        #expect(deliver(&reassembly) == [[1], [2]])
        // What the new stream gives up is skipped, whatever its number.
        reassembly.forward(skip(57, upTo: 160))
        insert(SCTPText.data(161, stream: 3, message: 58, interleaved: interleaved), [3], &reassembly)
        #expect(deliver(&reassembly) == [[3]])
        #expect(reassembly.held == 0)
    }

    @Test(arguments: [true, false])
    func `the same number given up before a reset and after it is skipped twice`(interleaved: Bool) {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        reassembly.isInterleaved = interleaved
        func skip(upTo tsn: UInt32) -> SCTPForwardTSN {
            SCTPForwardTSN(
                isInterleaved: interleaved, cumulativeTSN: tsn,
                skipped: [.init(stream: 3, isUnordered: false, message: 0)])
        }
        reassembly.forward(skip(upTo: 1))
        reassembly.reset([3])
        reassembly.forward(skip(upTo: 2))
        insert(SCTPText.data(5, stream: 3, message: 2, interleaved: interleaved), [2], &reassembly)
        insert(SCTPText.data(4, stream: 3, message: 1, interleaved: interleaved), [1], &reassembly)
        // 3 may be the first message of the stream as it is now.
        reassembly.settleSkips(upTo: 2)
        #expect(deliver(&reassembly).isEmpty)
        // It was another stream's.
        reassembly.settleSkips(upTo: 5)
        #expect(deliver(&reassembly) == [[1], [2]])
        insert(SCTPText.data(6, stream: 3, message: 3, interleaved: interleaved), [3], &reassembly)
        #expect(deliver(&reassembly) == [[3]])
        #expect(reassembly.held == 0)
    }

    @Test(arguments: [true, false])
    func `what comes late after a reset shows that what is named once more was of the stream before`(
        interleaved: Bool
    ) {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        reassembly.isInterleaved = interleaved
        func skip(upTo tsn: UInt32) -> SCTPForwardTSN {
            SCTPForwardTSN(
                isInterleaved: interleaved, cumulativeTSN: tsn,
                skipped: [.init(stream: 3, isUnordered: false, message: 0)])
        }
        reassembly.forward(skip(upTo: 1))
        reassembly.reset([3])
        // 2 was another stream's, 3 is the first message of this one.
        insert(SCTPText.data(4, stream: 3, message: 1, interleaved: interleaved), [1], &reassembly)
        reassembly.forward(skip(upTo: 2))
        reassembly.settleSkips(upTo: 2)
        insert(SCTPText.data(3, stream: 3, message: 0, interleaved: interleaved), [0], &reassembly)
        reassembly.settleSkips(upTo: 4)
        #expect(deliver(&reassembly) == [[0], [1]])
        #expect(reassembly.held == 0)
    }

    @Test func `what was delivered before a reset does not keep its number from being skipped after it`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        insert(SCTPText.data(1, stream: 5, message: 0), [1], &reassembly)
        reassembly.reset([5])
        reassembly.forward(
            SCTPForwardTSN(
                isInterleaved: false, cumulativeTSN: 2, skipped: [.init(stream: 5, isUnordered: false, message: 0)]))
        insert(SCTPText.data(3, stream: 5, message: 1), [2], &reassembly)
        #expect(deliver(&reassembly) == [[1], [2]])
    }

    @Test(arguments: [true, false], [true, false])
    func `fragments in any order make the messages they were`(interleaved: Bool, unordered: Bool) {
        for seed in UInt64(0)..<30 {
            var random = EngineRandom.seeded(seed)
            var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
            reassembly.isInterleaved = interleaved
            var fragments: [(SCTPDataHeader, [UInt8])] = []
            var whole: [[UInt8]] = []
            var tsn: UInt32 = 0xffff_fff0
            for message in UInt32(0)..<8 {
                let count = UInt32.random(in: 1...6, using: &random)
                for fragment in 0..<count {
                    fragments.append(
                        (
                            SCTPText.data(
                                tsn, message: interleaved || !unordered ? message : 0, fragment: fragment,
                                unordered: unordered, first: fragment == 0, last: fragment == count - 1,
                                interleaved: interleaved), [UInt8(message), UInt8(fragment)]
                        ))
                    tsn &+= 1
                }
                whole.append((0..<count).flatMap { [UInt8(message), UInt8($0)] })
            }
            for (header, payload) in fragments.shuffled(using: &random) { insert(header, payload, &reassembly) }
            let delivered = deliver(&reassembly)
            if unordered { #expect(Set(delivered) == Set(whole)) } else { #expect(delivered == whole) }
            #expect(delivered.count == whole.count && reassembly.held == 0)
        }
    }

    @Test func `what is skipped is forgotten, what is whole is delivered`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        insert(SCTPText.data(2, message: 1), [1], &reassembly)
        insert(SCTPText.data(3, message: 2, last: false), [2], &reassembly)
        insert(SCTPText.data(5, message: 3), [3], &reassembly)
        insert(SCTPText.data(6, unordered: true, last: false), [9], &reassembly)
        reassembly.forward(
            SCTPForwardTSN(
                isInterleaved: false, cumulativeTSN: 6, skipped: [.init(stream: 0, isUnordered: false, message: 2)]))
        #expect(deliver(&reassembly) == [[1], [3]])
        #expect(reassembly.held == 0)
    }

    @Test func `an interleaved message that comes when it was given up is forgotten`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        reassembly.isInterleaved = true
        insert(SCTPText.data(2, message: 1, interleaved: true), [1], &reassembly)
        insert(SCTPText.data(3, message: 7, unordered: true, last: false, interleaved: true), [7], &reassembly)
        insert(SCTPText.data(4, message: 8, unordered: true, last: false, interleaved: true), [8], &reassembly)
        reassembly.forward(
            SCTPForwardTSN(
                isInterleaved: true, cumulativeTSN: 3,
                skipped: [
                    .init(stream: 0, isUnordered: false, message: 2), .init(stream: 0, isUnordered: true, message: 7),
                ]))
        #expect(deliver(&reassembly) == [[1]])
        insert(SCTPText.data(5, message: 2, interleaved: true), [2], &reassembly)
        #expect(deliver(&reassembly).isEmpty)
        insert(
            SCTPText.data(6, message: 8, fragment: 1, unordered: true, first: false, interleaved: true), [9],
            &reassembly)
        #expect(deliver(&reassembly) == [[8, 9]])
        #expect(reassembly.held == 0)
    }

    @Test func `all but one of the stream's numbers may wait for that one`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        for number in UInt32(1)..<65_536 {
            insert(SCTPText.data(number, message: number), [UInt8(number & 0xff), UInt8(number >> 8)], &reassembly)
        }
        #expect(deliver(&reassembly).isEmpty)
        insert(SCTPText.data(0, message: 0), [0, 0], &reassembly)
        let delivered = deliver(&reassembly)
        #expect(delivered.count == 65_536)
        #expect(zip(delivered, 0..<65_536).allSatisfy { $0[0] == UInt8($1 & 0xff) && $0[1] == UInt8($1 >> 8) })
        #expect(reassembly.held == 0)
        // A FORWARD TSN for what has come long ago changes nothing.
        reassembly.forward(
            SCTPForwardTSN(
                isInterleaved: false, cumulativeTSN: 1,
                skipped: [.init(stream: 0, isUnordered: false, message: 65_535)]))
        insert(SCTPText.data(65_536, message: 0), [1], &reassembly)
        #expect(deliver(&reassembly) == [[1]])
    }

    @Test func `unordered fragments of several streams do not mix`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        insert(SCTPText.data(1, stream: 1, unordered: true, last: false), [1], &reassembly)
        insert(SCTPText.data(3, stream: 2, unordered: true, first: false), [3], &reassembly)
        insert(SCTPText.data(2, stream: 2, unordered: true, first: false, last: false), [2], &reassembly)
        #expect(deliver(&reassembly).isEmpty)
        reassembly.reset([1])
        insert(SCTPText.data(1, stream: 2, unordered: true, last: false), [1], &reassembly)
        #expect(deliver(&reassembly) == [[1, 2, 3]])
        #expect(reassembly.held == 0)
    }

    @Test func `a reset forgets halves and begins at 0`() {
        var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
        insert(SCTPText.data(1, message: 0), [1], &reassembly)
        insert(SCTPText.data(2, message: 1, last: false), [2], &reassembly)
        insert(SCTPText.data(4, unordered: true, last: false), [2], &reassembly)
        reassembly.reset([0])
        #expect(reassembly.held == 0)
        insert(SCTPText.data(5, message: 0), [5], &reassembly)
        #expect(deliver(&reassembly) == [[1], [5]])
    }
}
