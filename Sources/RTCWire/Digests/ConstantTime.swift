/// Compares secrets without telling, by the time it takes, where they differ. Lengths are not secret.
@inline(never)
public func constantTimeEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    var difference: UInt8 = 0
    for index in 0..<left.byteCount {
        difference |= (left.byte(at: index) ?? 0) ^ (right.byte(at: index) ?? 0xff)
    }
    return difference == 0
}
