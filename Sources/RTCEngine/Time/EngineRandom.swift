/// Where the engine's random numbers come from: the system's generator in a program, a seed in a simulation, so
/// that a failing run replays.
public struct EngineRandom: RandomNumberGenerator, Sendable {
    private enum Source: Sendable {
        case system
        case seeded(UInt64)
    }

    private var source: Source

    private init(_ source: Source) { self.source = source }

    /// The operating system's cryptographic generator.
    public static let system = EngineRandom(.system)

    /// A repeatable sequence (SplitMix64). For simulations only: it is predictable.
    public static func seeded(_ seed: UInt64) -> EngineRandom { EngineRandom(.seeded(seed)) }

    public mutating func next() -> UInt64 {
        switch source {
        case .system:
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        case .seeded(let state):
            let advanced = state &+ 0x9e37_79b9_7f4a_7c15
            source = .seeded(advanced)
            var value = advanced
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    /// A generator of its own that does not repeat this one's numbers.
    public mutating func split() -> EngineRandom {
        switch source {
        case .system: .system
        case .seeded: .seeded(next())
        }
    }

    /// `count` random bytes.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
    }

    /// `count` characters of the set that ICE allows in user fragments and passwords (RFC 8839 §5.4).
    public mutating func iceCharacters(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        return String((0..<count).map { _ in alphabet[Int(next() >> 58)] })
    }
}
