internal import ChatCore
internal import ChatModel

/// What several servers that are one tell each other of who is connected to them and who is typing.
extension RealtimeHub {
    func say(_ word: NodeMessage.Word) { tell?(NodeMessage(node: node, version: version, word: word)) }

    /// Says something that changes who is connected here.
    func sayPeople(_ word: NodeMessage.Word) {
        version += 1
        say(word)
    }

    /// Another server says something.
    func take(_ message: NodeMessage) {
        perform(others.take(message, at: service.now()))
        switch message.word {
        case .hello: say(.alive)
        case .ask(let asked): if asked == node { say(.everybody(peopleHere)) }
        case .changed(let changes): changed(changes)
        case .typing(let typist, let thread, let isTyping): take(typist, thread: thread, isTyping: isTyping)
        case .alive, .goodbye, .came, .went, .everybody: break
        }
    }

    /// The other servers can be heard, for the first time or again: what was said meanwhile is lost.
    func linked() {
        listensAnew()
        doubtsEnd = service.now().advanced(by: Self.introduction)
        say(.hello)
        // What the database does not answer, `lookAround` asks again.
        Task {
            await endSessionsThatAreOver()
            await followWhatWasNotTold()
        }
    }

    /// This server has not listened for a while, and takes nobody for dead who has not been heard in it.
    func listensAnew() { others.linked(at: service.now()) }

    /// Says that this server is there, and looks for who is not any more.
    ///
    /// - Parameter isLinked: whether the others can be heard.
    /// - Returns: who of them is there.
    func beat(isLinked: Bool) -> Set<NodeID> {
        say(.alive)
        // Who cannot be heard may be in the midst of a call: calls of a server that is dead end once its end is
        // certain.
        perform(others.expire(isLinked: isLinked, at: service.now()), isCertain: isLinked)
        if isLinked, service.now() >= doubtsEnd { endDoubts() }
        return others.alive
    }

    private var peopleHere: [WorkspaceID: Set<UserID>] { workspaces.mapValues(\.peopleHere) }

    private func perform(_ steps: [OtherNodes.Step], isCertain: Bool = true) {
        for step in steps {
            switch step {
            case .came(let user, let id):
                inDoubt.remove(user)
                arrive(user, in: id)
            case .went(let user, let id): leave(user, from: id, isCertain: isCertain)
            case .ask(let node): say(.ask(node))
            }
        }
    }

    /// Somebody of whom another server has told, as they are in the workspace.
    func addElsewhere(_ user: UserID, _ presence: ChatTransaction.Presence, to id: WorkspaceID) {
        // Gone while their turn came.
        guard others.isThere(user, in: id) else { return }
        let wasConnected = workspaces[id]?.people[user]?.isConnected == true
        workspaces[id]?.addElsewhere(user, presence)
        guard !wasConnected, !presence.isHidden else { return }
        workspaces[id]?.tellPresence(of: user, ServerFrame.presence(user, isOnline: true, in: id))
    }

    /// From all their devices, wherever those were connected.
    func hasGone(_ user: UserID) {
        inDoubt.remove(user)
        gone(user)
    }

    /// Those who were taken out while nobody could be heard have gone, unless they have been told of again.
    private func endDoubts() {
        let users = inDoubt
        inDoubt = []
        for user in users where !isHere(user) && losses[user] == nil && !others.isThere(user) { hasGone(user) }
    }

    /// After a link is back, all that are there have said who is at them.
    private static let introduction = Duration.seconds(20)

    private func leave(_ user: UserID, from id: WorkspaceID, isCertain: Bool) {
        // Whoever was here a while ago may still come back: then it is told, when they do not.
        if !isHere(user), losses[user] == nil, !others.isThere(user) {
            if isCertain { hasGone(user) } else { inDoubt.insert(user) }
        }
        guard let person = workspaces[id]?.people[user], person.isElsewhere else { return }
        if !person.isHidden, !person.isHere {
            workspaces[id]?.tellPresence(of: user, ServerFrame.presence(user, isOnline: false, in: id))
        }
        workspaces[id]?.forgetElsewhere(user)
    }

    private func take(_ typist: Typists.Typist, thread: MessageID?, isTyping: Bool) {
        if isTyping {
            begin(typist, thread: thread)
        } else if let entry = typists.end(typist) {
            pass(on: typist, thread: entry, isTyping: false)
        }
    }
}
