/// Writing chunks, parameters and causes, which share one form: a length over head and value that does not count the
/// padding (RFC 9260 §3.2, §3.2.1). A packet is a multiple of four bytes before each chunk.
extension Array where Element == UInt8 {
    /// Begins a chunk; `endSCTPChunk` with the result ends it.
    public mutating func beginSCTPChunk(_ type: SCTPChunkType, flags: UInt8 = 0) -> Int {
        let start = count
        append(type.rawValue)
        append(flags)
        append(uint16: 0)
        return start
    }

    /// Sets the length and pads to four bytes.
    public mutating func endSCTPChunk(_ start: Int) {
        set(uint16: UInt16(truncatingIfNeeded: count - start), at: start + 2)
        padSCTP()
    }

    /// Begins a parameter or an error cause; `endSCTPParameter` ends it. §3.2: a chunk's length counts the padding of
    /// its parameters except the last one's, so that padding is written by what follows.
    public mutating func beginSCTPParameter(_ type: UInt16) -> Int {
        padSCTP()
        let start = count
        append(uint16: type)
        append(uint16: 0)
        return start
    }

    /// Sets the length.
    public mutating func endSCTPParameter(_ start: Int) {
        set(uint16: UInt16(truncatingIfNeeded: count - start), at: start + 2)
    }

    /// A chunk without a value, or with these bytes.
    public mutating func appendSCTPChunk(_ type: SCTPChunkType, flags: UInt8 = 0, value: [UInt8] = []) {
        let start = beginSCTPChunk(type, flags: flags)
        append(contentsOf: value)
        endSCTPChunk(start)
    }

    /// A parameter or an error cause.
    public mutating func appendSCTPParameter(_ type: UInt16, value: [UInt8] = []) {
        let start = beginSCTPParameter(type)
        append(contentsOf: value)
        endSCTPParameter(start)
    }

    private mutating func padSCTP() {
        while count & 3 != 0 { append(0) }
    }
}
