import RTCWire

/// Reads movie fragments (ISO/IEC 14496-12 §8.8).
enum MP4Fragments {
    /// What a track run falls back to: from `trex`, overridden by `tfhd`.
    private struct Defaults {
        var duration: UInt32 = 0
        var size: UInt32 = 0
        var description: UInt32 = 1
    }

    static func read(
        _ file: RawSpan, movie: Range<Int>, into drafts: inout [MP4TrackDraft], _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) {
        var defaults: [UInt32: Defaults] = [:]
        var extends = MP4BoxReader(MP4BoxReader.first("mvex", in: movie, of: file) ?? 0..<0)
        while let box = extends.next(file) {
            let content = file.extracting(box.content)
            guard box.type == "trex", let id = content.uint32(at: 4), let description = content.uint32(at: 8),
                let duration = content.uint32(at: 12), let size = content.uint32(at: 16)
            else { continue }
            defaults[id] = Defaults(duration: duration, size: size, description: description)
        }
        var boxes = MP4BoxReader(0..<file.byteCount)
        while let box = boxes.next(file) {
            guard box.type == "moof" else { continue }
            var parts = MP4BoxReader(box.content)
            while let part = parts.next(file) {
                guard part.type == "traf" else { continue }
                try readTrackFragment(part.content, file, fragment: box.start, defaults, into: &drafts, &budget)
            }
        }
    }

    private static func readTrackFragment(
        _ range: Range<Int>, _ file: RawSpan, fragment: Int, _ allDefaults: [UInt32: Defaults],
        into drafts: inout [MP4TrackDraft], _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) {
        guard let header = MP4BoxReader.first("tfhd", in: range, of: file) else { return }
        var reader = ByteReader(file.extracting(header))
        guard let flags = reader.readUInt32(), let id = reader.readUInt32(),
            let index = drafts.firstIndex(where: { $0.id == id })
        else { return }
        var defaults = allDefaults[id] ?? Defaults()
        // §8.8.7: the fields that the flags announce, in this order. Without a base, offsets count from the fragment.
        var base = fragment
        if flags & 0x1 != 0, let offset = reader.readUInt64() { base = Int(clamping: offset & 0xffff_ffff_ffff) }
        if flags & 0x2 != 0, let description = reader.readUInt32() { defaults.description = description }
        if flags & 0x8 != 0, let duration = reader.readUInt32() { defaults.duration = duration }
        if flags & 0x10 != 0, let size = reader.readUInt32() { defaults.size = size }

        var time = drafts[index].endTime
        if let box = MP4BoxReader.first("tfdt", in: range, of: file) {
            let content = file.extracting(box)
            if content.byte(at: 0) == 1, let high = content.uint32(at: 4), let low = content.uint32(at: 8) {
                time = Int64(high & 0xffff) << 32 | Int64(low)
            } else if let low = content.uint32(at: 4) {
                time = Int64(low)
            }
        }
        var boxes = MP4BoxReader(range)
        var position = base
        while let box = boxes.next(file) {
            guard box.type == "trun" else { continue }
            try readRun(
                file.extracting(box.content), base: base, position: &position, time: &time, defaults,
                into: &drafts[index], &budget)
        }
    }

    /// §8.8.8.
    private static func readRun(
        _ run: RawSpan, base: Int, position: inout Int, time: inout Int64, _ defaults: Defaults,
        into draft: inout MP4TrackDraft, _ budget: inout MP4SampleBudget
    ) throws(MediaFileError) {
        var reader = ByteReader(run)
        guard let flags = reader.readUInt32(), let count = reader.readUInt32(), Int(count) <= budget.fileSize else {
            return
        }
        // A run of samples without a byte costs nothing to claim.
        if flags & 0x200 == 0, defaults.size == 0 { return }
        if flags & 0x1 != 0, let offset = reader.readUInt32() { position = base + Int(Int32(bitPattern: offset)) }
        // Flags tell sync samples; what a frame is, it tells itself.
        if flags & 0x4 != 0 { reader.skip(4) }
        for _ in 0..<count {
            let duration = flags & 0x100 != 0 ? reader.readUInt32() : defaults.duration
            let size = flags & 0x200 != 0 ? reader.readUInt32() : defaults.size
            if flags & 0x400 != 0 { reader.skip(4) }
            let offset = flags & 0x800 != 0 ? reader.readUInt32() : 0
            guard let duration, let size, let offset else {
                throw .malformed(.mp4, detail: "a track run is cut off")
            }
            // A recorder that was killed leaves a fragment without all of its data: what came before it counts.
            guard position >= 0, position + Int(size) <= budget.fileSize else { return }
            try draft.append(
                MP4TrackDraft.Sample(
                    range: position..<position + Int(size), decodeTime: time,
                    presentationOffset: Int64(Int32(bitPattern: offset)), duration: Int64(duration),
                    description: defaults.description), &budget)
            position += Int(size)
            time += Int64(duration)
        }
    }
}
