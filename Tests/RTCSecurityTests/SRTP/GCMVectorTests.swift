import RTCEngine
import Testing

@testable import RTCSecurity

/// RFC 7714 §16.1 and §17.1. The vectors give session keys, so nothing is derived here.
struct GCMVectorTests {
    private let keys = SRTPSessionKeys(
        encryption: bytes("000102030405060708090a0b0c0d0e0f"), salt: bytes("517569642070726f2071756f"),
        authentication: [])

    private func context(_ library: CipherLibrary) throws -> SRTPContext {
        try SRTPContext(
            .aeadAES128GCM, localRTP: keys, localRTCP: keys, remoteRTP: keys, remoteRTCP: keys, by: library)
    }

    // §16: "Gallia est omnis divisa in partes tres"
    private let plainRTP = bytes(
        """
        8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976
        69736120 696e2070 61727465 73207472 6573
        """)
    private let protectedRTP = bytes(
        """
        8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5
        0d294e6f 42a5f47a 51c7d19b 36de3adf 8833 899d7f27 beb16a91 52cf765e e4390cce
        """)

    @Test(arguments: CipherLibrary.allCases)
    func `protects the packet of RFC 7714 16_1_1`(library: CipherLibrary) throws {
        var packet = plainRTP
        try context(library).protectRTP(&packet)
        #expect(packet == protectedRTP)
    }

    @Test(arguments: CipherLibrary.allCases)
    func `opens the packet of RFC 7714 16_1_2`(library: CipherLibrary) throws {
        var packet = protectedRTP
        try context(library).unprotectRTP(&packet)
        #expect(packet == plainRTP)
    }

    // §17.1, SRTCP index 0x5d4
    private let plainRTCP = bytes(
        """
        81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61
        deadbeef deadbeef deadbeef deadbeef deadbeef
        """)
    private let protectedRTCP = bytes(
        """
        81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d
        c676a5f1 730d6fda 4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4
        """)

    @Test(arguments: CipherLibrary.allCases)
    func `opens the packet of RFC 7714 17_1`(library: CipherLibrary) throws {
        var packet = protectedRTCP
        try context(library).unprotectRTCP(&packet)
        #expect(packet == plainRTCP)
    }

    @Test(arguments: CipherLibrary.allCases)
    func `protects the packet of RFC 7714 17_1 as its 0x5d4th`(library: CipherLibrary) throws {
        let context = try context(library)
        for _ in 0..<0x5d4 {
            var earlier = plainRTCP
            try context.protectRTCP(&earlier)
        }
        var packet = plainRTCP
        try context.protectRTCP(&packet)
        #expect(packet == protectedRTCP)
    }

    /// §17.3: authenticated but not encrypted. Genuine, but DTLS-SRTP never agrees on it.
    @Test(arguments: CipherLibrary.allCases)
    func `refuses the unencrypted packet of RFC 7714 17_3`(library: CipherLibrary) throws {
        let context = try context(library)
        var packet = plainRTCP + bytes("841dd968 3dd78ec9 2ae58790 125f62b3 000005d4")
        #expect(throws: SRTPError.malformed) { try context.unprotectRTCP(&packet) }
    }
}
