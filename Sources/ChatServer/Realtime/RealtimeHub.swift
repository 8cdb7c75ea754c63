internal import ChatCore
internal import ChatModel
internal import Foundation
internal import Logging

/// Passes on what happens to who is connected.
///
/// The log of events is the only source: word that a workspace has changed, from this process or from another, makes
/// the hub read on in it from where it was. So nothing is told twice or left out, whatever becomes of the word.
///
/// What is in no log, who is connected and who is typing, servers that are one tell each other: `RealtimeHub+Nodes`.
actor RealtimeHub {
    let service: ChatService
    private let logger: Logger
    var workspaces: [WorkspaceID: FollowedWorkspace] = [:]
    private var connections: [UserID: [Entry]] = [:]
    /// Workspaces whose log is being read.
    private var reading: Set<WorkspaceID> = []
    /// Workspaces whose log has grown since.
    private var grown: Set<WorkspaceID> = []
    /// Who wants to follow a workspace from its next reading on.
    private var joining: [WorkspaceID: [Joining]] = [:]
    /// How many read what they have missed, and who waits to.
    private var resumptions = 0
    private var waitingResumptions: [CheckedContinuation<Void, Never>] = []
    private static let mostResumptions = 4
    /// Of one person, on this server.
    private static let mostSockets = 32
    /// Nowhere but at servers that could not be heard when this was written: they may be there still, or have gone.
    var inDoubt: Set<UserID> = []
    /// By then who is at the other servers is known, as far as a link is there.
    var doubtsEnd = Timestamp(milliseconds: 0)
    var typists = Typists()
    private var isExpiring = false
    private var isLooking = false
    /// Other processes' changes are found within this.
    private static let lookAgain = Duration.seconds(2)
    private var isClosed = false

    private struct Entry {
        let connection: RealtimeConnection
        let session: SessionID
        /// It has come to all the workspaces that there were; from then on it is told of new ones.
        var hasBegun = false
    }

    private struct Joining {
        let connection: RealtimeConnection
        let user: UserID
        /// What it has seen; nil to begin with what comes.
        let after: Int64?
        let done: CheckedContinuation<Void, Never>
    }

    /// Who has lost all connections is taken for gone after this.
    private let patience: Duration
    /// Who has lost all connections and may come back: which loss of somebody's connections it was.
    private(set) var losses: [UserID: UInt64] = [:]
    private var lossCount: UInt64 = 0

    /// Told of who has lost all connections, after that.
    let gone: @Sendable (UserID) -> Void

    /// This server among others.
    let node: NodeID
    /// Tells the others; nil on a server that is alone.
    let tell: (@Sendable (NodeMessage) -> Void)?
    var others = OtherNodes()
    /// How often others were told of who is connected here.
    var version: UInt64 = 0
    /// Who has come to other servers, and is to be looked at with the workspace's next reading.
    private var arriving: [WorkspaceID: Set<UserID>] = [:]
    private static let mostArriving = 200

    init(
        service: ChatService, logger: Logger, patience: Duration = .seconds(10), node: NodeID = NodeID(UUID()),
        tell: (@Sendable (NodeMessage) -> Void)? = nil, gone: @escaping @Sendable (UserID) -> Void = { _ in }
    ) {
        self.service = service
        self.logger = logger
        self.patience = patience
        self.node = node
        self.tell = tell
        self.gone = gone
    }

    func isHere(_ user: UserID) -> Bool { connections[user] != nil }

    /// Who of these people is connected, to this server or to another.
    func connected(among users: Set<UserID>) -> Set<UserID> { users.filter { isHere($0) || others.isThere($0) } }

    // MARK: Connections

    /// Has a connection follow all workspaces of whose it is.
    ///
    /// - Parameter resume: what it has seen of each.
    func connect(_ connection: RealtimeConnection, _ caller: Caller, resume: [WorkspaceID: Int64]) async {
        guard !isClosed else { return connection.close(RealtimeConnection.Reason.goingDown) }
        guard connections[caller.user, default: []].count < Self.mostSockets else {
            return connection.close(RealtimeConnection.Reason.tooMany)
        }
        // Known from here on, and followed by nobody before it has been told what it follows.
        connections[caller.user, default: []].append(Entry(connection: connection, session: caller.session))
        losses[caller.user] = nil
        // Ends when nobody is connected, or with the hub.
        if !isLooking { Task { await lookAround() } }
        do {
            let ids = try await service.read { try $0.workspaceIDs(of: caller.user) }
            connection.send(ServerFrame.hello(user: caller.user, workspaces: ids))
            for id in ids where isOpen(connection, of: caller.user) {
                await self.resume(id, connection, of: caller.user, after: resume[id])
            }
            // The session may have ended meanwhile, and a word of another workspace was not for it yet.
            await endSessionsThatAreOver(of: caller.user)
            noteBegun(connection, of: caller.user)
            let now = try? await service.read { try $0.workspaceIDs(of: caller.user) }
            for id in now ?? [] where !ids.contains(id) && isOpen(connection, of: caller.user) {
                await follow(id, connection, of: caller.user, after: nil)
            }
        } catch {
            logger.error("a realtime socket could not begin", metadata: ["error": "\(error)"])
            connection.close(RealtimeConnection.Reason.broken)
        }
    }

    private func noteBegun(_ connection: RealtimeConnection, of user: UserID) {
        guard let index = connections[user]?.firstIndex(where: { $0.connection === connection }) else { return }
        connections[user]?[index].hasBegun = true
    }

    private func begun(of user: UserID) -> [RealtimeConnection] {
        (connections[user] ?? []).filter(\.hasBegun).map(\.connection)
    }

    private func isOpen(_ connection: RealtimeConnection, of user: UserID) -> Bool {
        connections[user]?.contains { $0.connection === connection } == true
    }

    func disconnect(_ connection: RealtimeConnection, of user: UserID) {
        connections[user]?.removeAll { $0.connection === connection }
        if connections[user]?.isEmpty == true { connections[user] = nil }
        for id in workspaces.keys { workspaces[id]?.remove(connection, of: user) }
        guard connections[user] == nil else { return }
        lossCount += 1
        losses[user] = lossCount
        let loss = lossCount
        // Over after `patience`, and without effect once the hub is closed.
        Task {
            try? await Task.sleep(for: patience)
            // Whoever was back meanwhile and is away again has the whole time anew.
            if losses[user] == loss { forget(user) }
        }
    }

    private func forget(_ user: UserID) {
        losses[user] = nil
        // At the end of this server nobody has gone: they go on at another, of which it may not hear any more.
        guard !isClosed else { return }
        // Where another server has them they may be gone from there without a word, while there is no link.
        if others.isThere(user) { inDoubt.insert(user) } else { hasGone(user) }
        for id in workspaces.keys {
            guard let person = workspaces[id]?.people[user], person.isHere else { continue }
            if !person.isHidden, !person.isElsewhere {
                workspaces[id]?.tellPresence(of: user, ServerFrame.presence(user, isOnline: false, in: id))
            }
            workspaces[id]?.forgetHere(user)
            // Where its log is being read, somebody may be about to follow it.
            if workspaces[id]?.isEmpty == true, !reading.contains(id) { workspaces[id] = nil }
        }
        sayPeople(.went(user))
    }

    /// Says goodbye to everybody.
    func close() {
        isClosed = true
        for entry in connections.values.joined() { entry.connection.close(RealtimeConnection.Reason.goingDown) }
    }

    // MARK: Changes

    /// Something has changed, in this process or in another. Does not wait for what comes of it: the tasks that read
    /// are kept by nobody, for each ends with what there is to read, and logs what fails.
    func changed(_ changes: ChatChanges) {
        for (user, mark) in changes.marks {
            for entry in connections[user] ?? [] { entry.connection.send(ServerFrame.read(mark)) }
        }
        for (user, mark) in changes.threadMarks {
            for entry in connections[user] ?? [] { entry.connection.send(ServerFrame.marked(mark)) }
        }
        for user in changes.loggedOut where connections[user] != nil {
            Task { await endSessionsThatAreOver(of: user) }
        }
        for user in changes.arrivals {
            for connection in begun(of: user) {
                for id in changes.workspaces where workspaces[id]?.people[user] == nil {
                    Task { await follow(id, connection, of: user, after: nil) }
                }
            }
        }
        for id in changes.workspaces where workspaces[id] != nil || reading.contains(id) {
            grown.insert(id)
            if !reading.contains(id) { Task { await read(id) } }
        }
    }

    /// Looks for what nobody in this process has written: another server on the same database, or `roost admin`.
    private func lookAround() async {
        guard !isLooking else { return }
        isLooking = true
        defer { isLooking = false }
        var looks = 0
        while !connections.isEmpty, !isClosed {
            try? await Task.sleep(for: Self.lookAgain)
            looks += 1
            // Some are over by time, of others the word may have been lost.
            if looks % 15 == 0 {
                await endSessionsThatAreOver()
                await followWhatWasNotTold()
            }
            let ids = Array(workspaces.keys)
            let newest = try? await service.read { chat in ids.map { try? chat.sequence(of: $0) } }
            for (id, sequence) in zip(ids, newest ?? []) {
                guard let known = workspaces[id]?.sequence, let sequence, sequence > known else { continue }
                grown.insert(id)
                await read(id)
            }
        }
    }

    /// Sessions may have ended without a word of it. Of a database that does not answer nothing follows.
    func endSessionsThatAreOver() async {
        let open = connections.values.joined().map(\.session)
        guard let over = try? await service.read({ try $0.sessionsOver(among: open) }), !over.isEmpty else { return }
        for entry in connections.values.joined() where over.contains(entry.session) {
            entry.connection.close(RealtimeConnection.Reason.sessionOver)
        }
    }

    /// Has everybody here follow the workspaces that they have come into without a word of it.
    func followWhatWasNotTold() async {
        let users = Array(connections.keys)
        guard let found = try? await service.read({ try $0.workspaceIDs(of: users) }) else { return }
        for (user, ids) in found {
            for connection in begun(of: user) {
                for id in ids where workspaces[id]?.isFollowed(by: connection, of: user) != true {
                    Task { await follow(id, connection, of: user, after: nil) }
                }
            }
        }
    }

    private func endSessionsThatAreOver(of user: UserID) async {
        for entry in connections[user] ?? [] {
            do {
                guard try await service.read({ try $0.user(of: entry.session) }) != user else { continue }
                entry.connection.close(RealtimeConnection.Reason.sessionOver)
            } catch {
                logger.error("a session could not be looked at", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Sends again what a connection has missed of the workspaces of whose it is; of others nothing.
    func resume(_ places: [WorkspaceID: Int64], _ connection: RealtimeConnection, of user: UserID) async throws {
        let ids = try await service.read { try $0.workspaceIDs(of: user) }
        for id in ids {
            if let after = places[id] { await resume(id, connection, of: user, after: after) }
        }
    }

    /// The same as `follow`, with few at once: each of them can have thousands of events read for it.
    private func resume(_ id: WorkspaceID, _ connection: RealtimeConnection, of user: UserID, after: Int64?) async {
        guard let after else { return await follow(id, connection, of: user, after: nil) }
        if resumptions >= Self.mostResumptions {
            await withCheckedContinuation { waitingResumptions.append($0) }
        } else {
            resumptions += 1
        }
        await follow(id, connection, of: user, after: after)
        // Whoever waits takes the place over.
        if waitingResumptions.isEmpty { resumptions -= 1 } else { waitingResumptions.removeFirst().resume() }
    }

    /// Has a connection follow a workspace, from what it has seen on.
    func follow(_ id: WorkspaceID, _ connection: RealtimeConnection, of user: UserID, after: Int64?) async {
        await withCheckedContinuation { done in
            joining[id, default: []].append(Joining(connection: connection, user: user, after: after, done: done))
            // Whoever reads resumes us, this task or one that reads already.
            Task { await read(id) }
        }
    }

    /// Somebody of a workspace has come to another server.
    func arrive(_ user: UserID, in id: WorkspaceID) {
        guard workspaces[id] != nil || reading.contains(id) || joining[id] != nil else { return }
        arriving[id, default: []].insert(user)
        if !reading.contains(id) { Task { await read(id) } }
    }

    /// Reads on in a workspace's log, until there is nothing new. One at a time for each workspace.
    private func read(_ id: WorkspaceID) async {
        guard reading.insert(id).inserted else { return }
        defer { reading.remove(id) }
        while grown.remove(id) != nil || joining[id] != nil || arriving[id] != nil {
            let newcomers = joining.removeValue(forKey: id) ?? []
            do {
                try await read(id, newcomers)
            } catch {
                logger.error("events could not be read", metadata: ["error": "\(error)"])
                // Who is connected is told to come again, rather than left without events.
                for newcomer in newcomers { newcomer.connection.close(RealtimeConnection.Reason.broken) }
                for person in workspaces.removeValue(forKey: id)?.people.values ?? [:].values {
                    for case let connection as RealtimeConnection in person.connections {
                        connection.close(RealtimeConnection.Reason.broken)
                    }
                }
            }
            for newcomer in newcomers { newcomer.done.resume() }
        }
    }

    private func read(_ id: WorkspaceID, _ newcomers: [Joining]) async throws {
        let elsewhere = takeArriving(in: id)
        let asked = LogReading.Question(
            workspace: id, after: workspaces[id]?.sequence,
            people: workspaces[id].map { Set($0.people.keys) } ?? [], hasGuests: workspaces[id]?.hasGuests ?? false,
            newcomers: newcomers.map { LogReading.Newcomer(user: $0.user, after: $0.after) },
            elsewhere: elsewhere)
        let reading = try await service.read { try LogReading(asked, in: $0) }
        if workspaces[id] == nil { workspaces[id] = FollowedWorkspace(sequence: reading.sequence) }
        let hidden = workspaces[id]?.people.mapValues(\.isHidden) ?? [:]
        let sightings = workspaces[id]?.update(reading.surroundings) ?? []
        service.statistics.realtime.eventsRead.add(reading.events.count)
        for event in reading.events { workspaces[id]?.deliver(event, reading.surroundings) }
        for sighting in sightings {
            workspaces[id]?.tell(
                sighting, ServerFrame.presence(sighting.other, isOnline: sighting.isOnline, in: id))
        }
        workspaces[id]?.advance(to: reading.sequence)
        let joined = Set(reading.events.filter { $0.kind == .memberJoined }.compactMap(\.user))
        follow(id, joined.subtracting(newcomers.map(\.user)))
        // Everybody has been told, and nothing comes after it.
        if reading.events.contains(where: { $0.kind == .workspaceDeleted }) { workspaces[id] = nil }
        // Whoever has left the server is logged out, also where another process has written it.
        for user in Set(reading.events.filter { $0.kind == .userUpdated }.compactMap(\.user)) {
            if connections[user] != nil { Task { await endSessionsThatAreOver(of: user) } }
        }
        for (user, isOnline) in workspaces[id]?.changed(since: hidden) ?? [:] {
            workspaces[id]?.tellPresence(of: user, ServerFrame.presence(user, isOnline: isOnline, in: id))
        }
        for (user, presence) in reading.elsewhere { addElsewhere(user, presence, to: id) }
        for (newcomer, place) in zip(newcomers, reading.places) { add(newcomer, place, to: id, at: reading.sequence) }
        if workspaces[id]?.isEmpty == true { (workspaces[id], arriving[id]) = (nil, nil) }
    }

    /// Those of other servers to be looked at next: not all at once, for events wait meanwhile.
    private func takeArriving(in id: WorkspaceID) -> Set<UserID> {
        var waiting = arriving.removeValue(forKey: id) ?? []
        if workspaces[id] == nil { waiting.formUnion(others.people(of: id)) }
        let next = Set(waiting.prefix(Self.mostArriving))
        waiting.subtract(next)
        if !waiting.isEmpty { arriving[id] = waiting }
        return next
    }

    /// The log says that these have come into a workspace, and the word of it may have been lost.
    private func follow(_ id: WorkspaceID, _ users: Set<UserID>) {
        for user in users {
            if workspaces[id]?.people[user]?.isHere != true {
                for connection in begun(of: user) {
                    Task { await follow(id, connection, of: user, after: nil) }
                }
            }
            if others.isThere(user, in: id) { arriving[id, default: []].insert(user) }
        }
    }

    private func add(_ newcomer: Joining, _ place: LogReading.Place?, to id: WorkspaceID, at sequence: Int64) {
        let (connection, user) = (newcomer.connection, newcomer.user)
        // Gone while its turn came.
        guard let place, connections[user]?.contains(where: { $0.connection === connection }) == true else { return }
        let former = workspaces[id]?.people[user]
        switch place.missed {
        case nil: break
        case .reload:
            service.statistics.realtime.reloads.add()
            connection.send(ServerFrame.reloadNeeded(id, at: sequence))
        case .events(let events, _) where !connection.hasRoom(forMissed: events.reduce(0) { $0 + $1.data.utf8.count }):
            // What was sent before, perhaps of other workspaces, has not been read.
            service.statistics.realtime.reloads.add()
            connection.send(ServerFrame.reloadNeeded(id, at: sequence))
        case .events(let events, _):
            service.statistics.realtime.resumes.add()
            connection.send(ServerFrame.resuming(id, from: newcomer.after ?? 0))
            for event in events { connection.send(Array(event.json.utf8)) }
        }
        workspaces[id]?.add(connection, of: user, place.presence)
        if former?.isHere != true { sayPeople(.came(user, id)) }
        connection.send(
            ServerFrame.following(
                id, from: sequence, online: workspaces[id]?.online(visibleTo: user) ?? [], marks: place.marks))
        if former?.isConnected != true, !place.presence.isHidden {
            workspaces[id]?.tellPresence(of: user, ServerFrame.presence(user, isOnline: true, in: id))
        }
    }

    // MARK: What passes

    /// Looks at a channel without being in it, from behind this event on.
    func watch(
        _ channel: ChannelID, in id: WorkspaceID, after sequence: Int64, _ connection: RealtimeConnection,
        of user: UserID
    ) async {
        // Whoever has just come into the workspace may be ahead of the word of it.
        if workspaces[id]?.people[user] == nil { await follow(id, connection, of: user, after: nil) }
        workspaces[id]?.watch(channel, after: sequence, connection, of: user)
    }

    func stopWatching(_ channel: ChannelID, _ connection: RealtimeConnection) {
        for id in workspaces.keys { workspaces[id]?.stopWatching(channel, connection) }
    }

    /// - Throws: `ChatError` for who is not in the channel.
    func typing(
        in channel: ChannelID, thread: MessageID?, by user: UserID, isTyping: Bool
    ) throws(ChatError) {
        guard let id = workspaces.first(where: { $0.value.isMember(user, of: channel) })?.key else {
            throw .notFound("channel")
        }
        let typist = Typists.Typist(workspace: id, channel: channel, user: user)
        if isTyping {
            guard begin(typist, thread: thread) else { return }
            say(.typing(typist, thread: thread, isTyping: true))
        } else if let entry = typists.end(typist) {
            pass(on: typist, thread: entry, isTyping: false)
            say(.typing(typist, thread: entry, isTyping: false))
        }
    }

    /// - Returns: whether others were told.
    @discardableResult
    func begin(_ typist: Typists.Typist, thread: MessageID?) -> Bool {
        guard typists.begin(typist, thread: thread, at: service.now()) else { return false }
        pass(on: typist, thread: thread, isTyping: true)
        // Ends when nobody types, which is some seconds after the last word of it.
        if !isExpiring { Task { await expireTypists() } }
        return true
    }

    func pass(on typist: Typists.Typist, thread: MessageID?, isTyping: Bool) {
        workspaces[typist.workspace]?.send(
            ServerFrame.typing(typist.user, in: typist.channel, thread: thread, isTyping: isTyping),
            toChannel: typist.channel, except: typist.user)
    }

    /// Who has said nothing for some seconds types no more.
    private func expireTypists() async {
        guard !isExpiring else { return }
        isExpiring = true
        defer { isExpiring = false }
        while !typists.isEmpty {
            try? await Task.sleep(for: .seconds(1))
            for (typist, thread) in typists.expire(at: service.now()) {
                pass(on: typist, thread: thread, isTyping: false)
            }
        }
    }
}
