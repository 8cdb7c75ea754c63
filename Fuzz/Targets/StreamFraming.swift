import RTCWire

/// Any bytes of a TCP connection, in pieces of any size: the same datagrams come out whichever way it was cut, and what
/// is held is bounded.
func fuzzStreamFraming(_ bytes: RawSpan) {
    var whole = StreamFraming()
    var pieces = StreamFraming()
    var all: [UInt8] = []
    for offset in 0..<bytes.byteCount { all.append(bytes.byte(at: offset) ?? 0) }
    var expected: [[UInt8]] = []
    whole.append(all)
    while let datagram = whole.next() { expected.append(datagram) }
    var found: [[UInt8]] = []
    let step = Int(all.first ?? 1) % 7 + 1
    for start in stride(from: 0, to: all.count, by: step) {
        pieces.append([UInt8](all[start..<min(start + step, all.count)]))
        while let datagram = pieces.next() { found.append(datagram) }
        precondition(pieces.held < 2 + StreamFraming.maximumLength)
    }
    precondition(found == expected)
    precondition(expected.allSatisfy { !$0.isEmpty && StreamFraming.frame($0)?.count == $0.count + 2 })
}
