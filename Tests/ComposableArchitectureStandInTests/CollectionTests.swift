#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
import Testing

struct CollectionTests {
    private func peers(_ ids: String...) -> IdentifiedArrayOf<Calls.Peer> {
        IdentifiedArray(uniqueElements: ids.map { Calls.Peer(id: $0) })
    }

    @Test func `elements keep their order and are found by identity`() {
        var peers = peers("ada", "bob", "cy")
        peers[id: "bob"]?.isConnected = true
        #expect(peers.ids == ["ada", "bob", "cy"])
        #expect(peers[1].isConnected)
        #expect(peers.index(id: "cy") == 2)
        #expect(peers[id: "dee"] == nil)
    }

    @Test func `an identity stands there once`() {
        var peers = peers("ada")
        #expect(!peers.append(Calls.Peer(id: "ada", isConnected: true)).inserted)
        #expect(peers == self.peers("ada"))
        peers.updateOrAppend(Calls.Peer(id: "ada", isConnected: true))
        peers.updateOrAppend(Calls.Peer(id: "bob"))
        #expect(peers.map(\.isConnected) == [true, false])
    }

    @Test func `removing and inserting move the others' places`() {
        var peers = peers("ada", "bob", "cy")
        #expect(peers.remove(id: "ada")?.id == "ada")
        #expect(peers.remove(id: "ada") == nil)
        peers.insert(Calls.Peer(id: "dee"), at: 1)
        #expect(peers.ids.map { peers.index(id: $0) } == [0, 1, 2])
        #expect(peers.ids == ["bob", "dee", "cy"])
        peers[id: "bob"] = nil
        peers.removeAll { $0.id == "cy" }
        #expect(peers == self.peers("dee"))
        #expect(peers[id: "dee"] == Calls.Peer(id: "dee"))
    }

    @Test func `order counts in a comparison`() {
        #expect(peers("ada", "bob") != peers("bob", "ada"))
        #expect(peers() == [])
    }
}

struct CasePathTests {
    @Test func `a key path leads through cases in both directions`() {
        let path: CaseKeyPath<Calls.Action, (sdp: String, userId: String)> = \.delegate.answerGenerated
        let action: Calls.Action = path((sdp: "sdp", userId: "ada"))
        #expect(action == .delegate(.answerGenerated(sdp: "sdp", userId: "ada")))
        #expect(action[case: path]?.userId == "ada")
        #expect(Calls.Action.delegate(.failed)[case: path] == nil)
        #expect(Calls.Action.view(.task).is(\.view.task))
    }

    @Test func `a case path takes out what it put in`() {
        let path = AnyCasePath<Calls.Action, Calls.Action.View>(\.view)
        #expect(path.extract(from: path.embed(.stop)) == .stop)
        #expect(path.task.extract(from: .view(.stop)) == nil)
    }
}
