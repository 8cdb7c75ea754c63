#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
import Observation
import Testing

@MainActor
struct StoreTests {
    private struct App: Reducer {
        struct State: Equatable, ObservableState {
            var calls = Calls.State() { didSet { _$willModify() } }
            var log: [String] = [] { didSet { _$willModify() } }

            private var registrar = ObservationStateRegistrar()
            var _$id: ObservableStateID { registrar.id }
            mutating func _$willModify() { registrar._$willModify() }
        }

        enum Action: CasePathable {
            case calls(Calls.Action)
            case clear

            struct AllCasePaths: Sendable {
                var calls: AnyCasePath<Action, Calls.Action> {
                    AnyCasePath(
                        embed: { .calls($0) }, extract: { if case .calls(let action) = $0 { action } else { nil } })
                }
            }
            static var allCasePaths: AllCasePaths { AllCasePaths() }
        }

        var body: some ReducerOf<Self> {
            Scope(state: \.calls, action: \.calls) {
                Calls()
            }
            Reduce { state, action in
                switch action {
                case .calls(.delegate(.answerGenerated(let sdp, _))): state.log.append(sdp)
                case .clear: state.log = []
                case .calls: break
                }
                return .none
            }
        }
    }

    private func store() -> StoreOf<App> {
        Store(initialState: App.State()) {
            App()
        } withDependencies: {
            $0.engine.answer = { "answer to \($0)" }
        }
    }

    @Test func `a parent sees what its child tells, after the child has acted`() async {
        let store = store()
        await store.send(.calls(.view(.offer(from: "ada")))).finish()
        #expect(store.calls.peers.ids == ["ada"])
        #expect(store.log == ["answer to ada"])
        #expect(store.withState { $0.log.count } == 1)
    }

    @Test func `the same scope is the same store and sends to the parent`() async {
        let store = store()
        let child = store.scope(state: \.calls, action: \.calls)
        #expect(child == store.scope(state: \.calls, action: \.calls))
        await child.send(.view(.offer(from: "bob"))).finish()
        #expect(child.peers.map(\.id) == ["bob"])
        #expect(store.log == ["answer to bob"])
    }

    @Test func `who observes the state is told of a change and not of an action without one`() async {
        let store = store()
        let child = store.scope(state: \.calls, action: \.calls)
        let changes = Counter()
        withObservationTracking {
            _ = child.isListening
        } onChange: {
            changes.add()
        }
        store.send(.calls(.delegate(.failed)))
        #expect(changes.value == 0)
        store.send(.clear)
        #expect(changes.value == 0)
        store.send(.calls(.view(.stop)))
        #expect(changes.value == 1)
    }

    @Test func `cancelling what an action set going cancels the effects that came of it`() async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let store = Store(initialState: 0) {
            Reduce<Int, Int> { state, action in
                state = action
                guard action > 0 else {
                    return .run { _ in
                        begin.finish()
                        try? await Task.sleep(for: .seconds(3600))
                        end.finish()
                    }
                }
                return .run { send in await send(action - 1) }
            }
        }
        let task = store.send(2)
        for await _ in begun {}
        task.cancel()
        for await _ in ended {}
        await task.finish()
        #expect(task.isCancelled)
    }

    @Test func `a store that goes away cancels its effects`() async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        var store: Store<Int, Int>? = Store(initialState: 0) {
            Reduce<Int, Int> { _, _ in
                .run { _ in
                    begin.finish()
                    try? await Task.sleep(for: .seconds(3600))
                    end.finish()
                }
            }
        }
        store?.send(1)
        for await _ in begun {}
        store = nil
        for await _ in ended {}
    }
}
