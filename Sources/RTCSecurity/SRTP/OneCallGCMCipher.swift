import CPacketCiphers
import RTCEngine

/// AEAD_AES_128_GCM and AEAD_AES_256_GCM (RFC 7714), a packet in one call, where `GCMCipher` needs five of OpenSSL's:
/// in two thirds of the time or less.
struct OneCallGCMCipher: ~Copyable {
    private static let tagLength = 16

    private let key: OpaquePointer
    private let kind: PacketKind
    private let salt: CipherBlock

    /// Nil where the library is not there, and for keys that are none.
    init?(kind: PacketKind, keys: SRTPSessionKeys) {
        guard keys.salt.count == 12, let key = cpacketgcm_key_make(keys.encryption, keys.encryption.count) else {
            return nil
        }
        self.key = key
        self.kind = kind
        self.salt = CipherBlock(leading: keys.salt)
    }

    deinit {
        cpacketgcm_key_free(key)
    }

    /// The functions, the schedule, and powers of the hash key, as many as there are for processors without AVX-512.
    borrowing func prefetch() { Prefetch.bytes(UnsafeRawPointer(key), lines: 9) }

    borrowing func seal(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = start(packet, layout) else { return false }
        let key = self.key
        layout.gcmInitialisationVector(salt).withBytes { vector in
            withAuthenticated(base, layout) { header, length in
                cpacketgcm_seal(
                    key, vector, header, length, base + layout.headerLength, layout.bodyLength, base + layout.tagOffset)
            }
        }
        return true
    }

    borrowing func open(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        guard let base = start(packet, layout) else { return false }
        let key = self.key
        return layout.gcmInitialisationVector(salt).withBytes { vector in
            withAuthenticated(base, layout) { header, length in
                cpacketgcm_open(
                    key, vector, header, length, base + layout.headerLength, layout.bodyLength, base + layout.tagOffset)
            }
        }
    }

    private borrowing func start(
        _ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout
    ) -> UnsafeMutablePointer<UInt8>? {
        guard layout.fits(in: packet.count, tagLength: Self.tagLength) else { return nil }
        return packet.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    /// What is authenticated only: the header (RFC 7714 §8.2), and for SRTCP, whose header has eight bytes, the word
    /// with E bit and index behind it (§9.2).
    private borrowing func withAuthenticated<Result>(
        _ base: UnsafeMutablePointer<UInt8>, _ layout: PacketLayout,
        _ body: (_ header: UnsafePointer<UInt8>, _ length: Int) -> Result
    ) -> Result {
        switch kind {
        case .rtp:
            return body(base, layout.headerLength)
        case .rtcp:
            let header = UnsafeRawPointer(base).loadUnaligned(as: UInt64.self)
            var authenticated = (header, layout.word.bigEndian)
            return withUnsafeMutableBytes(of: &authenticated) { bytes in
                // A tuple of two words is never empty.
                let start = bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
                return body(start, MemoryLayout<UInt64>.size + MemoryLayout<UInt32>.size)
            }
        }
    }
}
