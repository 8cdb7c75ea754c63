/// Writing chunks, parameters and causes, which share one form: a length over head and value, padding that it does not
/// count (RFC 9260 §3.2, §3.2.1).
extension Array where Element == UInt8 {
    /// Begins a chunk; `endSCTPChunk` with the result ends it.
    public mutating func beginSCTPChunk(_ type: SCTPChunkType, flags: UInt8 = 0) -> Int {
        let start = count
        append(type.rawValue)
        append(flags)
        append(uint16: 0)
        return start
    }

    /// Begins a parameter or an error cause; `endSCTPChunk` ends it too.
    public mutating func beginSCTPParameter(_ type: UInt16) -> Int {
        let start = count
        append(uint16: type)
        append(uint16: 0)
        return start
    }

    /// Sets the length and pads to four bytes.
    public mutating func endSCTPChunk(_ start: Int) {
        set(uint16: UInt16(truncatingIfNeeded: count - start), at: start + 2)
        for _ in 0..<(-(count - start) & 3) { append(0) }
    }

    /// A chunk without a value, or with these bytes.
    public mutating func appendSCTPChunk(_ type: SCTPChunkType, flags: UInt8 = 0, value: [UInt8] = []) {
        let start = beginSCTPChunk(type, flags: flags)
        append(contentsOf: value)
        endSCTPChunk(start)
    }

    public mutating func appendSCTPParameter(_ type: UInt16, value: [UInt8] = []) {
        let start = beginSCTPParameter(type)
        append(contentsOf: value)
        endSCTPChunk(start)
    }
}
