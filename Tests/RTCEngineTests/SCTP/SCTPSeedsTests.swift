import RTCWire
import Testing

@testable import RTCEngine

/// Random traffic over links that lose, mix and repeat packets: what is reliable arrives once and in order, what is not
/// arrives at most once and whole, and in the end nothing is held.
@Suite struct SCTPSeedsTests {
    private struct Sent {
        let bytes: [UInt8]
        let stream: UInt16
        let isOrdered: Bool
        let isReliable: Bool
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `over a bad link every promise holds`(seed: UInt64) throws {
        var random = EngineRandom.seeded(seed &* 7_919 &+ 13)
        var configuration = SCTPConfiguration()
        configuration.offersInterleaving = Bool.random(using: &random)
        configuration.offersZeroChecksum = Bool.random(using: &random)
        configuration.receiveBuffer = [16_384, 65_536, 1 << 20].randomElement(using: &random) ?? 65_536
        configuration.localMaximumMessageSize = 12_000
        configuration.remoteMaximumMessageSize = 12_000
        configuration.maximumRetransmissions = 100
        configuration.maximumRTO = .milliseconds(2_000)
        var conditions = SCTPPair.Conditions()
        conditions.loss = Double.random(in: 0...0.2, using: &random)
        conditions.duplication = Double.random(in: 0...0.1, using: &random)
        conditions.jitter = .milliseconds(Int64.random(in: 0...60, using: &random))
        var pair = SCTPPair(seed: seed, conditions: conditions, left: configuration, right: configuration)
        pair[.left].begin(atTSN: UInt32(truncatingIfNeeded: random.next()) | 0xffff_ff00)
        pair.startBoth()
        var sent: [[Sent]] = [[], []]
        for number in 0..<Int.random(in: 5...60, using: &random) {
            let side: SCTPPair.Side = Bool.random(using: &random) ? .left : .right
            let size =
                Bool.random(using: &random)
                ? Int.random(in: 4...200, using: &random)
                : Int.random(in: 200...12_000, using: &random)
            let reliability: SCTPReliability =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: .maxRetransmits(UInt16.random(in: 0...2, using: &random))
                case 1: .maxLifetime(.milliseconds(Int64.random(in: 1...400, using: &random)))
                default: .reliable
                }
            let message = Sent(
                bytes: numbered(number, count: size), stream: UInt16.random(in: 0..<4, using: &random),
                isOrdered: Bool.random(using: &random), isReliable: reliability == .reliable)
            try pair.send(
                message.bytes, from: side, on: message.stream, ordered: message.isOrdered, reliability)
            sent[side.rawValue].append(message)
            if Int.random(in: 0..<4, using: &random) == 0 { pair.run(for: .milliseconds(40)) }
        }
        let isDone = pair.run(until: pair.now + .seconds(Int64(200))) {
            $0[.left].holdsNothing && $0[.right].holdsNothing && $0[.left].state == .established
        }
        #expect(isDone && pair.stepsInVain == 0)
        for side in SCTPPair.Side.allCases { check(sent[side.other.rawValue], pair.received(by: side)) }
    }

    private func check(_ sent: [Sent], _ received: [SCTPReceivedMessage]) {
        #expect(Set(received.map(\.bytes)).count == received.count)
        let all = Dictionary(uniqueKeysWithValues: sent.map { ($0.bytes, $0) })
        for message in received { #expect(all[message.bytes]?.stream == message.stream) }
        let arrived = Set(received.map(\.bytes))
        for message in sent where message.isReliable { #expect(arrived.contains(message.bytes)) }
        for stream in UInt16(0)..<4 {
            let inOrder = sent.filter { $0.stream == stream && $0.isOrdered }.map(\.bytes)
            let arrivals = received.filter { $0.stream == stream && all[$0.bytes]?.isOrdered == true }.map(\.bytes)
            #expect(inOrder.filter(Set(arrivals).contains) == arrivals)
        }
    }
}
