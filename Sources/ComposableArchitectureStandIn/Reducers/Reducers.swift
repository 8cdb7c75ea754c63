/// A reducer made of a closure.
public struct Reduce<State, Action>: Reducer {
    private let reduce: (inout State, Action) -> Effect<Action>

    /// Runs a closure.
    public init(_ reduce: @escaping (_ state: inout State, _ action: Action) -> Effect<Action>) {
        self.reduce = reduce
    }

    /// Runs a reducer, whose type it hides.
    public init(_ reducer: some Reducer<State, Action>) {
        self.init { reducer.reduce(into: &$0, action: $1) }
    }

    public func reduce(into state: inout State, action: Action) -> Effect<Action> {
        reduce(&state, action)
    }
}

/// A reducer that does nothing.
public struct EmptyReducer<State, Action>: Reducer {
    /// Does nothing.
    public init() {}

    public func reduce(into state: inout State, action: Action) -> Effect<Action> { .none }
}

/// Several reducers as one.
public struct CombineReducers<State, Action, Reducers: Reducer>: Reducer
where State == Reducers.State, Action == Reducers.Action {
    private let reducers: Reducers

    /// Runs the reducers from top to bottom.
    public init(@ReducerBuilder<State, Action> _ build: () -> Reducers) {
        reducers = build()
    }

    public func reduce(into state: inout State, action: Action) -> Effect<Action> {
        reducers.reduce(into: &state, action: action)
    }
}

/// Runs a child's reducer on a part of the parent's state, for those actions of the parent that are the child's.
public struct Scope<ParentState, ParentAction, Child: Reducer>: Reducer {
    private let state: WritableKeyPath<ParentState, Child.State>
    private let action: AnyCasePath<ParentAction, Child.Action>
    private let child: Child

    /// - Parameters:
    ///   - state: where the child's state is.
    ///   - action: the case that holds the child's actions.
    ///   - child: the child's reducer.
    public init<ChildState, ChildAction>(
        state toChildState: WritableKeyPath<ParentState, ChildState>,
        action toChildAction: CaseKeyPath<ParentAction, ChildAction>,
        @ReducerBuilder<ChildState, ChildAction> child: () -> Child
    ) where ChildState == Child.State, ChildAction == Child.Action {
        state = toChildState
        action = AnyCasePath(toChildAction)
        self.child = child()
    }

    public func reduce(into state: inout ParentState, action: ParentAction) -> Effect<ParentAction> {
        guard let childAction = self.action.extract(from: action) else { return .none }
        return child.reduce(into: &state[keyPath: self.state], action: childAction)
            .map { [path = self.action] in path.embed($0) }
    }
}

extension Reducer {
    /// Sets a dependency of this reducer.
    public func dependency<Value>(
        _ keyPath: WritableKeyPath<DependencyValues, Value>, _ value: Value
    ) -> some Reducer<State, Action> {
        Reduce { state, action in
            withDependencies {
                $0[keyPath: keyPath] = value
            } operation: {
                self.reduce(into: &state, action: action)
            }
        }
    }
}
