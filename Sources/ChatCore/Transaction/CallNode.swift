package import ChatModel

/// What nodes are named by.
package enum Node {}

/// One of several servers that are one: a process, from its start to its end.
package typealias NodeID = Identifier<Node>

/// The server that carries a call's media, where there are several.
package struct CallNode: Sendable, Equatable {
    package let id: NodeID
    /// As clients reach this one server: `https://one.chat.example.org`.
    package let url: String

    package init(id: NodeID, url: String) {
        self.id = id
        self.url = url
    }
}

extension ChatTransaction {
    /// Ends calls of these kinds that servers carried which are no more.
    ///
    /// - Parameter nodes: who is there, and whose calls go on.
    package func failCalls(but nodes: Set<NodeID>, _ kinds: [CallKind]) throws {
        let list = nodes.sorted()
        let names = list.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        try failCalls(
            kinds, where: list.isEmpty ? "1 = 1" : "(node_id IS NULL OR node_id NOT IN (\(names)))",
            list.map { SQLValue.id($0) })
    }
}
