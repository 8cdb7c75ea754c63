extension Effect {
    /// Runs effects side by side.
    public static func merge(_ effects: Self...) -> Self { merge(effects) }

    /// Runs effects side by side.
    public static func merge(_ effects: some Sequence<Self>) -> Self {
        joined(effects) { .merge($0) }
    }

    /// Runs this effect and another side by side.
    public func merge(with other: Self) -> Self { .merge(self, other) }

    /// Runs effects one after the other: each begins when the one before it has ended.
    public static func concatenate(_ effects: Self...) -> Self { concatenate(effects) }

    /// Runs effects one after the other: each begins when the one before it has ended.
    public static func concatenate(_ effects: some Collection<Self>) -> Self {
        joined(effects) { .concatenate($0) }
    }

    /// Runs this effect, and then another.
    public func concatenate(with other: Self) -> Self { .concatenate(self, other) }

    private static func joined(_ effects: some Sequence<Self>, by join: ([Self]) -> Operation) -> Self {
        let some = effects.filter { effect in
            if case .none = effect.operation { false } else { true }
        }
        switch some.count {
        case 0: return .none
        case 1: return some[0]
        default: return Self(operation: join(some))
        }
    }

    /// Gives the effect a name by which it can be cancelled.
    ///
    /// - Parameter cancelInFlight: whether what runs under this name is cancelled before this begins.
    public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Self {
        if case .none = operation { return .none }
        return Self(operation: .cancellable(self, CancelID(id), cancelInFlight: cancelInFlight))
    }

    /// Cancels what runs under a name in this store.
    public static func cancel(id: some Hashable & Sendable) -> Self {
        Self(operation: .cancel(CancelID(id)))
    }

    /// The same effect with its actions put into others.
    public func map<T>(_ transform: @escaping @Sendable (Action) -> T) -> Effect<T> {
        Effect<T>(operation: mapped(transform))
    }

    private func mapped<T>(_ transform: @escaping @Sendable (Action) -> T) -> Effect<T>.Operation {
        switch operation {
        case .none: .none
        case .send(let carried): .send(.init(action: transform(carried.action)))
        case .cancel(let id): .cancel(id)
        case .run(let priority, let operation):
            .run(priority: priority) { send in
                await operation(Send { send(transform($0)) })
            }
        case .cancellable(let effect, let id, let cancelInFlight):
            .cancellable(effect.map(transform), id, cancelInFlight: cancelInFlight)
        case .merge(let effects): .merge(effects.map { $0.map(transform) })
        case .concatenate(let effects): .concatenate(effects.map { $0.map(transform) })
        }
    }
}
