import RTCWire

/// The boxes of `moov` (ISO/IEC 14496-12 §8).
extension MP4Writer {
    static func appendUnityMatrix(to writer: inout MP4BoxWriter) {
        for value: UInt32 in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] { writer.append(uint32: value) }
    }

    /// §8.8.3: what a fragment falls back to; ours say everything themselves.
    static func appendExtends(_ track: UInt32, to writer: inout MP4BoxWriter) {
        writer.fullBox("trex") {
            $0.append(uint32: track)
            $0.append(uint32: 1)  // sample description
            $0.appendZeros(12)
        }
    }

    static func appendTrack(
        _ id: UInt32, _ kind: RecordedSample.Kind, size: (width: UInt16, height: UInt16), to movie: inout MP4BoxWriter,
        entry: (inout MP4BoxWriter) -> Void
    ) {
        movie.box("trak") { track in
            track.fullBox("tkhd", flags: 3) {  // enabled, in the movie
                $0.appendZeros(8)  // dates
                $0.append(uint32: id)
                $0.appendZeros(4 + 4 + 8 + 4)  // duration, layer and group among the reserved
                $0.append(uint16: kind == .audio ? 0x100 : 0)  // volume
                $0.append(uint16: 0)
                Self.appendUnityMatrix(to: &$0)
                $0.append(uint32: UInt32(size.width) << 16)
                $0.append(uint32: UInt32(size.height) << 16)
            }
            track.box("mdia") { media in
                media.fullBox("mdhd") {
                    $0.appendZeros(8)  // dates
                    $0.append(uint32: kind == .video ? 90_000 : 48_000)
                    $0.append(uint32: 0)
                    $0.append(uint16: 0x55c4)  // language "und"
                    $0.append(uint16: 0)
                }
                media.fullBox("hdlr") {
                    $0.append(uint32: 0)
                    $0.append(kind == .video ? "vide" : "soun")
                    $0.appendZeros(12)
                    $0.append(Array((kind == .video ? "Video\0" : "Sound\0").utf8))
                }
                media.box("minf") { information in
                    switch kind {
                    case .video: information.fullBox("vmhd", flags: 1) { $0.appendZeros(8) }
                    case .audio: information.fullBox("smhd") { $0.appendZeros(4) }
                    }
                    information.box("dinf") {
                        $0.fullBox("dref") {
                            $0.append(uint32: 1)
                            $0.fullBox("url ", flags: 1)  // in this file
                        }
                    }
                    information.box("stbl") { table in
                        table.fullBox("stsd") {
                            $0.append(uint32: 1)
                            entry(&$0)
                        }
                        // §8.8: the tables are there and empty.
                        table.fullBox("stts") { $0.append(uint32: 0) }
                        table.fullBox("stsc") { $0.append(uint32: 0) }
                        table.fullBox("stsz") { $0.appendZeros(8) }
                        table.fullBox("stco") { $0.append(uint32: 0) }
                    }
                }
            }
        }
    }

    /// §12.1.3, with the record of ISO/IEC 14496-15 §5.4.2 or §8.4.1. It has the same size whether the samples have
    /// parameter sets of their own or not.
    static func appendVideoEntry(
        _ configuration: NALConfiguration, isComplete: Bool, _ width: UInt16, _ height: UInt16,
        to writer: inout MP4BoxWriter
    ) {
        writer.box(configuration.entryType(isComplete: isComplete)) {
            $0.appendZeros(6)
            $0.append(uint16: 1)  // data reference
            $0.appendZeros(16)
            $0.append(uint16: width)
            $0.append(uint16: height)
            $0.append(uint32: 0x48_0000)  // 72 dots an inch
            $0.append(uint32: 0x48_0000)
            $0.appendZeros(4)
            $0.append(uint16: 1)  // frames in a sample
            $0.appendZeros(32)  // compressor name
            $0.append(uint16: 24)  // depth
            $0.append(uint16: 0xffff)
            $0.box(configuration.recordType) { $0.append(configuration.record(isComplete: isComplete)) }
        }
    }

    /// §12.2.3, with the box of Opus in ISO BMFF §4.3.2, whose fields are big-endian.
    static func appendAudioEntry(to writer: inout MP4BoxWriter) {
        writer.box("Opus") {
            $0.appendZeros(6)
            $0.append(uint16: 1)  // data reference
            $0.appendZeros(8)
            $0.append(uint16: UInt16(RecordedOpus.channels))
            $0.append(uint16: 16)
            $0.appendZeros(4)
            $0.append(uint32: 48_000 << 16)
            $0.box("dOps") {
                $0.append(0)  // version
                $0.append(RecordedOpus.channels)
                $0.append(uint16: RecordedOpus.preSkip)
                $0.append(uint32: 48_000)
                $0.append(uint16: 0)  // output gain
                $0.append(0)  // mapping family
            }
        }
    }
}
