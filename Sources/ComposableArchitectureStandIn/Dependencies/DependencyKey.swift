/// The key of a dependency that has values for tests and previews.
public protocol TestDependencyKey<Value> {
    /// The type of the dependency.
    associatedtype Value: Sendable = Self
    /// What a test gets that sets nothing.
    static var testValue: Value { get }
    /// What a preview gets.
    static var previewValue: Value { get }
}

extension TestDependencyKey {
    public static var previewValue: Value { testValue }
}

/// The key of a dependency that has a value for the running program as well.
public protocol DependencyKey<Value>: TestDependencyKey {
    /// What the running program gets.
    static var liveValue: Value { get }
    // Repeated from the protocol above, so that conforming types infer `Value` from any of them.
    associatedtype Value = Self
    static var testValue: Value { get }
    static var previewValue: Value { get }
}

extension DependencyKey {
    public static var previewValue: Value { liveValue }

    /// A dependency without a value for tests fails the test that reads it.
    public static var testValue: Value {
        if !DependencyValues.isSetting {
            let name = DependencyValues.nameBeingRead.map { "@Dependency(\\.\($0))" } ?? "\(Self.self)"
            reportIssue(
                """
                \(name) has no test implementation, but was read in a test.
                Set it in "withDependencies", or give \(Self.self) a "testValue".
                """)
        }
        return previewValue
    }
}

/// Which of a key's values is read.
public enum DependencyContext: Sendable {
    /// The running program.
    case live
    /// A preview of a view.
    case preview
    /// A test.
    case test
}
