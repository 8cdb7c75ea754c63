/// An enum that has a case path for each of its cases.
///
/// The library writes `AllCasePaths` by macro; it can as well be written by hand:
///
/// ```swift
/// extension Action: CasePathable {
///     struct AllCasePaths: Sendable {
///         var view: AnyCasePath<Action, View> {
///             AnyCasePath(embed: { .view($0) }, extract: { if case .view(let view) = $0 { view } else { nil } })
///         }
///     }
///     static var allCasePaths: AllCasePaths { AllCasePaths() }
/// }
/// ```
public protocol CasePathable {
    /// The type with one property for each case.
    associatedtype AllCasePaths
    /// All case paths of this enum.
    static var allCasePaths: AllCasePaths { get }
}

/// What a key path to a case leads through; written as `\.view` or `\.delegate.answerGenerated`.
@dynamicMemberLookup
public struct Case<Value>: Sendable {
    private let embedding: @Sendable (Value) -> Any
    private let extracting: @Sendable (Any) -> Value?

    private init(embedding: @escaping @Sendable (Value) -> Any, extracting: @escaping @Sendable (Any) -> Value?) {
        self.embedding = embedding
        self.extracting = extracting
    }

    /// The case that two functions lead to.
    public init<Root>(
        embed: @escaping @Sendable (Value) -> Root,
        extract: @escaping @Sendable (Root) -> Value?
    ) {
        self.init(embedding: { embed($0) }, extracting: { ($0 as? Root).flatMap(extract) })
    }

    /// The start of every key path: the whole value.
    public init() {
        self.init(embed: { $0 }, extract: { $0 })
    }

    /// The case at a key path's end.
    public init<Root>(_ keyPath: CaseKeyPath<Root, Value>) {
        self = Case<Root>()[keyPath: keyPath]
    }

    /// The next step of a key path.
    public subscript<Appended>(
        dynamicMember keyPath: KeyPath<Value.AllCasePaths, AnyCasePath<Value, Appended>>
    ) -> Case<Appended> where Value: CasePathable {
        appending(Value.allCasePaths[keyPath: keyPath])
    }

    private func appending<Appended>(_ next: AnyCasePath<Value, Appended>) -> Case<Appended> {
        Case<Appended>(
            embedding: { embedding(next.embed($0)) }, extracting: { extracting($0).flatMap(next.extract) })
    }

    /// The root with this value in its case.
    public func _embed(_ value: Value) -> Any { embedding(value) }

    /// The value of this case in `root`.
    public func _extract(from root: Any) -> Value? { extracting(root) }

    /// Embeds into a root of a known type. A key path of ours ends in no other one.
    func root<Root>(of value: Value) -> Root {
        guard let root = _embed(value) as? Root else { preconditionFailure("\(Root.self) has no such case") }
        return root
    }
}

/// A key path to a case of an enum.
public typealias CaseKeyPath<Root, Value> = KeyPath<Case<Root>, Case<Value>>

extension KeyPath {
    /// The enum with `value` in the case that this key path leads to.
    public func callAsFunction<Enum, AssociatedValue>(_ value: AssociatedValue) -> Enum
    where Root == Case<Enum>, Value == Case<AssociatedValue> {
        Case(self).root(of: value)
    }

    /// The enum in the case that this key path leads to.
    public func callAsFunction<Enum>() -> Enum where Root == Case<Enum>, Value == Case<Void> {
        Case(self).root(of: ())
    }
}

extension CasePathable {
    /// The value in a case, or nil when this is another case.
    public subscript<Value>(case keyPath: CaseKeyPath<Self, Value>) -> Value? {
        Case(keyPath)._extract(from: self)
    }

    /// Whether this is the case that a key path leads to.
    public func `is`<Value>(_ keyPath: CaseKeyPath<Self, Value>) -> Bool {
        self[case: keyPath] != nil
    }
}
