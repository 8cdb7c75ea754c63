import RTCEngine
import RTCWire

/// Writes VP8, VP9 or AV1 as IVF: a header of 32 bytes, then frames, each after 12 bytes of size and time. Times are in
/// the RTP clock of 90,000 a second. Of a VP9 picture with several spatial layers the highest one is shown.
struct IVFWriter: ContainerWriter {
    private let codec: IVFCodec
    private let width: Int
    private let height: Int
    private var hiding = VP9LayerHiding()
    private var frames: UInt32 = 0

    init?(firstKeyFrame: [UInt8], format: PayloadFormat) {
        guard let codec = IVFCodec(format: format), let size = codec.size(ofKeyFrame: firstKeyFrame) else { return nil }
        self.codec = codec
        (width, height) = size
    }

    mutating func begin() -> [FileChange] {
        var header = Array("DKIF".utf8)
        header.append(littleEndian16: 0)  // version
        header.append(littleEndian16: 32)  // header size
        header.append(uint32: codec.rawValue)
        header.append(littleEndian16: UInt16(truncatingIfNeeded: width))
        header.append(littleEndian16: UInt16(truncatingIfNeeded: height))
        header.append(littleEndian32: 90_000)  // ticks a second
        header.append(littleEndian32: 1)  // seconds a tick counts
        header.append(littleEndian32: 0)  // frames, known at the end
        header.append(littleEndian32: 0)
        return [.append(header)]
    }

    mutating func write(_ samples: [RecordedSample]) -> [FileChange] {
        var bytes: [UInt8] = []
        for sample in samples {
            let head = codec.frameHead
            let frame = codec == .vp9 ? hiding.hide(sample.payload) : sample.payload
            bytes.append(littleEndian32: UInt32(truncatingIfNeeded: head.count + frame.count))
            bytes.append(littleEndian64: UInt64(clamping: sample.time))
            bytes += head
            bytes += frame
            frames &+= 1
        }
        return [.append(bytes)]
    }

    mutating func finish(duration: Interval) -> [FileChange] {
        var count: [UInt8] = []
        count.append(littleEndian32: frames)
        return [.overwrite(count, offset: 24)]
    }
}
