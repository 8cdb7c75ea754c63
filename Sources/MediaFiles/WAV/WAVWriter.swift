import RTCEngine
import RTCWire

/// Writes G.711 as WAV: sound end to end, so what did not arrive is filled with silence.
struct WAVWriter: ContainerWriter {
    private let format: PayloadFormat
    /// Samples in the file.
    private var length: Int64 = 0

    private static let headerSize = 58
    /// Filled at once at most, in samples, which is two hours: it is made in memory.
    private static let longestSilence: Int64 = 8_000 * 7_200

    init?(format: PayloadFormat) {
        guard format == .pcmu || format == .pcma else { return nil }
        self.format = format
    }

    mutating func begin() -> [FileChange] {
        var header = Array("RIFF".utf8)
        // Until the end is known: "as much as there is", which players understand.
        header.append(littleEndian32: .max)
        header += Array("WAVEfmt ".utf8)
        header.append(littleEndian32: 18)
        header.append(littleEndian16: format == .pcma ? 6 : 7)
        header.append(littleEndian16: 1)  // channels
        header.append(littleEndian32: 8_000)  // samples a second
        header.append(littleEndian32: 8_000)  // bytes a second
        header.append(littleEndian16: 1)  // bytes a sample
        header.append(littleEndian16: 8)  // bits a sample
        header.append(littleEndian16: 0)  // further parameters
        // Formats other than PCM tell the number of samples.
        header += Array("fact".utf8)
        header.append(littleEndian32: 4)
        header.append(littleEndian32: .max)
        header += Array("data".utf8)
        header.append(littleEndian32: .max)
        return [.append(header)]
    }

    mutating func write(_ samples: [RecordedSample]) -> [FileChange] {
        var bytes: [UInt8] = []
        for sample in samples {
            let silence = min(sample.time - length, Self.longestSilence)
            if silence > 0 {
                // G.711: the code of zero.
                bytes += [UInt8](repeating: format == .pcma ? 0xd5 : 0xff, count: Int(silence))
                length += silence
            }
            let overlap = min(max(length - sample.time, 0), Int64(sample.payload.count))
            bytes += sample.payload[Int(overlap)...]
            length += Int64(sample.payload.count) - overlap
        }
        return [.append(bytes)]
    }

    mutating func finish(duration: Interval) -> [FileChange] {
        func size(_ value: Int64) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(littleEndian32: UInt32(clamping: value))
            return bytes
        }
        return [
            .overwrite(size(length + Int64(Self.headerSize) - 8), offset: 4), .overwrite(size(length), offset: 46),
            .overwrite(size(length), offset: 54),
        ]
    }
}
