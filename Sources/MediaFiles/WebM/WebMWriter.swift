import RTCEngine
import RTCWire

/// Writes VP8 and Opus as WebM (RFC 9559 with WebM's choice of codecs): clusters of about a second, each written whole.
/// The segment's size, the duration and the index are filled in at the end; a file without them plays all the same.
struct WebMWriter: ContainerWriter {
    private static let videoTrack: UInt8 = 1
    private static let audioTrack: UInt8 = 2
    /// SeekHead with one entry, and Duration: what is kept free for them.
    private static let seekHeadSize = 26
    private static let durationSize = 11
    /// RFC 9559 §10.2: a block's time is a signed 16-bit number of milliseconds from its cluster's.
    private static let maximumClusterSpan: Int64 = 30_000

    private let size: (width: Int, height: Int)?
    private let hasAudio: Bool
    private var offset = 0
    private var segmentStart = 0
    private var durationOffset = 0
    private var cues: [Cue] = []
    /// The last cluster's, in milliseconds.
    private var clusterTime: Int64 = 0

    private struct Cue {
        var time: Int64
        var track: UInt8
        /// Of the cluster, from the segment's first byte.
        var position: Int
    }

    /// - Parameter firstKeyFrame: VP8, for the picture's size; nil for sound alone.
    init?(firstKeyFrame: [UInt8]?, hasAudio: Bool) {
        self.hasAudio = hasAudio
        guard let firstKeyFrame else {
            size = nil
            return
        }
        guard let header = VP8FrameHeader(firstKeyFrame.span.bytes), let width = header.width,
            let height = header.height
        else { return nil }
        size = (width, height)
    }

    mutating func begin() -> [FileChange] {
        var writer = EBMLWriter()
        writer.element(.ebml) {
            $0.element(.ebmlVersion, unsigned: 1)
            $0.element(.ebmlReadVersion, unsigned: 1)
            $0.element(.ebmlMaximumIDLength, unsigned: 4)
            $0.element(.ebmlMaximumSizeLength, unsigned: 8)
            $0.element(.documentType, text: "webm")
            $0.element(.documentTypeVersion, unsigned: 4)
            $0.element(.documentTypeReadVersion, unsigned: 2)
        }
        writer.append(.segment)
        writer.append([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])  // size: not known yet
        segmentStart = writer.bytes.count
        writer.void(occupying: Self.seekHeadSize)
        writer.element(.information) {
            $0.element(.timestampScale, unsigned: 1_000_000)  // milliseconds
            $0.element(.muxingApplication, text: "Roost")
            $0.element(.writingApplication, text: "Roost")
            // Last, so that its place is counted from the end.
            $0.void(occupying: Self.durationSize)
        }
        durationOffset = writer.bytes.count - Self.durationSize
        writer.element(.tracks) { tracks in
            if let size { Self.appendVideo(size, to: &tracks) }
            if hasAudio { Self.appendAudio(to: &tracks) }
        }
        offset = writer.bytes.count
        return [.append(writer.bytes)]
    }

    private static func appendVideo(_ size: (width: Int, height: Int), to tracks: inout EBMLWriter) {
        tracks.element(.trackEntry) {
            $0.element(.trackNumber, unsigned: UInt64(videoTrack))
            $0.element(.trackUID, unsigned: UInt64(videoTrack))
            $0.element(.trackType, unsigned: 1)
            $0.element(.lacingFlag, unsigned: 0)
            $0.element(.codecID, text: "V_VP8")
            $0.element(.video) {
                $0.element(.pixelWidth, unsigned: UInt64(clamping: size.width))
                $0.element(.pixelHeight, unsigned: UInt64(clamping: size.height))
            }
        }
    }

    private static func appendAudio(to tracks: inout EBMLWriter) {
        tracks.element(.trackEntry) {
            $0.element(.trackNumber, unsigned: UInt64(audioTrack))
            $0.element(.trackUID, unsigned: UInt64(audioTrack))
            $0.element(.trackType, unsigned: 2)
            $0.element(.lacingFlag, unsigned: 0)
            $0.element(.codecID, text: "A_OPUS")
            $0.element(.codecPrivate, bytes: RecordedOpus.head)
            // Matroska's codec mapping for Opus: the pre-skip, and 80 ms of convergence after a seek, in nanoseconds.
            $0.element(.codecDelay, unsigned: UInt64(RecordedOpus.preSkip) * 1_000_000 / 48)
            $0.element(.seekPreRoll, unsigned: 80_000_000)
            $0.element(.audio) {
                $0.element(.samplingFrequency, double: 48_000)
                $0.element(.channels, unsigned: UInt64(RecordedOpus.channels))
            }
        }
    }

    mutating func write(_ samples: [RecordedSample]) -> [FileChange] {
        var writer = EBMLWriter()
        var rest = samples[...]
        while let first = rest.first {
            // What was late, and is behind what the other track has had meanwhile, takes no cluster back: players look
            // for a place by their times. RFC 9559 §11.2: a block may be before its cluster's.
            let time = milliseconds(first)
            let start = clusterTime - time <= Self.maximumClusterSpan ? max(time, clusterTime) : time
            clusterTime = start
            let cluster = rest.prefix { milliseconds($0) - start <= Self.maximumClusterSpan }
            rest = rest.dropFirst(cluster.count)
            // RFC 9559 §22: the index points at key frames of the video; sound alone is indexed by cluster.
            if let key = cluster.first(where: { $0.isKeyFrame && ($0.kind == .video || size == nil) }) {
                cues.append(
                    Cue(
                        time: milliseconds(key), track: trackNumber(key),
                        position: offset + writer.bytes.count - segmentStart))
            }
            writer.element(.cluster) {
                $0.element(.timestamp, unsigned: UInt64(clamping: start))
                for sample in cluster { $0.element(.simpleBlock, bytes: block(sample, clusterStart: start)) }
            }
        }
        offset += writer.bytes.count
        return [.append(writer.bytes)]
    }

    /// RFC 9559 §10.2: track, time, flags, data.
    private func block(_ sample: RecordedSample, clusterStart: Int64) -> [UInt8] {
        var block: [UInt8] = []
        block.reserveCapacity(sample.payload.count + 4)
        block.append(0x80 | trackNumber(sample))
        block.append(uint16: UInt16(bitPattern: Int16(clamping: milliseconds(sample) - clusterStart)))
        block.append(sample.isKeyFrame ? 0x80 : 0)
        block += sample.payload
        return block
    }

    private func trackNumber(_ sample: RecordedSample) -> UInt8 {
        switch sample.kind {
        case .video: Self.videoTrack
        case .audio: Self.audioTrack
        }
    }

    private func milliseconds(_ sample: RecordedSample) -> Int64 {
        switch sample.kind {
        case .video: sample.time / 90
        case .audio: sample.time / 48
        }
    }

    mutating func finish(duration: Interval) -> [FileChange] {
        var changes: [FileChange] = []
        if !cues.isEmpty {
            var index = EBMLWriter()
            index.element(.cues) { [cues] in
                for cue in cues {
                    $0.element(.cuePoint) {
                        $0.element(.cueTime, unsigned: UInt64(clamping: cue.time))
                        $0.element(.cueTrackPositions) {
                            $0.element(.cueTrack, unsigned: UInt64(cue.track))
                            $0.element(.cueClusterPosition, unsigned: UInt64(clamping: cue.position))
                        }
                    }
                }
            }
            var head = EBMLWriter()
            head.element(.seekHead) {
                $0.element(.seek) {
                    $0.element(.seekID, unsigned: UInt64(MatroskaID.cues.rawValue))
                    $0.element(.seekPosition, wide: UInt64(clamping: offset - segmentStart))
                }
            }
            changes.append(.append(index.bytes))
            changes.append(.overwrite(head.bytes, offset: segmentStart))
            offset += index.bytes.count
        }
        var length = EBMLWriter()
        length.element(.duration, double: duration.milliseconds)
        changes.append(.overwrite(length.bytes, offset: durationOffset))
        // The size in eight bytes, its marker in the first.
        var size: [UInt8] = []
        size.append(uint64: 1 << 56 | UInt64(clamping: offset - segmentStart))
        changes.append(.overwrite(size, offset: segmentStart - 8))
        return changes
    }
}
