/// Says of the lower spatial layers' frames that they are not to be shown, for files. libvpx and browsers show a
/// superframe's last frame whatever the others say; FFmpeg shows each one that says `show_frame`, and what converts a
/// file keeps to the size of the first. What is decoded stays the same.
public struct VP9LayerHiding: Sendable {
    /// What of a frame's uncompressed header has to be known to change it.
    private struct Layout {
        var header: VP9FrameHeader
        /// Where the header ends, in bits.
        var end: Int
    }

    /// No uncompressed header is longer, in bytes.
    private static let maximumHeaderSize = 128

    /// Of the eight frames that decoders keep, in pixels.
    private var widths = [Int](repeating: 0, count: 8)

    public init() {}

    /// The picture, of whose frames only the last is shown. Give it each picture of a stream, in their order: frames
    /// have the size of earlier ones. A frame that is not understood stays as it is.
    public mutating func hide(_ picture: [UInt8]) -> [UInt8] {
        let bytes = picture.span.bytes
        guard let frames = VP9Superframe(bytes) else {
            _ = read(bytes)
            return picture
        }
        var result: [UInt8] = []
        result.reserveCapacity(picture.count + frames.sizes.count)
        var sizes: [Int] = []
        var offset = 0
        for (place, size) in frames.sizes.enumerated() {
            let frame = bytes.extracting(offset..<offset + size)
            let layout = read(frame)
            offset += size
            let start = result.count
            if let layout, place < frames.sizes.count - 1,
                Self.canHide(layout, before: bytes.extracting(offset..<offset + frames.sizes[place + 1]))
            {
                Self.append(hidden: frame, layout, to: &result)
            } else {
                result.append(contentsOf: frame)
            }
            sizes.append(result.count - start)
        }
        VP9Superframe(sizes: sizes).appendIndex(to: &result)
        return result
    }

    /// §7.2: a frame that is not error resilient may use the motion vectors of the one before it, if that was shown.
    private static func canHide(_ layout: Layout, before next: RawSpan) -> Bool {
        layout.header.isShown && VP9FrameHeader(next)?.isErrorResilient == true
    }

    /// §6.2: intra_only is there only in frames that are not shown, between error_resilient_mode and what follows.
    private static func append(hidden frame: RawSpan, _ layout: Layout, to bytes: inout [UInt8]) {
        let size = (layout.end + 7) / 8
        var reader = BitReader(frame.extracting(0..<size))
        var writer = BitWriter()
        // Behind the marker, the profile, show_existing_frame and frame_type.
        let shown = layout.header.profile == 3 ? 7 : 6
        while reader.position < layout.end, let bit = reader.readBit() {
            let position = reader.position - 1
            writer.write(position == shown ? 0 : bit, bits: 1)
            if position == shown + 1, !layout.header.isKeyFrame { writer.write(false) }
        }
        bytes += writer.bytes
        bytes.append(contentsOf: frame.extracting(size..<frame.byteCount))
    }

    /// Reads the whole header, and keeps the frame's width for those that refer to it; nil when it is not understood
    /// or only shows an earlier frame.
    private mutating func read(_ frame: RawSpan) -> Layout? {
        var bits = BitReader(frame.extracting(0..<min(Self.maximumHeaderSize, frame.byteCount)))
        guard let header = VP9FrameHeader(&bits), !header.showsExistingFrame,
            let width = header.width ?? header.sizeReference.map({ widths[$0] }), width > 0
        else { return nil }
        for place in widths.indices where header.refreshed >> UInt8(place) & 1 == 1 { widths[place] = width }
        Self.skipFilters(of: header, &bits)
        Self.skipSegmentation(&bits)
        Self.skipTiles(width: width, &bits)
        // header_size_in_bytes. Beyond the end nothing is read, so this is what a header that is cut off lacks.
        guard let size = bits.readBits(16), size > 0, Int(size) <= frame.byteCount - (bits.position + 7) / 8 else {
            return nil
        }
        return Layout(header: header, end: bits.position)
    }

    /// From render_size to the quantization parameters.
    private static func skipFilters(of header: VP9FrameHeader, _ bits: inout BitReader) {
        bits.skipOptional(32)
        if !header.isIntra {
            // allow_high_precision_mv, and read_interpolation_filter.
            bits.skip(1)
            if !bits.readFlag() { bits.skip(2) }
        }
        // refresh_frame_context and frame_parallel_decoding_mode; frame_context_idx.
        bits.skip(header.isErrorResilient ? 2 : 4)
        // §6.2.8: loop_filter_params.
        bits.skip(9)
        if bits.readFlag(), bits.readFlag() {
            for _ in 0..<6 { bits.skipOptional(7) }
        }
        // §6.2.9: quantization_params.
        bits.skip(8)
        for _ in 0..<3 { bits.skipOptional(5) }
    }

    /// §6.2.11: segmentation_params.
    private static func skipSegmentation(_ bits: inout BitReader) {
        guard bits.readFlag() else { return }
        if bits.readFlag() {
            for _ in 0..<7 { bits.skipOptional(8) }
            if bits.readFlag() {
                for _ in 0..<3 { bits.skipOptional(8) }
            }
        }
        guard bits.readFlag() else { return }
        bits.skip(1)
        for _ in 0..<8 {
            // The values of a segment, each with its sign if it has one.
            for size in [9, 7, 2, 0] { bits.skipOptional(size) }
        }
    }

    /// §6.2.13: tile_info. Columns are from 256 to 4096 pixels wide.
    private static func skipTiles(width: Int, _ bits: inout BitReader) {
        let blocks = (width + 63) / 64
        var columns = 0
        while 64 << columns < blocks { columns += 1 }
        while blocks >> (columns + 1) >= 4, bits.readFlag() { columns += 1 }
        if bits.readFlag() { bits.skip(1) }
    }
}

extension BitReader {
    fileprivate mutating func readFlag() -> Bool { readBit() == 1 }

    fileprivate mutating func skip(_ count: Int) {
        for _ in 0..<count { _ = readBit() }
    }

    /// A flag, and what is there only when it is set.
    fileprivate mutating func skipOptional(_ count: Int) {
        if readFlag() { skip(count) }
    }
}
