#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
import Testing

import Synchronization

struct DependencyTests {
    @Test func `what is set holds in the operation and in the tasks that it starts`() async {
        @Dependency(\.clerk) var clerk
        await withDependencies {
            $0.clerk.name = "ada"
        } operation: {
            #expect(clerk.name == "ada")
            let inTask = await Task {
                @Dependency(\.clerk) var clerk
                return clerk.name
            }.value
            #expect(inTask == "ada")
            withDependencies {
                $0.clerk = Clerk(name: "bob")
            } operation: {
                #expect(clerk.name == "bob")
            }
        }
    }

    @Test func `a live value is made once`() {
        withDependencies {
            $0.context = .live
        } operation: {
            @Dependency(Meter.self) var first
            @Dependency(Meter.self) var second
            #expect(first === second)
        }
    }

    @Test func `what was set where a reader was made holds where it reads`() {
        struct Desk {
            @Dependency(\.clerk) var clerk
        }
        let desk = withDependencies {
            $0.clerk.name = "cy"
        } operation: {
            Desk()
        }
        #expect(desk.clerk.name == "cy")
    }

    private final class Meter: DependencyKey, Sendable {
        static var liveValue: Meter { Meter() }
    }
}

/// Counts across tasks.
final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
