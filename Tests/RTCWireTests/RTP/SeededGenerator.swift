/// A repeatable source of test input (SplitMix64).
struct SeededGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func number<Number: FixedWidthInteger>() -> Number {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return Number(truncatingIfNeeded: value ^ (value >> 31))
    }

    mutating func byte() -> UInt8 { number() }
    mutating func bool() -> Bool { byte() & 1 == 1 }
    mutating func below(_ bound: Int) -> Int { Int(number() as UInt32) % bound }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }
    mutating func array<Element>(upTo count: Int, _ make: (inout SeededGenerator) -> Element) -> [Element] {
        (0..<below(count + 1)).map { _ in make(&self) }
    }
}
