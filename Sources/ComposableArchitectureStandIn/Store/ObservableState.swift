/// State that a store tells views about when its identity changes.
///
/// The library's macro writes this. By hand, a state keeps an ``ObservationStateRegistrar``, returns its `id`, and
/// calls its `_$willModify` whenever something that a view shows changes.
public protocol ObservableState {
    /// Changes when observers are to look again.
    var _$id: ObservableStateID { get }
    /// Gives the state a new identity.
    mutating func _$willModify()
}

/// The identity of a state's value.
public struct ObservableStateID: Hashable, Sendable {
    private final class Token: Sendable {}

    private var token = Token()

    /// A new identity.
    public init() {}

    /// Becomes a new identity.
    public mutating func _$willModify() { token = Token() }

    public static func == (left: Self, right: Self) -> Bool { left.token === right.token }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(token)) }
}

/// Keeps a state's identity. Two of them are always equal, so that they do not stand in the way of comparing states.
public struct ObservationStateRegistrar: Hashable, Sendable {
    /// The identity.
    public private(set) var id = ObservableStateID()

    /// A new identity.
    public init() {}

    /// Becomes a new identity.
    public mutating func _$willModify() { id._$willModify() }

    public static func == (left: Self, right: Self) -> Bool { true }
    public func hash(into hasher: inout Hasher) {}
}

extension ObservationStateRegistrar: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: []) }
}
