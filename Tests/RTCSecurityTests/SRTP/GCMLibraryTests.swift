import Foundation
import RTCEngine
import Testing

@testable import RTCSecurity

/// Two libraries compute AES-GCM (`CipherLibrary`): who is at the other end cannot tell them apart.
struct GCMLibraryTests {
    private static let profiles = [SRTPProfile.aeadAES128GCM, .aeadAES256GCM]

    /// What `CPacketCiphers` looks for: Debian's packages, as `make test` installs them, and the processor's
    /// instructions.
    static let hasMultiBufferCrypto =
        FileManager.default.fileExists(atPath: "/usr/include/intel-ipsec-mb.h")
        && FileManager.default.fileExists(atPath: "/usr/lib/x86_64-linux-gnu/libIPSec_MB.so.1")
        && ((try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? "").contains(" aes ")

    private func keys(_ profile: SRTPProfile, _ seed: UInt8) -> SRTPSessionKeys {
        SRTPSessionKeys(
            encryption: (0..<UInt8(profile.masterKeyLength)).map { $0 &* 31 &+ seed },
            salt: (0..<12).map { $0 &* 17 &+ seed }, authentication: [])
    }

    private func context(_ profile: SRTPProfile, _ seed: UInt8, _ library: CipherLibrary) throws -> SRTPContext {
        let keys = keys(profile, seed)
        return try SRTPContext(
            profile, localRTP: keys, localRTCP: keys, remoteRTP: keys, remoteRTCP: keys, by: library)
    }

    @Test(.enabled(if: hasMultiBufferCrypto), arguments: profiles)
    func `the library of one call is taken where it is there`(profile: SRTPProfile) throws {
        let cipher = try PacketCipher(profile, kind: .rtp, direction: .seal, keys: keys(profile, 1))
        guard case .gcmInOneCall = cipher else {
            Issue.record("OpenSSL was taken")
            return
        }
    }

    @Test(arguments: profiles)
    func `packets of all lengths are the same bytes`(profile: SRTPProfile) throws {
        for seed: UInt8 in 0..<5 {
            let best = try context(profile, seed, .best)
            let openSSL = try context(profile, seed, .openSSL)
            for length in stride(from: 0, through: 1_500, by: Int(seed) * 3 + 1) {
                let plain = rtp(UInt16(length), ssrc: 7 + UInt32(seed), payloadLength: length)
                var one = plain
                var other = plain
                try best.protectRTP(&one)
                try openSSL.protectRTP(&other)
                #expect(one == other, "\(length) bytes")
                try best.unprotectRTP(&other)
                try openSSL.unprotectRTP(&one)
                #expect(one == plain && other == plain, "\(length) bytes")
            }
        }
    }

    @Test(arguments: profiles)
    func `headers with sources and extensions are the same bytes`(profile: SRTPProfile) throws {
        for words in 0..<40 {
            let best = try context(profile, 3, .best)
            let openSSL = try context(profile, 3, .openSSL)
            let header =
                bytes("92e00001 00000001 cafebabe 11111111 22222222 bede00") + [UInt8(words)]
                + [UInt8](repeating: 0x10, count: words * 4)
            let plain = header + Array("what is said".utf8)
            var one = plain
            var other = plain
            try best.protectRTP(&one)
            try openSSL.protectRTP(&other)
            #expect(one == other, "\(words) words")
            try best.unprotectRTP(&other)
            #expect(other == plain)
        }
    }

    @Test(arguments: profiles)
    func `reports are the same bytes`(profile: SRTPProfile) throws {
        let best = try context(profile, 9, .best)
        let openSSL = try context(profile, 9, .openSSL)
        for blocks in 0..<64 {
            let plain = Array(rtcp().prefix(8)) + [UInt8](repeating: UInt8(blocks), count: blocks * 4)
            var one = plain
            var other = plain
            try best.protectRTCP(&one)
            try openSSL.protectRTCP(&other)
            #expect(one == other, "\(blocks) words")
            try best.unprotectRTCP(&other)
            try openSSL.unprotectRTCP(&one)
            #expect(one == plain && other == plain, "\(blocks) words")
        }
    }

    @Test(arguments: profiles, CipherLibrary.allCases)
    func `each single bit counts`(profile: SRTPProfile, library: CipherLibrary) throws {
        var sent = rtp(100, payloadLength: 33)
        try context(profile, 5, .openSSL).protectRTP(&sent)
        var report = rtcp()
        try context(profile, 5, .openSSL).protectRTCP(&report)
        let receiver = try context(profile, 5, library)
        // The first byte says how long the header is, which is another matter.
        for bit in 8..<sent.count * 8 {
            var forged = sent
            forged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SRTPError.authenticationFailed, "bit \(bit)") { try receiver.unprotectRTP(&forged) }
            #expect(forged.isEmpty)
        }
        for bit in 8..<report.count * 8 where bit / 8 != report.count - 4 {
            var forged = report
            forged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SRTPError.authenticationFailed, "bit \(bit)") { try receiver.unprotectRTCP(&forged) }
        }
        try receiver.unprotectRTP(&sent)
        try receiver.unprotectRTCP(&report)
    }
}
