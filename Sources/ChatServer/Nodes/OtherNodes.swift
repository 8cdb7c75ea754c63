internal import ChatCore
internal import ChatModel

/// Who is connected to the other servers, as far as they have said so. Without I/O: `RealtimeHub` feeds it.
///
/// Each node numbers what it says of people. Who has missed a number asks for all of it, so that nothing is remembered
/// anywhere but in the nodes, and all agree again after whatever got lost.
struct OtherNodes {
    fileprivate struct Node {
        var version: UInt64 = 0
        var people: [WorkspaceID: Set<UserID>] = [:]
        var heardAt: Timestamp
        var askedAt: Timestamp?
        /// It has said goodbye at this time: its people are given some seconds to come back elsewhere.
        var leftAt: Timestamp?
    }

    /// What follows from what was heard.
    enum Step: Equatable {
        case came(UserID, WorkspaceID)
        /// They are connected to no other node now.
        case went(UserID, WorkspaceID)
        case ask(NodeID)
    }

    private var nodes: [NodeID: Node] = [:]

    /// Without a word for so long a node is taken for dead.
    static let patience = Duration.seconds(15)
    /// The same, while nobody can be heard: the fault is likely to be in between.
    static let patienceUnlinked = Duration.seconds(60)
    /// Those of a node that has said goodbye are taken for gone after this.
    static let patienceAfterGoodbye = Duration.seconds(10)
    private static let askAgain = Duration.seconds(1)

    /// Who is there.
    var alive: Set<NodeID> { Set(nodes.filter { $0.value.leftAt == nil }.keys) }

    func isThere(_ user: UserID, in workspace: WorkspaceID) -> Bool {
        nodes.values.contains { $0.people[workspace]?.contains(user) == true }
    }

    func isThere(_ user: UserID) -> Bool {
        nodes.values.contains { $0.people.values.contains { $0.contains(user) } }
    }

    func people(of workspace: WorkspaceID) -> Set<UserID> {
        nodes.values.reduce(into: []) { $0.formUnion($1.people[workspace] ?? []) }
    }

    // MARK: What is heard

    mutating func take(_ message: NodeMessage, at now: Timestamp) -> [Step] {
        let id = message.node
        var node = nodes[id] ?? Node(heardAt: now)
        node.heardAt = now
        let isNext = message.version == node.version + 1
        var steps: [Step] = []
        switch message.word {
        case .came(let user, let workspace) where isNext:
            node.version = message.version
            node.people[workspace, default: []].insert(user)
            steps = [.came(user, workspace)]
        case .went(let user) where isNext:
            let former = node.people
            node.version = message.version
            for workspace in former.keys { node.remove(user, from: workspace) }
            nodes[id] = node
            steps = went(former.filter { $0.value.contains(user) }.mapValues { _ in [user] })
        case .everybody(let people):
            let former = node.people
            (node.version, node.people, node.askedAt) = (message.version, people, nil)
            nodes[id] = node
            steps = came(people, since: former) + went(former.subtracting(people))
        case .goodbye:
            node.leftAt = now
        case .hello, .alive, .changed, .came, .went, .ask, .typing: break
        }
        if node.version != message.version, node.askedAt.map({ now - $0 >= Self.askAgain }) ?? true {
            node.askedAt = now
            steps.append(.ask(id))
        }
        nodes[id] = node
        return steps
    }

    /// Everybody can be heard again: who is silent from now on is dead.
    mutating func linked(at now: Timestamp) {
        for id in nodes.keys { nodes[id]?.heardAt = now }
    }

    /// Takes nodes out that have not been heard for long.
    ///
    /// - Parameter isLinked: whether anything can be heard.
    mutating func expire(isLinked: Bool, at now: Timestamp) -> [Step] {
        let limit = isLinked ? Self.patience : Self.patienceUnlinked
        let over = nodes.filter { _, node in
            now - node.heardAt >= limit || node.leftAt.map { now - $0 >= Self.patienceAfterGoodbye } == true
        }
        for id in over.keys { nodes[id] = nil }
        return over.values.flatMap { went($0.people) }
    }

    private func came(_ people: [WorkspaceID: Set<UserID>], since former: [WorkspaceID: Set<UserID>]) -> [Step] {
        people.subtracting(former).flatMap { workspace, users in users.map { .came($0, workspace) } }
    }

    /// Those of whom no node says any more that they are there.
    private func went(_ people: [WorkspaceID: Set<UserID>]) -> [Step] {
        people.flatMap { workspace, users in
            users.filter { !isThere($0, in: workspace) }.map { .went($0, workspace) }
        }
    }
}

extension OtherNodes.Node {
    fileprivate mutating func remove(_ user: UserID, from workspace: WorkspaceID) {
        people[workspace]?.remove(user)
        if people[workspace]?.isEmpty == true { people[workspace] = nil }
    }
}

extension [WorkspaceID: Set<UserID>] {
    fileprivate func subtracting(_ others: Self) -> Self {
        reduce(into: [:]) { rest, entry in
            let users = entry.value.subtracting(others[entry.key] ?? [])
            if !users.isEmpty { rest[entry.key] = users }
        }
    }
}
