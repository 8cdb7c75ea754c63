/// SHA-1 (FIPS 180-4 §6.1), kept only because STUN's MESSAGE-INTEGRITY is defined over it. Not for anything new.
struct SHA1: Sendable {
    /// A digest's length in bytes.
    static let digestSize = 20
    /// The compression function's block in bytes.
    static let blockSize = 64

    private var h0: UInt32 = 0x6745_2301
    private var h1: UInt32 = 0xefcd_ab89
    private var h2: UInt32 = 0x98ba_dcfe
    private var h3: UInt32 = 0x1032_5476
    private var h4: UInt32 = 0xc3d2_e1f0
    /// Bytes of a block that is not full yet; fewer than `blockSize` between calls.
    private var pending: [UInt8] = []
    private var byteCount: UInt64 = 0

    init() { pending.reserveCapacity(Self.blockSize) }

    /// Hashes `bytes` behind what came before.
    mutating func update(_ bytes: RawSpan) {
        byteCount += UInt64(bytes.byteCount)
        var reader = ByteReader(bytes)
        if !pending.isEmpty {
            let missing = min(Self.blockSize - pending.count, reader.remaining)
            if let head = reader.readSpan(missing) { pending.append(contentsOf: head) }
            guard pending.count == Self.blockSize else { return }
            let block = pending
            compress(block.span.bytes)
            pending.removeAll(keepingCapacity: true)
        }
        while let block = reader.readSpan(Self.blockSize) { compress(block) }
        if let tail = reader.readSpan(reader.remaining) { pending.append(contentsOf: tail) }
    }

    /// The digest of everything given so far; 20 bytes.
    consuming func finalize() -> [UInt8] {
        let bitCount = byteCount &* 8
        var padding: [UInt8] = [0x80]
        let zeros = (2 * Self.blockSize - 9 - pending.count) % Self.blockSize
        padding.append(contentsOf: repeatElement(0, count: zeros))
        padding.append(uint64: bitCount)
        update(padding.span.bytes)
        var digest: [UInt8] = []
        digest.reserveCapacity(Self.digestSize)
        for word in [h0, h1, h2, h3, h4] { digest.append(uint32: word) }
        return digest
    }

    /// FIPS 180-4 §6.1.2 with the sixteen-word circular schedule of §6.1.3.
    private mutating func compress(_ block: RawSpan) {
        var words = InlineArray<16, UInt32>(repeating: 0)
        for index in 0..<16 { words[index] = block.uint32(at: index * 4) ?? 0 }
        var (a, b, c, d, e) = (h0, h1, h2, h3, h4)
        for round in 0..<80 {
            let slot = round & 15
            if round >= 16 {
                let mixed = words[(round + 13) & 15] ^ words[(round + 8) & 15] ^ words[(round + 2) & 15] ^ words[slot]
                words[slot] = rotateLeft(mixed, 1)
            }
            let function: UInt32
            let constant: UInt32
            switch round {
            case ..<20: (function, constant) = ((b & c) | (~b & d), 0x5a82_7999)
            case ..<40: (function, constant) = (b ^ c ^ d, 0x6ed9_eba1)
            case ..<60: (function, constant) = ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc)
            default: (function, constant) = (b ^ c ^ d, 0xca62_c1d6)
            }
            let next = rotateLeft(a, 5) &+ function &+ e &+ constant &+ words[slot]
            (e, d, c, b, a) = (d, c, rotateLeft(b, 30), a, next)
        }
        h0 = h0 &+ a
        h1 = h1 &+ b
        h2 = h2 &+ c
        h3 = h3 &+ d
        h4 = h4 &+ e
    }
}

@inline(__always)
private func rotateLeft(_ value: UInt32, _ count: UInt32) -> UInt32 {
    value << count | value >> (32 - count)
}
