/// Several frames that a decoder takes as one (VP9 bitstream specification, Annex B): those of a picture's spatial
/// layers, or hidden ones and one that is shown. How long each is stands behind the last.
public struct VP9Superframe: Sendable, Hashable {
    /// frames_in_superframe_minus_1 has three bits.
    public static let maximumFrames = 8

    /// Of each frame, in bytes, in the order in which they are decoded.
    public var sizes: [Int]
    /// Bytes behind the frames, of an index that was read as it was: encoders may write sizes wider than they are.
    public private(set) var indexSize: Int

    /// Bytes that each size takes in the index.
    private var sizeWidth: Int {
        let largest = sizes.max() ?? 0
        return max(1, (Int.bitWidth - largest.leadingZeroBitCount + 7) / 8)
    }

    public init(sizes: [Int]) {
        self.sizes = sizes
        indexSize = 0
    }

    /// Reads the index at the end; nil when there is none, or when it speaks of other bytes than those before it.
    public init?(_ bytes: RawSpan) {
        guard let marker = bytes.byte(at: bytes.byteCount - 1), marker & 0xe0 == 0xc0 else { return nil }
        let count = Int(marker & 0x07) + 1
        let width = Int(marker >> 3 & 0x03) + 1
        let start = bytes.byteCount - 2 - count * width
        guard bytes.byte(at: start) == marker else { return nil }
        indexSize = 2 + count * width
        sizes = []
        for frame in 0..<count {
            var size = 0
            for place in 0..<width {
                size |= Int(bytes.byte(at: start + 1 + frame * width + place) ?? 0) << (8 * place)
            }
            guard size > 0 else { return nil }
            sizes.append(size)
        }
        guard sizes.reduce(0, +) == start else { return nil }
    }

    /// Appends the index to the frames. Nothing, when they are more than it can hold.
    public func appendIndex(to bytes: inout [UInt8]) {
        guard !sizes.isEmpty, sizes.count <= Self.maximumFrames, sizeWidth <= 4 else { return }
        let marker = 0xc0 | UInt8(sizeWidth - 1) << 3 | UInt8(sizes.count - 1)
        bytes.append(marker)
        for size in sizes {
            for place in 0..<sizeWidth { bytes.append(UInt8(truncatingIfNeeded: size >> (8 * place))) }
        }
        bytes.append(marker)
    }

    /// The size of a picture's highest layer, in pixels, of what its frames tell; nil when they tell none.
    public static func pictureSize(of picture: RawSpan) -> (width: Int, height: Int)? {
        var largest: (width: Int, height: Int)?
        var offset = 0
        for size in VP9Superframe(picture)?.sizes ?? [picture.byteCount] {
            let header = VP9FrameHeader(picture.extracting(offset..<offset + size))
            offset += size
            guard let width = header?.width, let height = header?.height else { continue }
            if let largest, width * height <= largest.width * largest.height { continue }
            largest = (width, height)
        }
        return largest
    }
}
