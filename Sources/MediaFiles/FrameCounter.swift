import RTCWire

/// Reads the number that `Media/frame_counter.py` draws into each picture of the test video, so that a call can be
/// checked frame by frame.
///
/// The counter is two rows of 20 cells over the lowest 2/15 of the picture. The upper row holds, white for 1: `1 0`,
/// twelve bits of the number (high bit first), four bits of CRC, `0 1`. The lower row is its complement, so a cell is
/// read by comparing two areas and no brightness or contrast matters; the geometry is relative to the picture, so
/// scaling does not matter either.
public enum FrameCounter {
    private static let cells = 20
    private static let bits = 12
    /// How far apart the two areas of a cell must be to be believed, of 255.
    private static let threshold = 40

    /// The number in a picture, 0 to 4,095; nil when there is none that can be trusted.
    /// - Parameters:
    ///   - luma: Gray levels, one byte each, row by row.
    ///   - stride: Bytes from one row to the next, at least `width`.
    public static func read(luma: RawSpan, width: Int, height: Int, stride: Int) -> Int? {
        guard (cells...16_384).contains(width), (60...16_384).contains(height), stride >= width, stride <= 1 << 20,
            luma.byteCount >= stride * (height - 1) + width
        else { return nil }
        var code = 0
        for column in 0..<cells {
            // The middle half of each cell: its edges are blurred by scaling and coding.
            let columns = width * (4 * column + 1) / (4 * cells)..<width * (4 * column + 3) / (4 * cells)
            let upper = mean(luma, columns, height * 53 / 60..<height * 55 / 60, stride)
            let lower = mean(luma, columns, height * 57 / 60..<height * 59 / 60, stride)
            guard let upper, let lower, abs(upper - lower) >= threshold else { return nil }
            code = code << 1 | (upper > lower ? 1 : 0)
        }
        let number = code >> 6 & 0xfff
        return code == self.code(for: number) ? number : nil
    }

    /// The twenty bits of the upper row.
    static func code(for number: Int) -> Int {
        0b10 << 18 | (number & 0xfff) << 6 | check(number & 0xfff) << 2 | 0b01
    }

    /// CRC-4 with the polynomial x^4 + x + 1.
    private static func check(_ number: Int) -> Int {
        var remainder = number << 4
        for shift in (0..<bits).reversed() where remainder >> (shift + 4) & 1 == 1 {
            remainder ^= 0b1_0011 << shift
        }
        return remainder
    }

    private static func mean(_ luma: RawSpan, _ columns: Range<Int>, _ rows: Range<Int>, _ stride: Int) -> Int? {
        guard !columns.isEmpty, !rows.isEmpty else { return nil }
        var sum = 0
        for row in rows {
            for column in columns { sum += Int(luma.byte(at: row * stride + column) ?? 0) }
        }
        return sum / (columns.count * rows.count)
    }
}
