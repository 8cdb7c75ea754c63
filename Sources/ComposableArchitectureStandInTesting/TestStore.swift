public import ComposableArchitectureStandIn
import Synchronization
import Testing

/// Runs a reducer in a test, which says what it sends, what it receives, and how each changes the state.
///
/// What happens and is not asserted fails the test, unless ``exhaustivity`` is off.
@MainActor
public final class TestStore<State: Equatable, Action> {
    /// What the reducer depends on. A change holds for the actions that come after it.
    public var dependencies: DependencyValues {
        get { core.dependencies }
        set { core.dependencies = newValue }
    }
    /// How much has to be asserted.
    public var exhaustivity = Exhaustivity.on {
        didSet { keepLeftovers() }
    }
    /// How long `receive` and `finish` wait at most. Longer than the library's second: a machine may be busy, and
    /// what comes in time is not waited for any longer.
    public var timeout: Duration = .seconds(30)
    /// The state as far as the test has followed it.
    public internal(set) var state: State

    let core: StoreCore<State, Action>
    let executor = EffectExecutor()
    let changes = Changes()
    /// Actions that effects sent, and that the test has not asserted, with the state that each led to.
    var received: [(action: Action, state: State)] = [] {
        didSet { keepLeftovers() }
    }
    private var stateAfterSend: State?
    private let place: Place
    private let leftovers = Mutex(Leftovers())

    /// A test store of a state and a reducer.
    public init(
        initialState: @autoclosure () -> State,
        reducer: () -> some Reducer<State, Action>,
        withDependencies prepareDependencies: (inout DependencyValues) -> Void = { _ in },
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) {
        place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        core = ComposableArchitectureStandIn.withDependencies(prepareDependencies) { [executor] in
            StoreCore(
                state: initialState(), reducer: reducer(), dependencies: DependencyValues._current, executor: executor)
        }
        state = core.state
        core.actionReduced = { [weak self] action, state, origin in
            switch origin {
            case .store: self?.stateAfterSend = state
            case .effect: self?.received.append((action, state))
            }
            self?.changes.happened()
        }
        core.effectsChanged = { [weak self] in
            self?.keepLeftovers()
            self?.changes.happened()
        }
    }

    /// The end of the test is where the last reference to the store ends.
    deinit {
        leftovers.withLock { $0 }.record(at: place)
    }

    /// Sends an action, and asserts how it changes the state.
    @discardableResult
    public func send(
        _ action: Action,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async -> TestStoreTask {
        let place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        if !received.isEmpty {
            report(
                """
                Must handle \(count(received.count, "received action")) before sending an action.

                Unhandled:
                \(Description.text(of: received.map(\.action)))
                """, at: place)
        }
        if exhaustivity != .on { skipAll() }
        let before = state
        let task = core.send(action, from: .store)
        state = stateAfterSend ?? core.state
        expect(before, became: state, updateStateToExpectedResult, at: place)
        await executor.settle()
        return TestStoreTask(rawValue: task, timeout: timeout)
    }

    /// Sends the action of a case that holds no value.
    @_disfavoredOverload @discardableResult
    public func send(
        _ action: CaseKeyPath<Action, Void>,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async -> TestStoreTask {
        await send(
            action(), assert: updateStateToExpectedResult, fileID: fileID, file: filePath, line: line, column: column)
    }

    /// Sends the action of a case with a value: `send(\.view, .task)`.
    @_disfavoredOverload @discardableResult
    public func send<Value>(
        _ action: CaseKeyPath<Action, Value>, _ value: Value,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async -> TestStoreTask {
        await send(
            action(value), assert: updateStateToExpectedResult,
            fileID: fileID, file: filePath, line: line, column: column)
    }

    /// Waits until all effects have ended; the test fails when that takes too long.
    public func finish(
        timeout duration: Duration? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        let place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        if !received.isEmpty { report(Leftovers.text(actions: received.map(\.action)), at: place) }
        let duration = duration ?? timeout
        await executor.settle()
        await changes.wait(for: duration) { core.causesInFlight.isEmpty }
        let running = core.causesInFlight
        guard !running.isEmpty else { return }
        report(
            """
            Expected effects to finish, but \(count(running.count, "effect")) still in flight after \(duration), of:
            \(Description.text(of: running))
            """, at: place)
    }

    private func keepLeftovers() {
        let found = Leftovers(
            actions: received.map(\.action), effects: core.causesInFlight, exhaustivity: exhaustivity)
        leftovers.withLock { $0 = found }
    }
}

/// The test store of a reducer.
public typealias TestStoreOf<R: Reducer> = TestStore<R.State, R.Action> where R.State: Equatable

func count(_ number: Int, _ noun: String) -> String { number == 1 ? "1 \(noun)" : "\(number) \(noun)s" }
