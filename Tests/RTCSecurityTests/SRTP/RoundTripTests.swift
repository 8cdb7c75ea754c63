import RTCEngine
import Testing

@testable import RTCSecurity

struct RoundTripTests {
    @Test(arguments: SRTPProfile.allCases)
    func `opens what the other end protected`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        for (sequence, length) in [0, 1, 15, 16, 1_188].enumerated() {
            let packet = rtp(UInt16(sequence), payloadLength: length)
            let protected = try pair.protected(packet)
            #expect(protected.count == packet.count + profile.tagLength)
            #expect(length < 16 || !protected.contains(packet.suffix(length)))
            #expect(try pair.opened(protected) == packet)
        }
        let control = rtcp()
        let protected = try pair.protectedRTCP(control)
        #expect(protected.count == control.count + profile.tagLength + 4)
        #expect(Array(protected.prefix(8)) == Array(control.prefix(8)))
        #expect(try pair.openedRTCP(protected) == control)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `leaves contributing sources and the header extension readable`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let header = bytes("92600001 00000001 cafebabe 11111111 22222222 bede0001 10ff0000")
        let packet = header + Array("the payload".utf8)
        let protected = try pair.protected(packet)
        #expect(Array(protected.prefix(header.count)) == header)
        #expect(try pair.opened(protected) == packet)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `follows the sequence number through three wraps`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        // Steps of a tenth of the space: a receiver that loses that much still guesses the rollover right.
        for step in stride(from: 0, to: 3 * 65_536, by: 6_553) {
            let packet = rtp(UInt16(truncatingIfNeeded: step))
            #expect(try pair.opened(pair.protected(packet)) == packet)
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `opens packets that arrive in the wrong order around the wrap`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let sent = try [65_533, 65_534, 65_535, 0, 1, 2].map { try pair.protected(rtp(UInt16($0))) }
        #expect(try pair.opened(sent[0]) == rtp(65_533))
        for position in [4, 2, 3, 1, 5] {
            #expect(try pair.opened(sent[position]) == rtp(UInt16(truncatingIfNeeded: 65_533 + position)))
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `keeps senders apart`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        for round in 0..<3 {
            for ssrc: UInt32 in 1...20 {
                let packet = rtp(UInt16(round), ssrc: ssrc)
                #expect(try pair.opened(pair.protected(packet)) == packet)
                #expect(try pair.openedRTCP(pair.protectedRTCP(rtcp(ssrc: ssrc))) == rtcp(ssrc: ssrc))
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `both directions have their own keys`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        let protected = try pair.protected(rtp(1))
        var echoed = protected
        #expect(throws: SRTPError.authenticationFailed) { try pair.sender.unprotectRTP(&echoed) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func `the array is not moved when it has room for the tag`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        var packet = rtp(1, payloadLength: 1_000)
        packet.reserveCapacity(1_500)
        let before = packet.withUnsafeBytes(\.baseAddress)
        try pair.sender.protectRTP(&packet)
        try pair.receiver.unprotectRTP(&packet)
        #expect(packet.withUnsafeBytes(\.baseAddress) == before)
    }

    @Test(arguments: SRTPProfile.allCases)
    func `protects a packet behind others in one array, which stay as they are`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for number: UInt16 in 1...3 {
            let start = bytes.count
            bytes += rtp(number, payloadLength: 50 * Int(number))
            try pair.sender.protectRTP(&bytes, from: start)
            ends.append(bytes.count)
        }
        for (number, (start, end)) in zip([0] + ends, ends).enumerated() {
            let packet = rtp(UInt16(number + 1), payloadLength: 50 * (number + 1))
            #expect(try pair.opened(Array(bytes[start..<end])) == packet)
        }
    }

    /// RFC 3711 §9.1
    @Test(arguments: SRTPProfile.allCases)
    func `repeats a packet to the bit, and no other under its number`(profile: SRTPProfile) throws {
        let pair = try SRTPPair(profile)
        func seal(_ protected: [UInt8]) -> UInt64 { protected.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }
        var sent: [[UInt8]] = []
        for number in 65_500..<65_600 { sent.append(try pair.protected(rtp(UInt16(truncatingIfNeeded: number)))) }
        for (place, number) in (65_500..<65_600).enumerated() {
            var again = rtp(UInt16(truncatingIfNeeded: number))
            try pair.sender.repeatRTP(&again, seal: seal(sent[place]))
            #expect(again == sent[place])
        }
        var other = rtp(65_501, payloadLength: 21)
        #expect(throws: SRTPError.replayed) { try pair.sender.repeatRTP(&other, seal: seal(sent[1])) }
        #expect(other.isEmpty)
        var unknown = rtp(2_000)
        #expect(throws: SRTPError.replayed) { try pair.sender.repeatRTP(&unknown, seal: 0) }
        // The number that comes next is still free.
        for packet in sent { _ = try pair.opened(packet) }
        #expect(try pair.opened(pair.protected(rtp(64))) == rtp(64))
    }
}
