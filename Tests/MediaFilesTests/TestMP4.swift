import RTCWire

@testable import MediaFiles

/// The parameter sets that an Annex B frame brings; nil when it lacks one of the kinds.
func parameterSets(of frame: [UInt8]) -> AVCConfiguration? { AVCConfiguration(annexB: frame.span.bytes) }

/// A progressive MP4 with one video track, made to measure, and a track of sound if that is wanted.
struct TestMP4 {
    struct Sample {
        var data: [UInt8]
        var duration: UInt32 = 100
        var presentationOffset: Int32 = 0
        var description: UInt32 = 1
    }

    var descriptions: [AVCConfiguration]
    var samples: [Sample]
    var timescale: UInt32 = 3_000
    /// Every size and offset that can be is one of 64 bits.
    var isWide = false
    /// a, b, u, c, d of the matrix in the track's header; the rest is zero.
    var matrix: [Int32] = []
    /// How often the one track is listed.
    var copies = 1
    /// Packets of Opus, in a track of 48,000 ticks a second.
    var sound: [Sample] = []
    /// What the sound's entry says that it is.
    var soundCodec = "Opus"
    /// The tracks' edits: how long, in thousandths of a second, and from where in the media.
    var edits: [(duration: UInt32, mediaTime: Int32)] = []
    var soundEdits: [(duration: UInt32, mediaTime: Int32)] = []
    /// What `stsz` says instead of the samples' sizes: a size for all of this many.
    var claimed: (size: UInt32, count: UInt32)?

    private func wideBox(_ type: BoxType, _ content: [UInt8], to file: inout [UInt8]) {
        file.append(uint32: isWide ? 1 : UInt32(content.count + 8))
        file.append(uint32: type.code)
        if isWide { file.append(uint64: UInt64(content.count + 16)) }
        file += content
    }

    var bytes: [UInt8] {
        var file: [UInt8] = []
        wideBox("ftyp", Array("isom".utf8) + [0, 0, 2, 0], to: &file)
        let data = file.count + (isWide ? 16 : 8)
        wideBox("mdat", (samples + sound).flatMap(\.data), to: &file)
        var movie = MP4BoxWriter()
        movie.fullBox("mvhd", version: isWide ? 1 : 0) {
            $0.appendZeros(isWide ? 16 : 8)
            $0.append(uint32: 1_000)
            $0.appendZeros(isWide ? 88 : 84)
        }
        for _ in 0..<copies { appendTrack(1, timescale, edits, to: &movie) { appendTable(data, to: &$0) } }
        if !sound.isEmpty {
            let soundData = data + samples.reduce(0) { $0 + $1.data.count }
            appendTrack(2, 48_000, soundEdits, to: &movie) { appendSoundTable(soundData, to: &$0) }
        }
        wideBox("moov", movie.bytes, to: &file)
        return file
    }

    private func appendTrack(
        _ id: UInt32, _ timescale: UInt32, _ edits: [(duration: UInt32, mediaTime: Int32)],
        to movie: inout MP4BoxWriter, table: (inout MP4BoxWriter) -> Void
    ) {
        movie.box("trak") { track in
            track.fullBox("tkhd", version: isWide ? 1 : 0) {
                $0.appendZeros(isWide ? 16 : 8)
                $0.append(uint32: id)
                $0.appendZeros(isWide ? 28 : 24)
                for value in matrix { $0.append(uint32: UInt32(bitPattern: value)) }
                $0.appendZeros(44 - 4 * matrix.count)
            }
            if !edits.isEmpty { track.box("edts") { appendEdits(edits, to: &$0) } }
            track.box("mdia") { media in
                media.fullBox("mdhd") {
                    $0.appendZeros(8)
                    $0.append(uint32: timescale)
                    $0.appendZeros(8)
                }
                media.fullBox("hdlr") {
                    $0.appendZeros(4)
                    $0.append(id == 1 ? "vide" : "soun")
                    $0.appendZeros(13)
                }
                media.box("minf") { $0.box("stbl") { table(&$0) } }
            }
        }
    }

    private func appendEdits(_ edits: [(duration: UInt32, mediaTime: Int32)], to writer: inout MP4BoxWriter) {
        writer.fullBox("elst", version: isWide ? 1 : 0) {
            $0.append(uint32: UInt32(edits.count))
            for edit in edits {
                if isWide {
                    $0.append(uint64: UInt64(edit.duration))
                    $0.append(uint64: UInt64(bitPattern: Int64(edit.mediaTime)))
                } else {
                    $0.append(uint32: edit.duration)
                    $0.append(uint32: UInt32(bitPattern: edit.mediaTime))
                }
                $0.append(uint32: 0x1_0000)  // rate 1.0
            }
        }
    }

    /// In one chunk, each of 20 ms.
    private func appendSoundTable(_ dataOffset: Int, to table: inout MP4BoxWriter) {
        table.fullBox("stsd") {
            $0.append(uint32: 1)
            if soundCodec == "Opus" {
                MP4Writer.appendAudioEntry(to: &$0)
            } else {
                $0.box(BoxType(code: soundCodec.utf8.reduce(0) { $0 << 8 | UInt32($1) })) { $0.appendZeros(28) }
            }
        }
        table.fullBox("stts") { for value in [1, UInt32(sound.count), 960] { $0.append(uint32: value) } }
        table.fullBox("stsc") { for value in [1, 1, UInt32(sound.count), 1] { $0.append(uint32: value) } }
        table.fullBox("stsz") {
            $0.append(uint32: 0)
            $0.append(uint32: UInt32(sound.count))
            for sample in sound { $0.append(uint32: UInt32(sample.data.count)) }
        }
        table.fullBox("stco") { for value in [1, UInt32(dataOffset)] { $0.append(uint32: value) } }
    }

    private func appendTable(_ dataOffset: Int, to table: inout MP4BoxWriter) {
        table.fullBox("stsd") {
            $0.append(uint32: UInt32(descriptions.count))
            for description in descriptions {
                MP4Writer.appendVideoEntry(.avc(description), isComplete: true, 640, 360, to: &$0)
            }
        }
        table.fullBox("stts") {
            $0.append(uint32: UInt32(samples.count))
            for sample in samples {
                $0.append(uint32: claimed?.count ?? 1)
                $0.append(uint32: sample.duration)
            }
        }
        table.fullBox("ctts", version: 1) {
            $0.append(uint32: UInt32(samples.count))
            for sample in samples {
                $0.append(uint32: claimed?.count ?? 1)
                $0.append(uint32: UInt32(bitPattern: sample.presentationOffset))
            }
        }
        // A chunk for each sample.
        table.fullBox("stsc") {
            $0.append(uint32: UInt32(samples.count))
            for (index, sample) in samples.enumerated() {
                $0.append(uint32: UInt32(index + 1))
                $0.append(uint32: claimed?.count ?? 1)
                $0.append(uint32: sample.description)
            }
        }
        table.fullBox("stsz") {
            $0.append(uint32: claimed?.size ?? 0)
            $0.append(uint32: claimed?.count ?? UInt32(samples.count))
            if claimed == nil { for sample in samples { $0.append(uint32: UInt32(sample.data.count)) } }
        }
        table.fullBox(isWide ? "co64" : "stco") {
            $0.append(uint32: UInt32(samples.count))
            var offset = dataOffset
            for sample in samples {
                if isWide { $0.append(uint64: UInt64(offset)) } else { $0.append(uint32: UInt32(offset)) }
                offset += sample.data.count
            }
        }
    }
}
