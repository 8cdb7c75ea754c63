#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
    import ComposableArchitectureStandInTesting
#endif
import Testing

@MainActor
struct EffectTests {
    /// A store whose state is the list of actions that it took; `go` returns an effect.
    private func store(_ effect: Effect<String>) -> TestStore<[String], String> {
        TestStore(initialState: []) {
            Reduce<[String], String> { state, action in
                state.append(action)
                return action == "go" ? effect : action == "stop" ? .cancel(id: "effect") : .none
            }
        }
    }

    private func taken(_ effect: Effect<String>, then stop: Bool = false) async -> [String] {
        let store = store(effect)
        store.exhaustivity = .off
        await store.send("go")
        if stop { await store.send("stop") }
        await store.finish()
        await store.skipReceivedActions(strict: false)
        return store.state
    }

    @Test func `a sent action is taken before the call that sent the first one returns`() {
        let store = Store(initialState: [String]()) {
            Reduce<[String], String> { state, action in
                state.append(action)
                return action == "go" ? .merge(.send("one"), .send("two")) : .none
            }
        }
        store.send("go")
        #expect(store.withState { $0 } == ["go", "one", "two"])
    }

    @Test func `merged effects run side by side`() async {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let effect = Effect<String>.merge(
            .run { send in
                for await _ in gate {}
                await send("after")
            },
            .run { send in
                await send("before")
                open.finish()
            })
        #expect(await taken(effect) == ["go", "before", "after"])
    }

    @Test func `concatenated effects wait for the one before`() async {
        let effect = Effect<String>.concatenate(
            .send("one"),
            .run { send in
                for _ in 0..<50 { await Task.yield() }
                await send("two")
            },
            .send("three"),
            .merge(.run { await $0("four") }, .none),
            .concatenate(.none, .run { await $0("five") }))
        #expect(await taken(effect) == ["go", "one", "two", "three", "four", "five"])
    }

    @Test func `effects of a test store keep their order in every run`() async {
        let effect = Effect<String>.merge((0..<20).map { number in .run { await $0("\(number)") } })
        #expect(await taken(effect) == ["go"] + (0..<20).map(String.init))
    }

    @Test func `a cancelled effect sends nothing more, whatever it is part of`() async {
        let long = Effect<String>.run { send in
            try? await Task.sleep(for: .seconds(3_600))
            await send("late")
        }
        for effect in [long, .merge(.send("one"), long), .concatenate(long, .send("two")), long.map { $0 + "!" }] {
            let taken = await taken(effect.cancellable(id: "effect"), then: true)
            #expect(taken.filter { $0 != "one" } == ["go", "stop"])
        }
    }

    @Test func `cancelInFlight ends what runs under the name and begins anew`() async {
        let store = store(
            Effect.run { send in
                await send("begun")
                try await Task.sleep(for: .seconds(3_600))
            }
            .cancellable(id: "effect", cancelInFlight: true))
        await store.send("go") { $0 = ["go"] }
        await store.receive("begun") { $0.append("begun") }
        await store.send("go") { $0.append("go") }
        await store.receive("begun") { $0.append("begun") }
        await store.send("stop") { $0.append("stop") }
    }

    @Test func `names of different types are different`() async {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let store = TestStore(initialState: 0) {
            Reduce<Int, Int> { _, action in
                switch action {
                case 0: .run { for await _ in gate { await $0(3) } }.cancellable(id: 1)
                case 1: .cancel(id: UInt8(1))
                default: .none
                }
            }
        }
        await store.send(0)
        await store.send(1)
        open.yield()
        await store.receive(3)
        open.finish()
        await store.finish()
    }

    @Test func `actions of a mapped effect are put into others`() async {
        let effect = Effect<Int>.merge(.send(1), .run { await $0(2) }).map { "number \($0)" }
        #expect(await taken(effect) == ["go", "number 1", "number 2"])
    }
}
