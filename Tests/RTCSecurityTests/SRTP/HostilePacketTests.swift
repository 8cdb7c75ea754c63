import RTCEngine
import Testing

@testable import RTCSecurity

struct HostilePacketTests {
    @Test(arguments: SRTPProfile.allCases)
    func `refuses an RTP packet with any one byte changed`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let genuine = try pair.protected(
            bytes("92600001 00000001 cafebabe 11111111 22222222 bede0001 10ff0000 aabbccdd"))
        for position in genuine.indices {
            var packet = genuine
            packet[position] ^= 1 << (position % 8)
            #expect(throws: SRTPError.self) { try pair.opened(packet) }
        }
        #expect(try pair.opened(genuine).count == genuine.count - profile.tagLength)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `refuses an RTCP packet with any one byte changed`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let genuine = try pair.protectedRTCP(rtcp())
        for position in genuine.indices {
            var packet = genuine
            packet[position] ^= 1 << (position % 8)
            #expect(throws: SRTPError.self) { try pair.openedRTCP(packet) }
        }
        #expect(try pair.openedRTCP(genuine) == rtcp())
    }

    @Test(arguments: SRTPProfile.allCases)
    func `refuses a packet cut at any length`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let genuine = try pair.protected(
            bytes("92600001 00000001 cafebabe 11111111 22222222 bede0001 10ff0000 aabbccdd"))
        let control = try pair.protectedRTCP(rtcp())
        for count in 0..<genuine.count {
            #expect(throws: SRTPError.self) { try pair.opened(Array(genuine.prefix(count))) }
        }
        for count in 0..<control.count {
            #expect(throws: SRTPError.self) { try pair.openedRTCP(Array(control.prefix(count))) }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `noise is an error, never a trap`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        var random = EngineRandom.seeded(11)
        for round in 0..<4_000 {
            var noise = random.bytes(round % 120)
            if !noise.isEmpty, round % 2 == 0 { noise[0] = 0x80 | noise[0] & 0x3f }
            #expect(throws: SRTPError.self) { try pair.opened(noise) }
            #expect(throws: SRTPError.self) { try pair.openedRTCP(noise) }
            var plain = noise
            _ = try? pair.sender.protectRTCP(&plain)
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `a forged packet leaves no plaintext behind`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        var packet = try pair.protected(rtp(1))
        packet[14] ^= 1
        #expect(throws: SRTPError.authenticationFailed) { try pair.receiver.unprotectRTP(&packet) }
        #expect(packet.isEmpty)
    }

    @Test func `forged packets of new senders are not remembered`() throws {
        let table = SourceTable(keyLifetime: 1 << 48)
        for ssrc: UInt32 in 0..<5_000 { _ = try table.ticket(ssrc: ssrc, sequenceNumber: 1) }
        #expect(table.count == 0)
    }

    @Test func `keeps a bounded number of a peer's senders, and lets the one go that was heard least recently`() throws
    {
        let pair = try SRTPPair(.aeadAES128GCM)
        let limit = UInt32(SourceTable.receivedLimit)
        let first = try (0..<limit).map { try pair.protected(rtp(1, ssrc: $0, payloadLength: 1)) }
        for packet in first { _ = try pair.opened(packet) }
        // The first sender is heard again, so that the second is the oldest.
        _ = try pair.opened(pair.protected(rtp(2, ssrc: 0)))
        #expect(pair.receiver.receivedSourceCount == Int(limit))
        #expect(try pair.opened(pair.protected(rtp(1, ssrc: limit))) == rtp(1, ssrc: limit))
        #expect(pair.receiver.receivedSourceCount == Int(limit))
        #expect(try pair.opened(pair.protected(rtp(3, ssrc: 0))) == rtp(3, ssrc: 0))
        for ssrc in 2..<Int(limit) {
            #expect(throws: SRTPError.replayed) { try pair.opened(first[ssrc]) }
        }
        // As a new one.
        #expect(try pair.opened(pair.protected(rtp(2, ssrc: 1))) == rtp(2, ssrc: 1))
    }

    @Test func `forged packets make no sender go`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        let limit = UInt32(SourceTable.receivedLimit)
        let first = try (0..<limit).map { try pair.protected(rtp(1, ssrc: $0, payloadLength: 1)) }
        for packet in first { _ = try pair.opened(packet) }
        for ssrc in limit..<limit + 10 {
            #expect(throws: SRTPError.authenticationFailed) {
                try pair.opened(rtp(1, ssrc: ssrc, payloadLength: 40))
            }
        }
        for packet in first { #expect(throws: SRTPError.replayed) { try pair.opened(packet) } }
    }

    /// A subscriber who pages through a grid of pictures gets a new source for each of them, all day.
    @Test(arguments: SRTPProfile.allCases)
    func `sources of ours come and go without end`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        for ssrc: UInt32 in 1...3_000 {
            #expect(try pair.opened(pair.protected(rtp(65_535, ssrc: ssrc))) == rtp(65_535, ssrc: ssrc))
            _ = try pair.openedRTCP(pair.protectedRTCP(rtcp(ssrc: ssrc)))
            pair.sender.forgetSource(ssrc)
        }
        #expect(pair.sender.sentSourceCount == 0)
        _ = try pair.opened(pair.protected(rtp(0, ssrc: 5_000)))
    }

    @Test func `a source that has ended seals nothing more, and its reports use no index twice`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        _ = try pair.protected(rtp(9))
        for _ in 0..<5 { _ = try pair.openedRTCP(pair.protectedRTCP(rtcp())) }
        pair.sender.forgetSource(0xcafe_babe)
        #expect(throws: SRTPError.replayed) { try pair.protected(rtp(10)) }
        // The receiver has seen five, and would refuse them.
        #expect(try pair.openedRTCP(pair.protectedRTCP(rtcp())) == rtcp())
    }

    @Test func `a table that loses a sender in its middle knows the others`() throws {
        var table = SourceTable(keyLifetime: 1 << 48)
        for ssrc: UInt32 in 0..<20 {
            for number in 0..<(UInt16(ssrc) + 1) { table.commit(try table.ticket(ssrc: ssrc, sequenceNumber: number)) }
        }
        for ssrc: UInt32 in [3, 19, 0] { table.forget(ssrc) }
        #expect(table.count == 17)
        for ssrc: UInt32 in 0..<20 where ![3, 19, 0].contains(ssrc) {
            for number in 0..<(UInt16(ssrc) + 1) {
                #expect(throws: SRTPError.replayed) { try table.ticket(ssrc: ssrc, sequenceNumber: number) }
                #expect(table.usedIndex(ssrc: ssrc, sequenceNumber: number) == UInt64(number))
            }
            #expect(try table.ticket(ssrc: ssrc, sequenceNumber: UInt16(ssrc) + 1).index == UInt64(ssrc) + 1)
        }
    }

    @Test func `a forged packet moves no rollover counter`() throws {
        let pair = try SRTPPair(.aes128CMHMACSHA1_80)
        _ = try pair.opened(pair.protected(rtp(40_000)))
        var forged = try pair.protected(rtp(40_001))
        forged[2] = 0  // sequence number 65: would be the next round
        forged[3] = 65
        #expect(throws: SRTPError.authenticationFailed) { try pair.opened(forged) }
        #expect(try pair.opened(pair.protected(rtp(40_002))) == rtp(40_002))
    }
}
