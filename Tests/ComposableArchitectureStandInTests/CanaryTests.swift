import ComposableArchitectureStandIn
import ComposableArchitectureStandInTesting
import Testing

/// Each expectation of a test store that is not met fails its test: these would pass silently if it did not.
@MainActor
struct CanaryTests {
    private func store(_ change: (inout DependencyValues) -> Void = { _ in }) -> TestStoreOf<Calls> {
        TestStore(initialState: Calls.State()) {
            Calls()
        } withDependencies: {
            $0.engine.answer = { "answer to \($0)" }
            $0.engine.events = { AsyncStream { $0.finish() } }
            change(&$0)
        }
    }

    /// Passes when the operation records an issue that says this, and no other.
    private func fails(
        _ sentence: String, sourceLocation: SourceLocation = #_sourceLocation, _ operation: () async -> Void
    ) async {
        await withKnownIssue(sourceLocation: sourceLocation) {
            await operation()
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains(sentence) }
        }
    }

    @Test func `fails on a change of the state that is not asserted`() async {
        await fails("+   isListening: true") {
            await store().send(\.view.task)
        }
    }

    @Test func `fails on an assertion that is not what happened`() async {
        await fails("−   peers: []\n  +   peers: [") {
            let store = store()
            store.exhaustivity = .off
            await store.send(.answered("ada", "")) { $0.peers = [] }
        }
        await fails("A state change does not match expectation") {
            await store().send(\.view.task) { $0.peers = [Calls.Peer(id: "ada")] }
        }
    }

    @Test func `fails on an assertion that changes nothing`() async {
        await fails("no change occurred") {
            await store().send(.view(.leave("ada"))) { $0.isListening = false }
        }
    }

    @Test func `fails on an assertion that throws`() async {
        await fails("threw an error") {
            await store().send(.view(.leave("ada"))) { _ in throw CancellationError() }
        }
    }

    @Test func `fails when an action was received that the test does not mention`() async {
        await fails("delegate(") {
            await store().send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
        }
        await fails("received 1 action that the test did not expect") {
            let store = store()
            await store.send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
            await store.finish()
            await store.skipReceivedActions()
        }
    }

    @Test func `fails when an action is sent before one that was received is asserted`() async {
        await fails("Must handle 1 received action") {
            let store = store()
            await store.send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
            await store.send(.view(.leave("bob")))
            await store.receive(\.delegate)
        }
    }

    @Test func `fails when an effect outlives the test`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        defer { feed.finish() }
        await fails("An effect is still running at the end of the test") {
            await store { $0.engine.events = { events } }.send(\.view.task) { $0.isListening = true }
        }
    }

    @Test func `fails when effects do not finish in time`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        defer { feed.finish() }
        await fails("1 effect still in flight") {
            let store = store { $0.engine.events = { events } }
            let task = await store.send(\.view.task) { $0.isListening = true }
            await store.finish(timeout: .milliseconds(10))
            await task.cancel()
        }
    }

    @Test func `fails when what an action set going does not finish in time`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        defer { feed.finish() }
        await fails("still in flight after") {
            let store = store { $0.engine.events = { events } }
            let task = await store.send(\.view.task) { $0.isListening = true }
            await task.finish(timeout: .milliseconds(10))
            await task.cancel()
        }
    }

    @Test func `fails at once when nothing is left that could send the action`() async {
        let began = ContinuousClock.now
        await fails("No effect is in flight") {
            await store().receive(.delegate(.failed))
        }
        #expect(ContinuousClock.now - began < .seconds(20))
    }

    @Test func `fails when the action does not come in time`() async {
        let (events, feed) = AsyncStream.makeStream(of: String.self)
        defer { feed.finish() }
        await fails("did not come within") {
            let store = store { $0.engine.events = { events } }
            await store.send(\.view.task) { $0.isListening = true }
            await store.receive(\.delegate, timeout: .milliseconds(10))
            await store.skipInFlightEffects()
        }
    }

    @Test func `fails when another action comes`() async {
        await fails("−     sdp: \"another\"\n  +     sdp: \"\"") {
            let store = store()
            await store.send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
            await store.receive(.delegate(.answerGenerated(sdp: "another", userId: "ada")))
        }
        await fails("Received an unexpected action") {
            let store = store()
            await store.send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
            await store.receive(\.delegate, .failed)
        }
        await fails("Received an unexpected action") {
            let store = store()
            await store.send(.answered("ada", "")) { $0.peers = [Calls.Peer(id: "ada")] }
            await store.receive(\.view)
        }
    }

    @Test func `fails on a change by a received action that is not asserted`() async {
        await fails("State was not expected to change") {
            let store = store()
            await store.send(.view(.offer(from: "ada")))
            await store.receive(.answered("ada", "answer to ada"))
            await store.receive(\.delegate)
        }
    }

    @Test func `fails when there is nothing to skip`() async {
        await fails("no received actions to skip") { await store().skipReceivedActions() }
        await fails("no effects in flight to skip") { await store().skipInFlightEffects() }
    }

    @Test func `fails when a dependency is called that the test does not implement`() async {
        await fails("Unimplemented: Engine.answer") {
            let store = TestStore(initialState: Calls.State()) { Calls() }
            await store.send(.view(.offer(from: "ada")))
            await store.receive(.delegate(.failed))
        }
    }

    @Test func `fails when a dependency is read that has no value for tests`() async {
        await fails("@Dependency(\\.clerk) has no test implementation") {
            @Dependency(\.clerk) var clerk
            #expect(clerk.name == "live")
        }
    }

    @Test func `fails when an effect throws what nobody catches`() async {
        struct Broken: Error {}
        await fails("does not handle: Broken()") {
            let store = TestStore(initialState: 0) {
                Reduce<Int, String> { _, _ in .run { _ in throw Broken() } }
            }
            await store.send("go")
        }
    }

    @Test func `fails when an effect sends an action after its end`() async {
        await fails("was sent by an effect that has ended") {
            let (left, leave) = AsyncStream.makeStream(of: Send<String>.self)
            let store = TestStore(initialState: 0) {
                Reduce<Int, String> { _, action in action == "go" ? .run { leave.yield($0) } : .none }
            }
            await store.send("go")
            for await send in left {
                send("late")
                break
            }
            await store.receive("late")
        }
    }
}
