import LiveKitClient
import RTCWire

/// The content of a stream of LiveKit's, chunk by chunk, each after a byte with its length: packed or not, text or not,
/// with or without a length. It comes in pieces of no more than was announced, of text in whole characters, and as much
/// comes at most as a client takes.
func fuzzDataStream(_ bytes: RawSpan) {
    var reader = ByteReader(bytes)
    guard let flags = reader.readUInt8(), let announced = reader.readUInt16() else { return }
    let (isPacked, isText) = (flags & 1 != 0, flags & 2 != 0)
    let totalLength = flags & 4 != 0 ? Int(announced) : nil
    guard var decoder = try? StreamDecoder(totalLength: totalLength, isPacked: isPacked, isText: isText) else { return }

    var (fed, length) = (0, 0)
    while let size = reader.readUInt8() {
        let chunk = reader.readBytes(min(Int(size), reader.remaining)) ?? []
        fed += chunk.count
        decoder.feed(chunk)
        do {
            // A few bytes can be packed to a thousand times as many: no more than this is taken.
            while length < 1 << 20, let piece = try decoder.next() {
                precondition(!piece.isEmpty && piece.count <= (64 << 10) + 3)
                precondition(!isText || String(validating: piece, as: UTF8.self) != nil)
                length += piece.count
            }
        } catch {
            return
        }
        if let totalLength, totalLength > 0 { precondition(length <= totalLength) }
        precondition(isPacked || length <= fed)
    }
    if length < 1 << 20, (try? decoder.finish()) != nil, let totalLength, totalLength > 0 {
        precondition(length == totalLength, "what is complete is as long as was said")
    }
}
