/// The times in a WebM, in milliseconds.
struct TestWebM {
    struct Cluster {
        var time = 0
        var blocks: [(track: Int, time: Int)] = []
    }

    private(set) var clusters: [Cluster] = []

    init(_ bytes: [UInt8]) {
        var file = EBMLElements(rest: bytes[...])
        while let element = file.next() {
            guard element.id == 0x1853_8067 else { continue }  // Segment
            var segment = EBMLElements(rest: element.content)
            while let element = segment.next() {
                if element.id == 0x1f43_b675 { clusters.append(Self.cluster(element.content)) }
            }
        }
    }

    private static func cluster(_ content: ArraySlice<UInt8>) -> Cluster {
        var cluster = Cluster()
        var elements = EBMLElements(rest: content)
        while let element = elements.next() {
            let bytes = Array(element.content)
            if element.id == 0xe7 { cluster.time = bytes.reduce(0) { $0 << 8 | Int($1) } }  // Timestamp
            guard element.id == 0xa3 else { continue }  // SimpleBlock
            let offset = Int16(bitPattern: UInt16(bytes[1]) << 8 | UInt16(bytes[2]))
            cluster.blocks.append((track: Int(bytes[0] & 0x7f), time: cluster.time + Int(offset)))
        }
        return cluster
    }

    /// Of one track, in the file's order.
    func times(ofTrack track: Int) -> [Int] {
        clusters.flatMap(\.blocks).filter { $0.track == track }.map(\.time)
    }
}

/// Elements beside each other (RFC 8794 §6): identifier, size, content.
private struct EBMLElements {
    var rest: ArraySlice<UInt8>

    mutating func next() -> (id: Int, content: ArraySlice<UInt8>)? {
        guard let id = number(isMarked: true), let size = number(isMarked: false) else { return nil }
        let content = rest.prefix(size)
        rest = rest.dropFirst(size)
        return (id, content)
    }

    /// As many bytes as the zeros in front say; an identifier keeps its marker.
    private mutating func number(isMarked: Bool) -> Int? {
        guard let first = rest.first else { return nil }
        let width = first.leadingZeroBitCount + 1
        guard width <= 8, rest.count >= width else { return nil }
        let start = isMarked ? Int(first) : Int(first) & (0xff >> width)
        let value = rest.dropFirst().prefix(width - 1).reduce(start) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(width)
        return value
    }
}
