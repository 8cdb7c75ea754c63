/// Puts the reducers in a `body` together.
@resultBuilder
public enum ReducerBuilder<State, Action> {
    public static func buildExpression<R: Reducer<State, Action>>(_ reducer: R) -> R { reducer }
    public static func buildBlock() -> some Reducer<State, Action> { EmptyReducer() }
    public static func buildPartialBlock<R: Reducer<State, Action>>(first: R) -> R { first }
    public static func buildPartialBlock<R0: Reducer<State, Action>, R1: Reducer<State, Action>>(
        accumulated: R0, next: R1
    ) -> _Sequence<R0, R1> {
        _Sequence(first: accumulated, second: next)
    }
    public static func buildOptional<R: Reducer<State, Action>>(_ reducer: R?) -> R? { reducer }
    public static func buildEither<R0: Reducer<State, Action>, R1: Reducer<State, Action>>(
        first reducer: R0
    ) -> _Conditional<R0, R1> {
        .first(reducer)
    }
    public static func buildEither<R0: Reducer<State, Action>, R1: Reducer<State, Action>>(
        second reducer: R1
    ) -> _Conditional<R0, R1> {
        .second(reducer)
    }
    public static func buildArray(_ reducers: [some Reducer<State, Action>]) -> some Reducer<State, Action> {
        Reduce { state, action in
            Effect.merge(reducers.map { $0.reduce(into: &state, action: action) })
        }
    }
    public static func buildFinalResult<R: Reducer<State, Action>>(_ reducer: R) -> R { reducer }

    /// One reducer after the other, on the same action.
    public struct _Sequence<R0: Reducer, R1: Reducer<R0.State, R0.Action>>: Reducer {
        let first: R0
        let second: R1

        public func reduce(into state: inout R0.State, action: R0.Action) -> Effect<R0.Action> {
            let effect = first.reduce(into: &state, action: action)
            return effect.merge(with: second.reduce(into: &state, action: action))
        }
    }

    /// One of two reducers.
    public enum _Conditional<R0: Reducer, R1: Reducer<R0.State, R0.Action>>: Reducer {
        case first(R0)
        case second(R1)

        public func reduce(into state: inout R0.State, action: R0.Action) -> Effect<R0.Action> {
            switch self {
            case .first(let reducer): reducer.reduce(into: &state, action: action)
            case .second(let reducer): reducer.reduce(into: &state, action: action)
            }
        }
    }
}

extension Optional: Reducer where Wrapped: Reducer {
    public func reduce(into state: inout Wrapped.State, action: Wrapped.Action) -> Effect<Wrapped.Action> {
        self?.reduce(into: &state, action: action) ?? .none
    }
}
