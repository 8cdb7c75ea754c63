internal import CZlib

/// Gzip (RFC 1952), read by zlib.
enum Gzip {
    /// Why bytes could not be unpacked.
    enum Fault: Error, Equatable {
        /// Not gzip, cut short, a wrong checksum, or something behind its end.
        case damaged
        /// More comes out than was allowed.
        case tooLarge
    }

    /// Unpacks one member that is all there. A small input can become a thousand times as large: never more than
    /// `limit` bytes come out.
    static func decompress(_ input: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
        guard let inputSize = UInt32(exactly: input.count), let room = UInt32(exactly: limit + 1) else {
            throw .tooLarge
        }
        // zlib remembers where the stream lies, so it must not move between the calls.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard czlib_inflate_init_gzip(stream) == Z_OK else { throw .damaged }
        defer { inflateEnd(stream) }

        var isAtEnd = false
        var isFull = false
        // Room for one byte more than is allowed tells too much from just enough. Pages that nothing is written to cost
        // nothing.
        let output = [UInt8](unsafeUninitializedCapacity: Int(room)) { output, count in
            input.withUnsafeBufferPointer { input in
                // zlib does not write to its input; the type is from before `const`.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = inputSize
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = room
                isAtEnd = inflate(stream, Z_FINISH) == Z_STREAM_END && stream.pointee.avail_in == 0
            }
            isFull = stream.pointee.avail_out == 0
            count = Int(room - stream.pointee.avail_out)
        }
        guard !isFull else { throw .tooLarge }
        guard isAtEnd else { throw .damaged }
        // The room that was not needed goes back.
        return Array(output[...])
    }
}
