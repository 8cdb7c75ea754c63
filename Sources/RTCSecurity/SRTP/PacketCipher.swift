import RTCEngine

/// Where the parts of a protected packet are, and what its keystream depends on.
///
///     SRTP                header | body | tag
///     SRTCP, AES-CM       header | body | word | tag      (RFC 3711 §3.4)
///     SRTCP, AES-GCM      header | body | tag | word      (RFC 7714 §9.2)
struct PacketLayout {
    /// Authenticated and readable.
    var headerLength: Int
    /// Authenticated and encrypted.
    var bodyLength: Int
    var tagOffset: Int
    /// Authenticated beside the packet: the rollover counter for SRTP, E bit and index for SRTCP.
    var word: UInt32
    var ssrc: UInt32
    /// 48 bits for SRTP (RFC 3711 §3.3.1), 31 for SRTCP.
    var index: UInt64

    var bodyEnd: Int { headerLength + bodyLength }

    /// False for offsets that leave `byteCount` bytes; the ciphers work on raw memory and refuse those.
    func fits(in byteCount: Int, tagLength: Int) -> Bool {
        headerLength >= 0 && bodyLength >= 0 && tagOffset >= bodyEnd && tagOffset + tagLength <= byteCount
    }
}

extension PacketLayout {
    /// RFC 7714 §8.1 and §9.1: 12 bytes of zeros(2), SSRC(4), index(6; SRTCP's 31 bits on the right), XOR salt.
    func gcmInitialisationVector(_ salt: CipherBlock) -> CipherBlock {
        CipherBlock(high: UInt64(ssrc) << 16 | index >> 32, low: index << 32) ^ salt
    }
}

/// Which of the two packet kinds a cipher's keys are for.
enum PacketKind {
    case rtp
    case rtcp
}

/// Whether a cipher protects what we send or opens what we receive.
enum CipherDirection: Int32 {
    case open = 0
    case seal = 1
}

/// Who computes AES-GCM, and AES-CM of packets that leave together. Both write the same bytes.
enum CipherLibrary: CaseIterable {
    /// Intel's Multi-Buffer Crypto library where it is there and the processor has what it wants, else OpenSSL.
    case best
    case openSSL
}

/// The transform of one direction and kind, its key schedule made once.
enum PacketCipher: ~Copyable {
    case gcmInOneCall(OneCallGCMCipher)
    case gcm(GCMCipher)
    case counterMode(CounterModeCipher)

    init(
        _ profile: SRTPProfile, kind: PacketKind, direction: CipherDirection, keys: SRTPSessionKeys,
        by library: CipherLibrary = .best
    ) throws(SRTPError) {
        switch profile {
        case .aeadAES128GCM, .aeadAES256GCM:
            if library == .best, let cipher = OneCallGCMCipher(kind: kind, keys: keys) {
                self = .gcmInOneCall(cipher)
            } else {
                self = .gcm(try GCMCipher(kind: kind, direction: direction, keys: keys))
            }
        case .aes128CMHMACSHA1_80:
            // Reports, and what comes in, are sealed and opened one by one.
            let mayWait = kind == .rtp && direction == .seal && library == .best
            self = .counterMode(try CounterModeCipher(keys: keys, mayWait: mayWait))
        }
    }

    borrowing func prefetch() {
        switch self {
        case .gcmInOneCall(let cipher): cipher.prefetch()
        case .gcm(let cipher): cipher.prefetch()
        case .counterMode(let cipher): cipher.prefetch()
        }
    }

    /// Leaves a packet, which begins at `start` in some buffer, to a batch. False where it is to be sealed alone.
    borrowing func leave(
        _ layout: PacketLayout, at start: Int, of context: SRTPContext, to batch: CounterModeBatch
    ) -> Bool {
        switch self {
        case .gcmInOneCall: false
        case .gcm: false
        case .counterMode(let cipher): cipher.leave(layout, at: start, of: context, to: batch)
        }
    }

    /// Encrypts the body in place and writes the tag. False when the library fails.
    borrowing func seal(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        switch self {
        case .gcmInOneCall(let cipher): cipher.seal(packet, layout)
        case .gcm(let cipher): cipher.seal(packet, layout)
        case .counterMode(let cipher): cipher.seal(packet, layout)
        }
    }

    /// Checks the tag and decrypts the body in place. False when the tag is wrong.
    borrowing func open(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        switch self {
        case .gcmInOneCall(let cipher): cipher.open(packet, layout)
        case .gcm(let cipher): cipher.open(packet, layout)
        case .counterMode(let cipher): cipher.open(packet, layout)
        }
    }
}

/// A 128-bit block as two big-endian halves: what initialisation vectors are computed in.
struct CipherBlock {
    var high: UInt64
    var low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Up to 16 bytes, filled up with zeros on the right.
    init(leading bytes: [UInt8]) {
        self.init(high: 0, low: 0)
        for (position, byte) in bytes.prefix(16).enumerated() {
            let bits = UInt64(byte) << UInt64(56 - 8 * (position % 8))
            if position < 8 { high |= bits } else { low |= bits }
        }
    }

    static func ^ (lhs: CipherBlock, rhs: CipherBlock) -> CipherBlock {
        CipherBlock(high: lhs.high ^ rhs.high, low: lhs.low ^ rhs.low)
    }

    /// The 16 bytes in network order, on the stack.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        var wire = (high.bigEndian, low.bigEndian)
        return withUnsafeMutableBytes(of: &wire) { bytes in
            // A tuple of two words is never empty.
            bytes.withMemoryRebound(to: UInt8.self) { body(UnsafePointer($0.baseAddress.unsafelyUnwrapped)) }
        }
    }
}
