/// MD5 (RFC 1321), kept only because the key of STUN's long-term credential is defined over it (RFC 8489 §9.2.2). Not
/// for anything new. For short input, all at once.
enum MD5 {
    /// The digest; 16 bytes.
    static func digest(of message: [UInt8]) -> [UInt8] {
        // §3.1, §3.2: one bit, zeros to eight bytes short of a block, then the length in bits, low byte first.
        var padded = message + [0x80]
        padded.append(contentsOf: repeatElement(0, count: (120 - padded.count % 64) % 64))
        padded.append(littleEndian: UInt64(message.count) &* 8)

        var (a0, b0, c0, d0): (UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476)
        for start in stride(from: 0, to: padded.count, by: 64) {
            let words = (0..<16).map { padded.littleEndianWord(at: start + 4 * $0) }
            var (a, b, c, d) = (a0, b0, c0, d0)
            for step in 0..<64 {
                let mixed: UInt32
                let word: Int
                switch step / 16 {
                case 0: (mixed, word) = ((b & c) | (~b & d), step)
                case 1: (mixed, word) = ((d & b) | (~d & c), (5 * step + 1) % 16)
                case 2: (mixed, word) = (b ^ c ^ d, (3 * step + 5) % 16)
                default: (mixed, word) = (c ^ (b | ~d), 7 * step % 16)
                }
                let sum = mixed &+ a &+ sines[step] &+ words[word]
                let shift = shifts[step / 16][step % 4]
                (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
            }
            (a0, b0, c0, d0) = (a0 &+ a, b0 &+ b, c0 &+ c, d0 &+ d)
        }
        var digest: [UInt8] = []
        for word in [a0, b0, c0, d0] { digest.append(littleEndian: UInt64(word), bytes: 4) }
        return digest
    }

    private static let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

    /// §3.4: the integer parts of 2^32 · |sin(i)|, i from 1.
    private static let sines: [UInt32] = [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
        0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
        0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
        0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
        0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ]
}

extension Array where Element == UInt8 {
    fileprivate mutating func append(littleEndian value: UInt64, bytes: Int = 8) {
        for index in 0..<bytes { append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    /// Four bytes that are there.
    fileprivate func littleEndianWord(at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(self[offset + $1]) << (8 * UInt32($1)) }
    }
}
