/// How an action changes a feature's state, and what effects it asks for.
///
/// A type implements `reduce(into:action:)`, or composes others in `body`.
public protocol Reducer<State, Action> {
    /// What the feature remembers.
    associatedtype State
    /// What can happen to it.
    associatedtype Action
    /// The type of `body`; `Never` when `reduce` is implemented.
    associatedtype Body

    /// Changes the state, and says what is to be done. Only stores call it.
    func reduce(into state: inout State, action: Action) -> Effect<Action>

    /// The reducers that this one is made of, run from top to bottom.
    @ReducerBuilder<State, Action> var body: Body { get }
}

extension Reducer where Body == Never {
    /// A reducer that implements `reduce` has no body.
    public var body: Body { fatalError("\(Self.self) has no body.") }
}

extension Reducer where Body: Reducer<State, Action> {
    /// Runs the body.
    public func reduce(into state: inout Body.State, action: Body.Action) -> Effect<Body.Action> {
        body.reduce(into: &state, action: action)
    }
}

/// A reducer of the same state and actions as another: `var body: some ReducerOf<Self>`.
public typealias ReducerOf<R: Reducer> = Reducer<R.State, R.Action>
