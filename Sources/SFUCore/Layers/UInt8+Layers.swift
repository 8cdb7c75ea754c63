/// Layers of a stream, or streams of a track: a bit each, the lowest first.
extension UInt8 {
    /// The place of the highest bit that is set; nil where none is.
    var highestSetBit: Int? { self == 0 ? nil : 7 - leadingZeroBitCount }
}
