/// The qualities that LiveKit's protocol has names for, in order.
public enum VideoQuality: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    case off
    case low
    case medium
    case high

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
