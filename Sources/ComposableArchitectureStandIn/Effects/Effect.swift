/// What a reducer asks for: work that goes on outside, and the actions that it sends back.
public struct Effect<Action>: Sendable {
    /// What the store does with it. The store reads this on the main actor, in the order written.
    indirect enum Operation: Sendable {
        case none
        case send(Carried)
        case cancel(CancelID)
        case run(priority: TaskPriority?, operation: @Sendable (Send<Action>) async -> Void)
        case cancellable(Effect, CancelID, cancelInFlight: Bool)
        case merge([Effect])
        case concatenate([Effect])
    }

    /// An action on its way from a reducer to the store. Both are on the main actor and it is read once, so an action
    /// need not be `Sendable`, as in the library.
    struct Carried: @unchecked Sendable {
        let action: Action
    }

    let operation: Operation

    /// Does nothing.
    public static var none: Self { Self(operation: .none) }

    /// Sends an action at once, before the call that sent the first action returns.
    public static func send(_ action: Action) -> Self {
        Self(operation: .send(Carried(action: action)))
    }

    /// Runs asynchronous work that may send actions for as long as it runs.
    ///
    /// A `CancellationError` ends it silently. Any other error goes to `catch`; without one it is reported as an issue.
    public static func run(
        priority: TaskPriority? = nil,
        operation: @escaping @Sendable (_ send: Send<Action>) async throws -> Void,
        catch handler: (@Sendable (_ error: any Error, _ send: Send<Action>) async -> Void)? = nil,
        fileID: StaticString = #fileID,
        filePath: StaticString = #filePath,
        line: UInt = #line,
        column: UInt = #column
    ) -> Self {
        let dependencies = DependencyValues._current
        return Self(
            operation: .run(priority: priority) { send in
                await DependencyValues.$_current.withValue(dependencies) {
                    do {
                        try await operation(send)
                    } catch is CancellationError {
                    } catch  where Task.isCancelled {
                    } catch {
                        if let handler { return await handler(error, send) }
                        reportIssue(
                            "An \"Effect.run\" threw an error that it does not handle: \(error)",
                            fileID: fileID, filePath: filePath, line: line, column: column)
                    }
                }
            })
    }
}

/// The effects of a reducer.
public typealias EffectOf<R: Reducer> = Effect<R.Action>

/// Sends actions from an effect into the store: `await send(.answered)`.
@MainActor
public struct Send<Action>: Sendable {
    private let send: @MainActor @Sendable (Action) -> Void

    /// Sends by a closure.
    public init(send: @escaping @MainActor @Sendable (Action) -> Void) {
        self.send = send
    }

    /// Sends an action, unless the effect was cancelled.
    public func callAsFunction(_ action: Action) {
        guard !Task.isCancelled else { return }
        send(action)
    }
}

/// The way of a reducer's effects back into the store.
public typealias SendOf<R: Reducer> = Send<R.Action>

/// The name under which an effect can be cancelled: a value together with its type.
struct CancelID: Hashable, Sendable {
    private let value: any Hashable & Sendable

    init(_ value: any Hashable & Sendable) {
        self.value = value
    }

    static func == (left: Self, right: Self) -> Bool {
        type(of: left.value) == type(of: right.value) && AnyHashable(left.value) == AnyHashable(right.value)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(type(of: value)))
        hasher.combine(AnyHashable(value))
    }
}
