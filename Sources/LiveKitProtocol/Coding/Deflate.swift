internal import CZlib

/// DEFLATE without anything around it (RFC 1951), by zlib: of the content of data streams.
package enum Deflate {
    /// Packs it; nil where there is no memory for that.
    package static func compress(_ input: [UInt8]) -> [UInt8]? {
        guard let inputSize = UInt32(exactly: input.count) else { return nil }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard czlib_deflate_init_raw(stream) == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        guard let room = UInt32(exactly: deflateBound(stream, UInt(inputSize))) else { return nil }

        var isAtEnd = false
        let output = [UInt8](unsafeUninitializedCapacity: Int(room)) { output, count in
            input.withUnsafeBufferPointer { input in
                // zlib does not write to its input; the type is from before `const`.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = inputSize
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = room
                isAtEnd = deflate(stream, Z_FINISH) == Z_STREAM_END
            }
            count = Int(room - stream.pointee.avail_out)
        }
        return isAtEnd ? Array(output[...]) : nil
    }
}

/// Unpacks DEFLATE that comes in parts. A few bytes can become a thousand times as many: no more than was asked for
/// come out at a time, and what is left of the input waits.
package final class Inflater {
    /// It is no DEFLATE.
    package struct Damaged: Error, Equatable {}

    /// zlib remembers where it lies, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var input: [UInt8] = []
    /// Of `input`.
    private var taken = 0
    /// The last block has come to its end.
    package private(set) var isAtEnd = false

    /// Nil where there is no memory for it.
    package init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_inflate_init_raw(stream) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// More of the input.
    package func feed(_ bytes: [UInt8]) {
        input.removeFirst(taken)
        taken = 0
        input += bytes
    }

    /// What comes of the input so far, up to so many bytes; empty when more of it is needed, or it is at its end.
    ///
    /// - Throws: `Damaged` for what is no DEFLATE, and for anything behind its end.
    package func next(atMost limit: Int) throws(Damaged) -> [UInt8] {
        guard !isAtEnd else {
            guard taken == input.count else { throw Damaged() }
            return []
        }
        guard let available = UInt32(exactly: input.count - taken), let room = UInt32(exactly: limit) else {
            throw Damaged()
        }
        var result = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            input.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress.map { $0 + taken })
                stream.pointee.avail_in = available
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = room
                result = inflate(stream, Z_NO_FLUSH)
            }
            count = Int(room - stream.pointee.avail_out)
        }
        taken = input.count - Int(stream.pointee.avail_in)
        switch result {
        // Z_BUF_ERROR: it can go on when there is more input, or more room.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isAtEnd = true
        default: throw Damaged()
        }
        return output.count == limit ? output : Array(output[...])
    }
}
