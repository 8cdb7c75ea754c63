import Foundation
import RTCWire
import Testing

@testable import RTCEngine

/// What a peer chooses makes a packet no dearer: each test compares the processor's time for one thing done among many
/// with that for the same thing done alone. Without care the one takes hundreds of times as long as the other.
@Suite(.serialized) struct SCTPCostTests {
    private static let limit = 40.0

    /// Of this thread, so that other work on the machine does not count.
    private func shortestTime(of work: () -> Void) -> Double {
        func processorTime() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        return (0..<5).map { _ in
            let start = processorTime()
            work()
            return processorTime() - start
        }.min() ?? 0
    }

    private func insert(_ header: SCTPDataHeader, into reassembly: inout SCTPReassembly) {
        let payload: [UInt8] = [1]
        guard case .taken = reassembly.insert(header, payload.span.bytes) else {
            Issue.record("not taken")
            return
        }
    }

    @Test func `messages in order cost the same, however many wait behind them`() {
        func time(waiting: UInt32) -> Double {
            var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
            reassembly.isInterleaved = true
            for number in 0..<waiting {
                insert(SCTPText.data(0, message: 1_000 + number, interleaved: true), into: &reassembly)
            }
            var message: UInt32 = 0
            return shortestTime {
                for _ in 0..<200 {
                    insert(SCTPText.data(0, message: message, last: false, interleaved: true), into: &reassembly)
                    insert(
                        SCTPText.data(0, message: message, fragment: 1, first: false, interleaved: true),
                        into: &reassembly)
                    message += 1
                }
            }
        }
        #expect(time(waiting: 50_000) < time(waiting: 0) * Self.limit)
    }

    @Test func `a FORWARD TSN costs what it gives up, however many streams have halves`() {
        func time(streams: UInt32) -> Double {
            var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
            for number in 0..<streams {
                insert(
                    SCTPText.data(10_000 + 2 * number, stream: UInt16(number), unordered: true, last: false),
                    into: &reassembly)
            }
            return shortestTime {
                for tsn in UInt32(0)..<100 {
                    reassembly.forward(SCTPForwardTSN(isInterleaved: false, cumulativeTSN: tsn))
                }
            }
        }
        #expect(time(streams: 4_000) < time(streams: 1) * Self.limit)
    }

    @Test func `a fragment costs the same, in whatever order those before it came`() {
        func time(_ order: [UInt32]) -> Double {
            var fragments = SCTPFragments()
            let payload: [UInt8] = [1]
            func insert(_ number: UInt32) {
                let header = SCTPText.data(
                    number, fragment: number, first: number == 0, last: false, interleaved: true)
                guard case .stored = fragments.insert(number, header, payload.span.bytes, maximumSize: .max) else {
                    Issue.record("not stored")
                    return
                }
            }
            for number in order { insert(number) }
            var next = UInt32(order.count)
            return shortestTime {
                for _ in 0..<500 {
                    insert(next)
                    next += 1
                }
            }
        }
        let order = Array(UInt32(0)..<4_000)
        #expect(time(order.reversed()) < time(order) * Self.limit)
    }

    @Test func `what is in doubt after a reset costs nothing before its turn, however many streams it is on`() {
        func time(streams: UInt32) -> Double {
            var reassembly = SCTPReassembly(maximumMessageSize: 1_000)
            let skip = SCTPForwardTSN(
                isInterleaved: false, cumulativeTSN: 0,
                skipped: (0..<streams).map {
                    SCTPForwardTSN.Skipped(stream: UInt16($0), isUnordered: false, message: 0)
                })
            reassembly.forward(skip)
            for number in 0..<streams { reassembly.reset([UInt16(number)]) }
            // Of the streams as they were, or as they are now?
            reassembly.forward(skip)
            for number in 0..<streams {
                insert(SCTPText.data(10_000 + number, stream: UInt16(number), message: 1), into: &reassembly)
            }
            var reached: UInt32 = 10_000
            return shortestTime {
                for _ in 0..<200 {
                    reassembly.settleSkips(upTo: reached)
                    reached += 1
                }
            }
        }
        #expect(time(streams: 60_000) < time(streams: 1_000) * Self.limit)
    }

    @Test func `DATA costs the same, however many streams are named by the requests to reset that wait`() {
        func time(streams: UInt16) -> Double {
            var resets = SCTPIncomingResets(initialTSN: 0)
            for request in UInt32(0)..<16 {
                let verdict = resets.requested(
                    request, lastTSN: 1_000 + request, streams: Array(0..<streams), cumulativeTSN: 0)
                #expect(verdict == .answer(SCTPReconfigurationResult.inProgress))
            }
            // From after all of the requests, of a stream that none of them names.
            let header = SCTPText.data(5_000, stream: 60_000)
            var isPremature = false
            let result = shortestTime {
                for _ in 0..<500 where resets.isPremature(header) { isPremature = true }
            }
            #expect(!isPremature)
            return result
        }
        // What a record of DTLS names.
        #expect(time(streams: 8_000) < time(streams: 1) * Self.limit)
    }
}
