import RTCWire

/// Reads H.264, H.265 and Opus from MP4 (ISO/IEC 14496-12, 14496-15, "Encapsulation of Opus in ISO Base Media"): the
/// whole sample table, wherever `moov` lies, and movie fragments, which our own recordings consist of.
///
/// The track that is presented first begins at time zero, the other one where it is beside it, by sample times and edit
/// lists. Nothing is cut: see `MP4EditList`.
public enum MP4Reader {
    /// Tracks that we could use; those behind them are not looked at.
    private static let maximumTracks = 32

    /// - Returns: The first usable video track and the first usable audio track, video first; never empty.
    public static func read(_ bytes: [UInt8]) throws(MediaFileError) -> [MediaTrack] {
        let file = bytes.span.bytes
        guard let movie = MP4BoxReader.first("moov", in: 0..<file.byteCount, of: file) else {
            throw .malformed(.mp4, detail: "it has no moov box")
        }
        var budget = MP4SampleBudget(fileSize: file.byteCount)
        var drafts = try trackDrafts(movie, file, &budget)
        try MP4Fragments.read(file, movie: movie, into: &drafts, &budget)
        let chosen = [true, false].compactMap { isVideo in
            drafts.first { $0.descriptions.format.isVideo == isVideo && !$0.samples.isEmpty }
        }
        guard let start = chosen.map(\.start).min() else { throw .noUsableTrack(.mp4) }
        var tracks: [MediaTrack] = []
        for draft in chosen { tracks.append(try draft.makeTrack(file, movieStart: start)) }
        return tracks
    }

    /// What is there in other codecs, or in a way that no call carries; each once.
    static func unusableCodecs(_ bytes: [UInt8]) -> [String] {
        let file = bytes.span.bytes
        var codecs: [String] = []
        var boxes = MP4BoxReader(MP4BoxReader.first("moov", in: 0..<file.byteCount, of: file) ?? 0..<0)
        while codecs.count < maximumTracks, let box = boxes.next(file) {
            guard box.type == "trak", let codec = unusableCodec(box.content, file), !codecs.contains(codec) else {
                continue
            }
            codecs.append(codec)
        }
        return codecs
    }

    private static func unusableCodec(_ track: Range<Int>, _ file: RawSpan) -> String? {
        guard let media = MP4BoxReader.first("mdia", in: track, of: file),
            let handler = MP4BoxReader.first("hdlr", in: media, of: file),
            // §8.4.3: texts and time codes are tracks as well.
            let kind = file.extracting(handler).uint32(at: 8).map({ BoxType(code: $0) }),
            kind == "vide" || kind == "soun",
            let entries = MP4BoxReader.first(path: ["minf", "stbl", "stsd"], in: media, of: file),
            MP4SampleDescriptions(file.extracting(entries)) == nil
        else { return nil }
        // Behind version, flags and the count of entries.
        var boxes = MP4BoxReader(min(entries.lowerBound + 8, entries.upperBound)..<entries.upperBound)
        return boxes.next(file)?.type.codecName
    }

    private static func trackDrafts(
        _ movie: Range<Int>, _ file: RawSpan, _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) -> [MP4TrackDraft] {
        var drafts: [MP4TrackDraft] = []
        let header = file.extracting(MP4BoxReader.first("mvhd", in: movie, of: file) ?? 0..<0)
        let movieTimescale = header.uint32(at: header.byte(at: 0) == 1 ? 20 : 12) ?? 0
        var boxes = MP4BoxReader(movie)
        while drafts.count < maximumTracks, let box = boxes.next(file) {
            guard box.type == "trak", var draft = try trackDraft(box.content, file, &budget) else { continue }
            if let list = MP4BoxReader.first(path: ["edts", "elst"], in: box.content, of: file) {
                draft.edits = MP4EditList(file.extracting(list), movieTimescale: movieTimescale)
            }
            drafts.append(draft)
        }
        return drafts
    }

    /// Nil for a track of another kind or codec.
    private static func trackDraft(
        _ track: Range<Int>, _ file: RawSpan, _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) -> MP4TrackDraft? {
        guard let header = MP4BoxReader.first("tkhd", in: track, of: file),
            let media = MP4BoxReader.first("mdia", in: track, of: file),
            let clock = MP4BoxReader.first("mdhd", in: media, of: file),
            let table = MP4BoxReader.first(path: ["minf", "stbl"], in: media, of: file),
            let entries = MP4BoxReader.first("stsd", in: table, of: file),
            let descriptions = MP4SampleDescriptions(file.extracting(entries))
        else { return nil }
        // The full box's version decides how wide the two dates before these fields are.
        let idOffset = file.byte(at: header.lowerBound) == 1 ? 20 : 12
        let scaleOffset = file.byte(at: clock.lowerBound) == 1 ? 20 : 12
        guard let id = file.extracting(header).uint32(at: idOffset),
            let timescale = file.extracting(clock).uint32(at: scaleOffset), timescale > 0
        else { throw .malformed(.mp4, detail: "a track's header is cut off") }
        var draft = MP4TrackDraft(id: id, timescale: timescale, descriptions: descriptions)
        draft.orientation = orientation(file.extracting(header), matrixAt: idOffset == 20 ? 52 : 40)
        try MP4SampleTable.read(table, file, into: &draft, &budget)
        return draft
    }

    /// What the matrix of a track's header turns (ISO/IEC 14496-12 §6.2.2, §8.3.2), as telephones write it that were
    /// held upright. Nil for no turn, and for a matrix that does anything else: RTP has no words for it.
    private static func orientation(_ header: RawSpan, matrixAt offset: Int) -> VideoOrientation? {
        // a, b, u, c, d of { a b u, c d v, x y w }: 16.16, and 2.30 for the third of each row.
        let row = (0..<5).map { header.uint32(at: offset + 4 * $0).map(Int32.init(bitPattern:)) ?? 0 }
        let one: Int32 = 0x1_0000
        switch (row[0], row[1], row[3], row[4]) {
        case (0, one, -one, 0): return VideoOrientation(quarterTurns: 1)
        case (-one, 0, 0, -one): return VideoOrientation(quarterTurns: 2)
        case (0, -one, one, 0): return VideoOrientation(quarterTurns: 3)
        default: return nil
        }
    }
}
