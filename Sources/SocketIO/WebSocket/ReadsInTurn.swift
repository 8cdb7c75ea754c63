internal import NIOCore

/// Has one buffer of a connection read after the other. What is read may be answered, and an answer that cannot be
/// written ends the connection: NIO then hands over what is left to read before the write returns, in the middle of a
/// read.
///
/// Belongs to the connection's loop.
final class ReadsInTurn {
    private var waiting: [ByteBuffer] = []
    private var isReading = false

    /// Reads `buffer`, and what comes meanwhile; nothing if a read is going on, which reads it afterwards.
    func take(_ buffer: ByteBuffer, _ read: (ByteBuffer) -> Void) {
        waiting.append(buffer)
        guard !isReading else { return }
        isReading = true
        while !waiting.isEmpty { read(waiting.removeFirst()) }
        isReading = false
    }
}
