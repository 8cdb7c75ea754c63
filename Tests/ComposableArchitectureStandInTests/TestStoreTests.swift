#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
    import ComposableArchitectureStandInTesting
#endif
import Testing

@MainActor
struct TestStoreTests {
    private func store(
        _ state: Calls.State = Calls.State(), events: AsyncStream<String> = AsyncStream { $0.finish() }
    ) -> TestStoreOf<Calls> {
        TestStore(initialState: state) {
            Calls()
        } withDependencies: {
            $0.engine.answer = { "answer to \($0)" }
            $0.engine.events = { events }
        }
    }

    @Test func `an offer is answered and the parent is told`() async {
        let store = store()
        await store.send(\.view, .offer(from: "ada"))
        await store.receive(.answered("ada", "answer to ada")) {
            $0.peers = [Calls.Peer(id: "ada")]
        }
        await store.receive(\.delegate, .answerGenerated(sdp: "answer to ada", userId: "ada"))
    }

    @Test func `a long effect runs until its name is cancelled`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        var state = Calls.State()
        state.peers = [Calls.Peer(id: "ada"), Calls.Peer(id: "bob")]
        let store = store(state, events: events)
        await store.send(\.view.task) { $0.isListening = true }
        feed.yield("bob")
        await store.receive(.connected("bob")) { $0.peers[id: "bob"]?.isConnected = true }
        await store.send(\.view, .stop) { $0.isListening = false }
        feed.yield("ada")
        await store.finish()
    }

    @Test func `a failure of the engine is an action`() async {
        struct Broken: Error {}
        let store = store()
        store.dependencies.engine.answer = { _ in throw Broken() }
        await store.send(\.view, .offer(from: "ada"))
        await store.receive(.delegate(.failed))
    }

    @Test func `a case is received by its key path, at any depth`() async {
        let store = store()
        await store.send(.view(.offer(from: "ada")))
        await store.receive({ if case .answered = $0 { true } else { false } }) {
            $0.peers.append(Calls.Peer(id: "ada"))
        }
        await store.receive(\.delegate.answerGenerated)
    }

    @Test func `with exhaustivity off a test names what it cares for`() async {
        let store = store()
        store.exhaustivity = .off
        await store.send(.view(.offer(from: "ada")))
        await store.receive(\.delegate) { $0.peers = [Calls.Peer(id: "ada")] }
        #expect(store.state.peers.ids == ["ada"])
        await store.send(.answered("bob", ""))
    }

    @Test func `skipped actions change the state that the test follows`() async {
        let store = store()
        await store.send(.view(.offer(from: "ada")))
        await store.skipReceivedActions()
        #expect(store.state.peers.ids == ["ada"])
        store.assert { $0.peers = [Calls.Peer(id: "ada")] }
        await store.send(.view(.leave("ada"))) { $0.peers = [] }
    }

    @Test func `a task ends when all that came of its action has ended`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        let store = store(events: events)
        let task = await store.send(\.view.task) { $0.isListening = true }
        feed.finish()
        await task.finish()
        #expect(!task.isCancelled)
    }
}
