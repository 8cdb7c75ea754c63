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

    @Test func `keeps a bounded number of senders`() throws {
        let pair = try SRTPPair(.aeadAES128GCM)
        let limit = UInt32(SourceTable.sourceLimit)
        for ssrc in 0..<limit { _ = try pair.opened(pair.protected(rtp(1, ssrc: ssrc, payloadLength: 1))) }
        #expect(throws: SRTPError.tooManySources) { try pair.protected(rtp(1, ssrc: limit)) }
        #expect(throws: SRTPError.tooManySources) { try pair.opened(rtp(1, ssrc: limit, payloadLength: 40)) }
        #expect(try pair.opened(pair.protected(rtp(2, ssrc: 0))) == rtp(2, ssrc: 0))
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
