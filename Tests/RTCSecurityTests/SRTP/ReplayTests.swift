import RTCEngine
import Testing

@testable import RTCSecurity

struct ReplayTests {
    @Test(arguments: SRTPProfile.allCases)
    func `opens a packet once`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let first = try pair.protected(rtp(1))
        let control = try pair.protectedRTCP(rtcp())
        _ = try pair.opened(first)
        _ = try pair.openedRTCP(control)
        #expect(throws: SRTPError.replayed) { try pair.opened(first) }
        #expect(throws: SRTPError.replayed) { try pair.openedRTCP(control) }
    }

    @Test func `opens a late packet inside the window, not one before it`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        let window = Int(SourceTable.replayWindow)
        let sent = try (0...window).map { try pair.protected(rtp(UInt16($0), payloadLength: 1)) }
        _ = try pair.opened(sent[window])
        #expect(try pair.opened(sent[1]) == rtp(1, payloadLength: 1))
        #expect(throws: SRTPError.replayed) { try pair.opened(sent[0]) }
    }

    @Test func `remembers each packet of a shuffled window`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        var random = EngineRandom.seeded(7)
        let sent = try (0..<900).map { try pair.protected(rtp(UInt16($0), payloadLength: 1)) }
        for packet in sent.shuffled(using: &random) { _ = try pair.opened(packet) }
        for packet in sent.shuffled(using: &random) {
            #expect(throws: SRTPError.replayed) { try pair.opened(packet) }
        }
    }

    /// The same nonce for two different packets would give GCM's authentication key away.
    @Test(arguments: SRTPProfile.allCases)
    func `protects a sequence number once`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        _ = try pair.protected(rtp(5))
        _ = try pair.protected(rtp(7))
        _ = try pair.protected(rtp(6))
        #expect(throws: SRTPError.replayed) { try pair.protected(rtp(5, payloadLength: 3)) }
    }

    @Test func `a packet from before the first rollover is too old`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        _ = try pair.opened(pair.protected(rtp(3)))
        #expect(throws: SRTPError.replayed) { try pair.opened(rtp(65_000, payloadLength: 40)) }
    }

    @Test(
        arguments: [
            (0x0000_0000_0005, 6, 0x0000_0000_0006),
            (0x0000_0000_ffff, 0, 0x0000_0001_0000),
            (0x0000_0001_0000, 65_535, 0x0000_0000_ffff),
            (0x0000_0001_7fff, 0xffff, 0x0000_0001_ffff),
            (0x0000_0001_7ffe, 0xffff, 0x0000_0000_ffff),
            (0x0000_0001_8000, 0, 0x0000_0001_0000),
            (0x0000_0001_8001, 0, 0x0000_0002_0000),
        ] as [(UInt64, UInt16, UInt64)])
    func `guesses the rollover of RFC 3711 Appendix A`(newest: UInt64, sequence: UInt16, index: UInt64) throws {
        #expect(try SourceTable.index(of: sequence, after: newest) == index)
    }

    @Test func `a key protects no more packets than its lifetime`() throws {
        var table = SourceTable(keyLifetime: 3)
        for _ in 0..<3 { table.commit(try table.nextTicket(ssrc: 1)) }
        #expect(throws: SRTPError.keyExhausted) { try table.nextTicket(ssrc: 1) }
        #expect(throws: SRTPError.keyExhausted) { try table.nextTicket(ssrc: 2) }
    }

    @Test func `the last rollover counter is not followed by a first`() throws {
        var table = SourceTable(keyLifetime: 1 << 48)
        table.commit(try table.ticket(ssrc: 1, index: 1 << 48 - 1))
        #expect(throws: SRTPError.keyExhausted) { try table.ticket(ssrc: 1, sequenceNumber: 0) }
    }
}
