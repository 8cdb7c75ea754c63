import RTCEngine
import Testing

@testable import RTCSecurity

/// RFC 7714 §16.2 and §17.2: the same packets as §16.1 and §17.1 under a key of 256 bits.
struct GCM256VectorTests {
    private let keys = SRTPSessionKeys(
        encryption: Array(0..<32), salt: bytes("517569642070726f2071756f"), authentication: [])

    private func context(_ library: CipherLibrary) throws -> SRTPContext {
        try SRTPContext(
            .aeadAES256GCM, localRTP: keys, localRTCP: keys, remoteRTP: keys, remoteRTCP: keys, by: library)
    }

    private let plainRTP = bytes(
        """
        8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976
        69736120 696e2070 61727465 73207472 6573
        """)
    private let protectedRTP = bytes(
        """
        8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238
        9a58e2f3 b50b2a02 76ffae0f 1ba63799 b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13
        """)
    private let plainRTCP = bytes(
        """
        81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61
        deadbeef deadbeef deadbeef deadbeef deadbeef
        """)
    private let protectedRTCP = bytes(
        """
        81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50
        a2eaa5c1 110555be 8415f658 c61de047 6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4
        """)

    @Test(arguments: CipherLibrary.allCases)
    func `protects the packet of RFC 7714 16_2_1`(library: CipherLibrary) throws {
        var packet = plainRTP
        try context(library).protectRTP(&packet)
        #expect(packet == protectedRTP)
    }

    @Test(arguments: CipherLibrary.allCases)
    func `opens the packet of RFC 7714 16_2_2`(library: CipherLibrary) throws {
        var packet = protectedRTP
        try context(library).unprotectRTP(&packet)
        #expect(packet == plainRTP)
    }

    @Test(arguments: CipherLibrary.allCases)
    func `opens the packet of RFC 7714 17_2`(library: CipherLibrary) throws {
        var packet = protectedRTCP
        try context(library).unprotectRTCP(&packet)
        #expect(packet == plainRTCP)
    }
}
