/// The track runs of a fragmented MP4, in the tracks' ticks.
struct TestFragments {
    struct Run {
        var track = 0
        var start = 0
        var durations: [Int] = []
        var end: Int { start + durations.reduce(0, +) }
    }

    private(set) var runs: [Run] = []

    init(_ bytes: [UInt8]) {
        for fragment in Self.boxes("moof", in: bytes[...]) {
            for part in Self.boxes("traf", in: fragment) {
                var run = Run()
                for header in Self.boxes("tfhd", in: part) { run.track = Self.number(header, at: 4, width: 4) }
                for time in Self.boxes("tfdt", in: part) { run.start = Self.number(time, at: 4, width: 8) }
                for table in Self.boxes("trun", in: part) {
                    // Of each sample the duration, the size and the flags.
                    for sample in 0..<Self.number(table, at: 4, width: 4) {
                        run.durations.append(Self.number(table, at: 12 + 12 * sample, width: 4))
                    }
                }
                runs.append(run)
            }
        }
    }

    private static func boxes(_ type: String, in content: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var rest = content
        while rest.count >= 8 {
            let size = number(rest, at: 0, width: 4)
            guard size >= 8 else { break }
            if rest.dropFirst(4).starts(with: type.utf8) { found.append(rest.prefix(size).dropFirst(8)) }
            rest = rest.dropFirst(size)
        }
        return found
    }

    private static func number(_ bytes: ArraySlice<UInt8>, at offset: Int, width: Int) -> Int {
        bytes.dropFirst(offset).prefix(width).reduce(0) { $0 << 8 | Int($1) }
    }
}
