internal import RTCEngine

/// Which ports of a family's relayed address are lent. In no order that could be guessed (RFC 8656 §7.2, RFC 6056): who
/// knows the next port knows where to be first.
struct PortPool: Sendable {
    private let range: ClosedRange<UInt16>
    private var taken: [Bool]
    private(set) var count = 0

    init(_ range: ClosedRange<UInt16>) {
        self.range = range
        taken = Array(repeating: false, count: range.count)
    }

    /// Any that is free; nil when there is none.
    mutating func take(using random: inout EngineRandom) -> UInt16? {
        takeFirst(using: &random) { pool, index in !pool.taken[index] }
    }

    /// An even one (EVEN-PORT), with the one that follows if that is to be reserved.
    mutating func takeEven(withNext: Bool, using random: inout EngineRandom) -> UInt16? {
        let found = takeFirst(using: &random) { pool, index in
            guard !pool.taken[index], (pool.range.lowerBound + UInt16(index)) % 2 == 0 else { return false }
            return !withNext || (index + 1 < pool.taken.count && !pool.taken[index + 1])
        }
        guard let port = found else { return nil }
        if withNext { mark(Int(port - range.lowerBound) + 1, true) }
        return port
    }

    mutating func giveBack(_ port: UInt16) {
        guard range.contains(port) else { return }
        mark(Int(port - range.lowerBound), false)
    }

    private mutating func takeFirst(
        using random: inout EngineRandom, where suits: (PortPool, Int) -> Bool
    ) -> UInt16? {
        let start = Int.random(in: taken.indices, using: &random)
        for step in taken.indices {
            let index = (start + step) % taken.count
            guard suits(self, index) else { continue }
            mark(index, true)
            return range.lowerBound + UInt16(index)
        }
        return nil
    }

    private mutating func mark(_ index: Int, _ isTaken: Bool) {
        guard taken[index] != isTaken else { return }
        taken[index] = isTaken
        count += isTaken ? 1 : -1
    }
}
