import RTCWire

@testable import MediaFiles

/// The parameter sets that an Annex B frame brings; nil when it lacks one of the kinds.
func parameterSets(of frame: [UInt8]) -> AVCConfiguration? { AVCConfiguration(annexB: frame.span.bytes) }

/// A progressive MP4 with one video track, made to measure.
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
        wideBox("mdat", samples.flatMap(\.data), to: &file)
        var tracks = MP4BoxWriter()
        for _ in 0..<copies { appendTrack(dataOffset: data, to: &tracks) }
        wideBox("moov", tracks.bytes, to: &file)
        return file
    }

    private func appendTrack(dataOffset: Int, to movie: inout MP4BoxWriter) {
        movie.box("trak") { track in
            track.fullBox("tkhd", version: isWide ? 1 : 0) {
                $0.appendZeros(isWide ? 16 : 8)
                $0.append(uint32: 1)
                $0.appendZeros(isWide ? 28 : 24)
                for value in matrix { $0.append(uint32: UInt32(bitPattern: value)) }
                $0.appendZeros(44 - 4 * matrix.count)
            }
            track.box("mdia") { media in
                media.fullBox("mdhd") {
                    $0.appendZeros(8)
                    $0.append(uint32: timescale)
                    $0.appendZeros(8)
                }
                media.box("minf") { $0.box("stbl") { appendTable(dataOffset, to: &$0) } }
            }
        }
    }

    private func appendTable(_ dataOffset: Int, to table: inout MP4BoxWriter) {
        table.fullBox("stsd") {
            $0.append(uint32: UInt32(descriptions.count))
            for description in descriptions { MP4Writer.appendVideoEntry(description, 640, 360, to: &$0) }
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
