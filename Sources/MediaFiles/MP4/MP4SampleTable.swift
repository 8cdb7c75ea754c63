import RTCWire

/// Reads the sample table of a movie that is not fragmented (ISO/IEC 14496-12 §8.6 and §8.7).
enum MP4SampleTable {
    /// What a box of the table holds; empty when there is no such box.
    @_lifetime(copy file)
    private static func content(_ type: BoxType, _ table: Range<Int>, _ file: RawSpan) -> RawSpan {
        file.extracting(MP4BoxReader.first(type, in: table, of: file) ?? 0..<0)
    }

    static func read(
        _ table: Range<Int>, _ file: RawSpan, into draft: inout MP4TrackDraft, _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) {
        // A fragmented movie has these boxes too, with nothing in them.
        let sizes = SampleSizes(content("stsz", table, file))
        guard sizes.count > 0 else { return }
        guard sizes.count <= file.byteCount else { throw .malformed(.mp4, detail: "it claims more samples than bytes") }

        var durations = RunLengths(content("stts", table, file))
        var offsets = RunLengths(content("ctts", table, file))
        var chunks = ChunkOffsets(content("stco", table, file), wide: content("co64", table, file))
        let runs = content("stsc", table, file)
        var runIndex = 0
        var sample = 0
        var time: Int64 = 0
        var chunk: UInt32 = 0

        while sample < sizes.count {
            guard var offset = chunks.next() else {
                throw .malformed(.mp4, detail: "its chunk table ends before its samples do")
            }
            chunk += 1
            // §8.7.4: an entry holds from its first chunk on, until the next entry's.
            while let next = runs.uint32(at: 8 + 12 * (runIndex + 1)), next <= chunk { runIndex += 1 }
            guard let perChunk = runs.uint32(at: 8 + 12 * runIndex + 4),
                let description = runs.uint32(at: 8 + 12 * runIndex + 8)
            else {
                throw .malformed(.mp4, detail: "its sample-to-chunk table is empty")
            }
            for _ in 0..<perChunk {
                guard sample < sizes.count else { break }
                guard let size = sizes[sample], size <= file.byteCount else {
                    throw .malformed(.mp4, detail: "a sample is larger than the file")
                }
                let duration = Int64(durations.next() ?? 0)
                // ctts version 0 is unsigned, version 1 signed; real files mix them up, and signed reads both.
                let presentation = Int64(Int32(bitPattern: offsets.next() ?? 0))
                try draft.append(
                    MP4TrackDraft.Sample(
                        range: offset..<offset + size, decodeTime: time, presentationOffset: presentation,
                        duration: duration, description: description), &budget)
                offset += size
                time += duration
                sample += 1
            }
        }
    }
}

/// `stsz` (§8.7.3): one size for all, or a list.
private struct SampleSizes: ~Escapable {
    private let box: RawSpan
    private let common: Int
    let count: Int

    @_lifetime(copy box)
    init(_ box: RawSpan) {
        self.box = box
        common = Int(box.uint32(at: 4) ?? 0)
        count = Int(box.uint32(at: 8) ?? 0)
    }

    subscript(index: Int) -> Int? {
        common > 0 ? common : box.uint32(at: 12 + 4 * index).map(Int.init)
    }
}

/// `stts` and `ctts` (§8.6.1): pairs of how many samples, and their value.
private struct RunLengths: ~Escapable {
    private let box: RawSpan
    private var offset = 8
    private var left: UInt32 = 0
    private var value: UInt32?

    @_lifetime(copy box)
    init(_ box: RawSpan) { self.box = box }

    /// The next sample's value; nil past the end.
    mutating func next() -> UInt32? {
        while left == 0 {
            guard let count = box.uint32(at: offset), let value = box.uint32(at: offset + 4) else { return nil }
            left = count
            self.value = value
            offset += 8
        }
        left -= 1
        return value
    }
}

/// `stco` or `co64` (§8.7.5).
private struct ChunkOffsets: ~Escapable {
    private let narrow: RawSpan
    private let wide: RawSpan
    private var index = 0

    @_lifetime(copy narrow, copy wide)
    init(_ narrow: RawSpan, wide: RawSpan) {
        self.narrow = narrow
        self.wide = wide
    }

    mutating func next() -> Int? {
        defer { index += 1 }
        if let offset = narrow.uint32(at: 8 + 4 * index) { return Int(offset) }
        guard let high = wide.uint32(at: 8 + 8 * index), let low = wide.uint32(at: 12 + 8 * index), high < 1 << 16
        else {
            return nil
        }
        return Int(high) << 32 | Int(low)
    }
}
