/// The highest layers of a publication that are wanted. A spatial layer is a simulcast stream, or a layer inside the
/// only stream: see `LayerArrangement`.
public struct LayerTarget: Sendable, Hashable, Comparable {
    public var spatial: UInt8
    public var temporal: UInt8

    public init(spatial: Int, temporal: Int) {
        self.spatial = UInt8(clamping: spatial)
        self.temporal = UInt8(clamping: temporal)
    }

    /// All layers.
    public static let highest = LayerTarget(spatial: 7, temporal: 7)
    public static let lowest = LayerTarget(spatial: 0, temporal: 0)

    /// A larger picture counts more than a smoother one.
    public static func < (lhs: Self, rhs: Self) -> Bool { (lhs.spatial, lhs.temporal) < (rhs.spatial, rhs.temporal) }

    /// Whether neither layer is above the other's.
    func isWithin(_ other: LayerTarget) -> Bool { spatial <= other.spatial && temporal <= other.temporal }
}
