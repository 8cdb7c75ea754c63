import RTCEngine
import Testing

@testable import RTCSecurity

/// Packets that are sealed together (`CounterModeBatch`) are the packets that each context makes alone.
struct SealingBatchTests {
    private static func context(_ profile: SRTPProfile, _ seed: UInt8, _ library: CipherLibrary) throws -> SRTPContext {
        let keys = SRTPSessionKeys(
            encryption: (0..<UInt8(profile.masterKeyLength)).map { $0 &* 31 &+ seed },
            salt: (0..<UInt8(profile == .aes128CMHMACSHA1_80 ? 14 : 12)).map { $0 &* 17 &+ seed },
            authentication: profile == .aes128CMHMACSHA1_80 ? (0..<20).map { $0 &* 7 &+ seed } : [])
        return try SRTPContext(
            profile, localRTP: keys, localRTCP: keys, remoteRTP: keys, remoteRTCP: keys, by: library)
    }

    private static func batch() -> (any SealingBatch)? { try? OpenSSLSecurity().makeSealingBatch() }

    /// Header, sources, extension and payload, of lengths that differ.
    private static func packet(_ number: Int) -> [UInt8] {
        let sources = number % 4
        let words = number % 3 == 0 ? number % 7 : nil
        var packet: [UInt8] = [0x80 | (words == nil ? 0 : 0x10) | UInt8(sources), 96]
        packet += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number), 0, 0, 0, 1, 0xca, 0xfe, 0xba, 0xbe]
        packet += [UInt8](repeating: 9, count: sources * 4)
        if let words { packet += [0xbe, 0xde, 0, UInt8(words)] + [UInt8](repeating: 0x10, count: words * 4) }
        return packet + (0..<(number * 37) % 1_300).map { UInt8(truncatingIfNeeded: $0 &+ number) }
    }

    @Test(.enabled(if: GCMLibraryTests.hasMultiBufferCrypto))
    func `there is a library for it where there is one for AES-GCM`() throws {
        #expect(Self.batch() != nil)
        let batch = try #require(Self.batch())
        var bytes = Self.packet(1)
        let context = try Self.context(.aes128CMHMACSHA1_80, 1, .best)
        #expect(try !context.protectRTP(&bytes, from: 0, in: batch))
        batch.seal(&bytes)
    }

    /// From one packet, which is sealed by OpenSSL after all, to more than the library takes at a time.
    @Test(.enabled(if: GCMLibraryTests.hasMultiBufferCrypto), arguments: [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 64, 100])
    func `packets of many contexts are the same bytes as one by one`(count: Int) throws {
        let batch = try #require(Self.batch())
        let together = try (0..<count).map { try Self.context(.aes128CMHMACSHA1_80, UInt8($0), .best) }
        let alone = try (0..<count).map { try Self.context(.aes128CMHMACSHA1_80, UInt8($0), .openSSL) }
        for round in 0..<12 {
            // What lies before them stays as it is.
            var buffer = [UInt8](repeating: 0x55, count: round)
            var expected = buffer
            var packets: [(place: Range<Int>, plain: [UInt8], context: Int)] = []
            for context in 0..<count {
                // Several of one context, as of a picture, in one batch.
                for part in 0...(round % 3) {
                    let plain = Self.packet(round * 300 + context * 3 + part)
                    let start = buffer.count
                    buffer += plain
                    _ = try together[context].protectRTP(&buffer, from: start, in: batch)
                    packets.append((start..<buffer.count, plain, context))
                    expected += plain
                    try alone[context].protectRTP(&expected, from: start)
                }
            }
            if count > 1 { #expect(buffer != expected) }
            batch.seal(&buffer)
            #expect(buffer == expected)
            for (place, plain, context) in packets {
                var packet = Array(buffer[place])
                try together[context].unprotectRTP(&packet)
                #expect(packet == plain)
            }
            // Nothing is left: sealing again changes nothing.
            batch.seal(&buffer)
            #expect(buffer == expected)
        }
    }

    @Test func `numbers that were used are refused, and leave nothing in the batch`() throws {
        guard let batch = Self.batch() else { return }
        let context = try Self.context(.aes128CMHMACSHA1_80, 3, .best)
        var buffer = Self.packet(5)
        _ = try context.protectRTP(&buffer, from: 0, in: batch)
        let start = buffer.count
        buffer += Self.packet(5)
        #expect(throws: SRTPError.replayed) { _ = try context.protectRTP(&buffer, from: start, in: batch) }
        var short: [UInt8] = [0x80, 96, 0]
        #expect(throws: SRTPError.malformed) { _ = try context.protectRTP(&short, from: 0, in: batch) }
        buffer.removeLast(buffer.count - start)
        batch.seal(&buffer)
        try context.unprotectRTP(&buffer)
        #expect(buffer == Self.packet(5))
    }

    @Test func `a packet without a payload, one of AES-GCM and one of another batch are sealed at once`() throws {
        final class Other: SealingBatch { func seal(_ buffer: inout [UInt8]) {} }
        let batches: [any SealingBatch] = [Self.batch(), Other()].compactMap { $0 }
        for (seed, batch) in batches.enumerated() {
            for profile in SRTPProfile.allCases {
                let context = try Self.context(profile, UInt8(seed), .best)
                let isLeft = profile == .aes128CMHMACSHA1_80 && !(batch is Other)
                let plain = rtp(4, payloadLength: isLeft ? 0 : 20)
                var packet = plain
                #expect(try context.protectRTP(&packet, from: 0, in: batch))
                try context.unprotectRTP(&packet)
                #expect(packet == plain)
            }
        }
    }
}
