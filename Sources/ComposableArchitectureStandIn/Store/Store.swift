public import Observation

/// Holds a feature's state and runs its reducer. Views read it and send it what the user does.
@dynamicMemberLookup
@MainActor
public final class Store<State, Action> {
    private let read: @MainActor () -> State
    private let take: @MainActor (Action) -> Task<Void, Never>?
    private let observers: StateObservers
    private let registrar = ObservationRegistrar()
    private var children: [ScopeID: AnyObject] = [:]
    private var lastID: ObservableStateID?

    private struct ScopeID: Hashable {
        let state: AnyKeyPath
        let action: AnyKeyPath
    }

    /// A store of a state and a reducer.
    ///
    /// - Parameter prepareDependencies: sets dependencies of the reducer, also while the state and it are made.
    public convenience init<R: Reducer<State, Action>>(
        initialState: @autoclosure () -> R.State,
        @ReducerBuilder<State, Action> reducer: () -> R,
        withDependencies prepareDependencies: ((inout DependencyValues) -> Void)? = nil
    ) {
        let core = withDependencies(prepareDependencies ?? { _ in }) {
            StoreCore<State, Action>(
                state: initialState(), reducer: reducer(), dependencies: DependencyValues._current)
        }
        self.init(
            read: { core.state }, take: { core.send($0, from: .store) }, observers: core.observers)
    }

    private init(
        read: @escaping @MainActor () -> State,
        take: @escaping @MainActor (Action) -> Task<Void, Never>?,
        observers: StateObservers
    ) {
        self.read = read
        self.take = take
        self.observers = observers
        lastID = (read() as? any ObservableState)?._$id
        observers.add(self)
    }

    /// Sends an action. The state has changed when this returns; effects go on.
    @discardableResult
    public func send(_ action: Action) -> StoreTask {
        StoreTask(rawValue: take(action))
    }

    /// Looks at the state without being told of its changes.
    public func withState<R>(_ body: (_ state: State) -> R) -> R { body(currentState) }

    /// A store of a part of the state and the actions of a case. The same part gives the same store.
    public func scope<ChildState, ChildAction>(
        state: KeyPath<State, ChildState>, action: CaseKeyPath<Action, ChildAction>
    ) -> Store<ChildState, ChildAction> {
        let id = ScopeID(state: state, action: action)
        if let child = children[id] as? Store<ChildState, ChildAction> { return child }
        let path = AnyCasePath(action)
        let child = Store<ChildState, ChildAction>(
            read: { [read] in read()[keyPath: state] },
            take: { [take] in take(path.embed($0)) }, observers: observers)
        children[id] = child
        return child
    }

    fileprivate var currentState: State { read() }
}

/// The store of a reducer.
public typealias StoreOf<R: Reducer> = Store<R.State, R.Action>

extension Store where State: ObservableState {
    /// The state. Who reads it where changes are observed is told of the next one.
    public var state: State {
        registrar.access(self, keyPath: \.currentState)
        return currentState
    }

    /// A part of the state.
    public subscript<Value>(dynamicMember keyPath: KeyPath<State, Value>) -> Value { state[keyPath: keyPath] }
}

extension Store: StateObserver {
    func stateDidChange() {
        guard let id = (currentState as? any ObservableState)?._$id, id != lastID else { return }
        lastID = id
        registrar.withMutation(of: self, keyPath: \.currentState) {}
    }
}

extension Store: Observable, Identifiable {}

extension Store: Hashable {
    public nonisolated static func == (left: Store, right: Store) -> Bool { left === right }
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
