/// A pair of functions: puts a value into a case of an enum, and takes it out again.
@dynamicMemberLookup
public struct AnyCasePath<Root, Value>: Sendable {
    private let embedding: @Sendable (Value) -> Root
    private let extracting: @Sendable (Root) -> Value?

    /// A case path of two functions that undo each other; `extract` is nil for every other case.
    public init(
        embed: @escaping @Sendable (Value) -> Root,
        extract: @escaping @Sendable (Root) -> Value?
    ) {
        embedding = embed
        extracting = extract
    }

    /// A case path from a key path such as `\.delegate.answerGenerated`.
    public init(_ keyPath: CaseKeyPath<Root, Value>) {
        let path = Case(keyPath)
        self.init(embed: { path.root(of: $0) }, extract: { path._extract(from: $0) })
    }

    /// The enum with this value in its case.
    public func embed(_ value: Value) -> Root { embedding(value) }

    /// The value in the case, or nil when `root` is another case.
    public func extract(from root: Root) -> Value? { extracting(root) }

    /// The path to a case of the enum in this case.
    public subscript<Appended>(
        dynamicMember keyPath: KeyPath<Value.AllCasePaths, AnyCasePath<Value, Appended>>
    ) -> AnyCasePath<Root, Appended> where Value: CasePathable {
        appending(Value.allCasePaths[keyPath: keyPath])
    }

    private func appending<Appended>(_ next: AnyCasePath<Value, Appended>) -> AnyCasePath<Root, Appended> {
        AnyCasePath<Root, Appended>(
            embed: { embed(next.embed($0)) }, extract: { extract(from: $0).flatMap(next.extract) })
    }
}

extension AnyCasePath where Root == Value {
    /// The path of a value to itself.
    public init() { self.init(embed: { $0 }, extract: { $0 }) }
}
