import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reads a file in pieces on NIO's thread pool, so that a slow disk never holds up an event loop.
final class FileReader: Sendable {
    private static let chunkSize = 64 * 1024

    struct CannotRead: Error {}

    private let descriptor: CInt
    let size: Int

    private init(descriptor: CInt, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    deinit { close(descriptor) }

    /// Opens a regular file.
    static func open(_ path: String, on loop: any EventLoop) -> EventLoopFuture<FileReader> {
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
            let descriptor = openForReading(path)
            guard descriptor >= 0 else { throw CannotRead() }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                throw CannotRead()
            }
            return FileReader(descriptor: descriptor, size: Int(status.st_size))
        }
    }

    /// Visits `size` bytes piece by piece; the next one is read when the last one's future is done.
    func forEachChunk(
        on loop: any EventLoop, from offset: Int = 0,
        _ body: @escaping @Sendable (ByteBuffer) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<Void> {
        guard offset < size else { return loop.makeSucceededVoidFuture() }
        return NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
            let count = min(Self.chunkSize, self.size - offset)
            var buffer = ByteBuffer()
            let length = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
                max(0, pread(self.descriptor, target.baseAddress, count, off_t(offset)))
            }
            guard length > 0 else { throw CannotRead() }
            return buffer
        }.flatMap { buffer in
            body(buffer).flatMap { self.forEachChunk(on: loop, from: offset + buffer.readableBytes, body) }
        }
    }
}

/// Outside the class, whose own `open` would hide the system's.
private func openForReading(_ path: String) -> CInt { open(path, O_RDONLY | O_CLOEXEC) }
