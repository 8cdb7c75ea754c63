/// Reads a dependency: `@Dependency(\.webRTCEngine) var engine`.
@propertyWrapper
public struct Dependency<Value>: Sendable {
    private let keyPath: any KeyPath<DependencyValues, Value> & Sendable
    private let valuesAtInit = DependencyValues._current

    /// Reads the dependency at a key path.
    public init(_ keyPath: any KeyPath<DependencyValues, Value> & Sendable) {
        self.keyPath = keyPath
    }

    /// Reads the dependency of a key.
    public init<Key: TestDependencyKey>(_ key: Key.Type) where Key.Value == Value {
        self.init(\DependencyValues.[key: KeyType<Key>()])
    }

    /// The dependency where this is read: what is set there goes before what was set where this was made.
    public var wrappedValue: Value {
        let values = valuesAtInit.merging(DependencyValues._current)
        return DependencyValues.$_current.withValue(values) { values[keyPath: keyPath] }
    }
}

/// A key's type as a value, because a key path's subscript takes no type.
private struct KeyType<Key: TestDependencyKey>: Hashable, Sendable {}

extension DependencyValues {
    fileprivate subscript<Key: TestDependencyKey>(key key: KeyType<Key>) -> Key.Value { self[Key.self] }
}

/// Runs an operation in which other dependencies hold.
@discardableResult
public func withDependencies<R>(
    _ updateValuesForOperation: (inout DependencyValues) throws -> Void,
    operation: () throws -> R
) rethrows -> R {
    var values = DependencyValues._current
    try DependencyValues.$isSetting.withValue(true) { try updateValuesForOperation(&values) }
    return try DependencyValues.$_current.withValue(values) {
        try DependencyValues.$isSetting.withValue(false) { try operation() }
    }
}

/// Runs an operation in which other dependencies hold, also in the tasks that it starts.
@discardableResult
public func withDependencies<R>(
    isolation: isolated (any Actor)? = #isolation,
    _ updateValuesForOperation: (inout DependencyValues) async throws -> Void,
    operation: () async throws -> R
) async rethrows -> R {
    var values = DependencyValues._current
    try await DependencyValues.$isSetting.withValue(true) { try await updateValuesForOperation(&values) }
    return try await DependencyValues.$_current.withValue(values) {
        try await DependencyValues.$isSetting.withValue(false) { try await operation() }
    }
}
