internal import ChatCore
internal import ChatModel
internal import SocketIO

/// What events are passed on to.
protocol RealtimeReceiver: AnyObject, Sendable {
    /// - Parameter frame: JSON.
    func send(_ frame: [UInt8])
    /// Is one of many who are sent the same JSON.
    func take(_ broadcast: inout WebSocketBroadcast)
}

extension RealtimeReceiver {
    /// Of what has no socket.
    func take(_ broadcast: inout WebSocketBroadcast) { send(broadcast.message.payload) }
}

/// Who of a workspace is connected, and who of them gets an event. Without I/O: `RealtimeHub` feeds it from the log.
struct FollowedWorkspace {
    struct Person {
        var role: Role
        var channels: Set<ChannelID>
        /// Does not want to be seen.
        var isHidden: Bool
        /// Empty for a while after the last has gone: it may come back.
        var connections: [any RealtimeReceiver] = []
        /// Connected to this server, or was a while ago.
        var isHere = false
        /// Connected to another server.
        var isElsewhere = false

        var isConnected: Bool { isElsewhere || !connections.isEmpty }
        var isOnline: Bool { !isHidden && isConnected }
        /// Others take them for online: also who has gone a while ago and may come back, of which nobody is told yet.
        var isShown: Bool { !isHidden && (isConnected || isHere) }

        /// Members see everybody, guests who is in their channels.
        func mayKnow(_ other: Person) -> Bool { role != .guest || !channels.isDisjoint(with: other.channels) }
    }

    /// Events up to this one have been passed on.
    private(set) var sequence: Int64
    private(set) var people: [UserID: Person] = [:]
    /// Who of the connected is in each channel.
    private var members: [ChannelID: Set<UserID>] = [:]
    /// Connections that look at a channel whose members they are not, each from behind an event on.
    private var watchers: [ChannelID: [(receiver: any RealtimeReceiver, after: Int64)]] = [:]

    init(sequence: Int64) { self.sequence = sequence }

    /// How many are connected to this server, or were a while ago.
    private var countHere = 0
    /// Nobody here follows it.
    var isEmpty: Bool { countHere == 0 }
    var peopleHere: Set<UserID> { Set(people.filter { $0.value.isHere }.keys) }
    var hasGuests: Bool { people.values.contains { $0.role == .guest } }

    func isFollowed(by connection: any RealtimeReceiver, of user: UserID) -> Bool {
        people[user]?.connections.contains { $0 === connection } == true
    }

    // MARK: Coming and going

    mutating func add(_ connection: any RealtimeReceiver, of user: UserID, _ presence: ChatTransaction.Presence) {
        setPresence(presence, of: user)
        if people[user]?.isHere == false {
            people[user]?.isHere = true
            countHere += 1
        }
        guard people[user]?.connections.contains(where: { $0 === connection }) == false else { return }
        people[user]?.connections.append(connection)
    }

    mutating func remove(_ connection: any RealtimeReceiver, of user: UserID) {
        for channel in watchers.keys { stopWatching(channel, connection) }
        people[user]?.connections.removeAll { $0 === connection }
    }

    /// Somebody is connected to another server.
    mutating func addElsewhere(_ user: UserID, _ presence: ChatTransaction.Presence) {
        setPresence(presence, of: user)
        people[user]?.isElsewhere = true
    }

    /// Somebody is connected to no other server any more.
    mutating func forgetElsewhere(_ user: UserID) {
        people[user]?.isElsewhere = false
        if people[user]?.isHere == false { forget(user) }
    }

    /// Somebody is connected to this server no more.
    mutating func forgetHere(_ user: UserID) {
        guard people[user]?.isHere == true else { return }
        people[user]?.isHere = false
        countHere -= 1
        if people[user]?.isElsewhere == false { forget(user) }
    }

    /// Somebody is in the workspace no more, or connected to no server.
    mutating func forget(_ user: UserID) {
        for channel in people[user]?.channels ?? [] { take(user, outOf: channel) }
        if people.removeValue(forKey: user)?.isHere == true { countHere -= 1 }
    }

    private mutating func take(_ user: UserID, outOf channel: ChannelID) {
        members[channel]?.remove(user)
        if members[channel]?.isEmpty == true { members[channel] = nil }
    }

    private mutating func setPresence(_ presence: ChatTransaction.Presence, of user: UserID) {
        for channel in (people[user]?.channels ?? []).subtracting(presence.channels) { take(user, outOf: channel) }
        for channel in presence.channels { members[channel, default: []].insert(user) }
        var person = people[user] ?? Person(role: presence.role, channels: [], isHidden: false)
        (person.role, person.channels, person.isHidden) = (presence.role, presence.channels, presence.isHidden)
        people[user] = person
    }

    /// Not for who is in the channel, and gets everything anyway, nor for who has left the workspace or has become a
    /// guest since they asked.
    ///
    /// - Parameter sequence: the newest event when they asked. It may not have been passed on yet, and is not for them.
    mutating func watch(
        _ channel: ChannelID, after sequence: Int64, _ connection: any RealtimeReceiver, of user: UserID
    ) {
        guard let person = people[user], person.role != .guest, !isMember(user, of: channel) else { return }
        guard watchers[channel]?.contains(where: { $0.receiver === connection }) != true else { return }
        watchers[channel, default: []].append((connection, sequence))
    }

    mutating func stopWatching(_ channel: ChannelID, _ connection: any RealtimeReceiver) {
        watchers[channel]?.removeAll { $0.receiver === connection }
        if watchers[channel]?.isEmpty == true { watchers[channel] = nil }
    }

    // MARK: Events

    /// What belongs to events that have been read together, as of the same moment.
    struct Surroundings: Sendable {
        /// Of each channel that somebody has come into or left.
        var members: [ChannelID: Set<UserID>] = [:]
        /// Of each connected person whose place has changed; nil for who is gone.
        var presences: [UserID: ChatTransaction.Presence?] = [:]
        /// Guests who may know of somebody.
        var acquainted: [UserID: Set<UserID>] = [:]

        /// Whether a connected person is in the workspace no more.
        func isGone(_ user: UserID) -> Bool {
            if case .some(.none) = presences[user] { true } else { false }
        }
    }

    /// Somebody whom a connected person may know from now on, and who is there, or may know no more.
    struct Sighting: Equatable {
        let reader: UserID
        let other: UserID
        let isOnline: Bool
    }

    /// What has changed who is where, before any of the events is passed on: who may see them is who may see them now.
    ///
    /// - Returns: whom guests, and who is none any more, see there for the first time or no more, in an order that is
    ///   always the same. To be told once the events are, for they say who is in which channel.
    @discardableResult
    mutating func update(_ surroundings: Surroundings) -> [Sighting] {
        let former = readers(of: surroundings).map { ($0, seen(by: $0)) }
        place(surroundings)
        return former.flatMap { reader, before in
            let now = seen(by: reader)
            // Of who has left the workspace there is an event.
            let lost = before.subtracting(now).filter { !surroundings.isGone($0) }
            // Who may come back is told of then.
            let found = now.subtracting(before).filter { people[$0]?.isOnline == true }
            return lost.sorted().map { Sighting(reader: reader, other: $0, isOnline: false) }
                + found.sorted().map { Sighting(reader: reader, other: $0, isOnline: true) }
        }
    }

    /// Who may know others than before: guests in whose channels something has changed, and who was or becomes one.
    private func readers(of surroundings: Surroundings) -> [UserID] {
        var readers: Set<UserID> = []
        for (channel, everybody) in surroundings.members {
            for user in (members[channel] ?? []).union(everybody) where people[user]?.role == .guest {
                readers.insert(user)
            }
        }
        for (user, presence) in surroundings.presences
        where people[user]?.role == .guest || presence?.role == .guest { readers.insert(user) }
        return readers.filter { !surroundings.isGone($0) && people[$0]?.connections.isEmpty == false }.sorted()
    }

    /// Which others are taken for online, as far as somebody may know.
    private func seen(by user: UserID) -> Set<UserID> {
        guard let reader = people[user] else { return [] }
        let known =
            reader.role == .guest
            ? reader.channels.reduce(into: Set<UserID>()) { $0.formUnion(members[$1] ?? []) } : Set(people.keys)
        return known.filter { $0 != user && people[$0]?.isShown == true }
    }

    private mutating func place(_ surroundings: Surroundings) {
        for (channel, everybody) in surroundings.members {
            for user in (members[channel] ?? []).subtracting(everybody) {
                take(user, outOf: channel)
                people[user]?.channels.remove(channel)
            }
            for (user, person) in people where everybody.contains(user) {
                members[channel, default: []].insert(user)
                people[user]?.channels.insert(channel)
                // Who is in it gets everything anyway.
                for connection in person.connections { stopWatching(channel, connection) }
            }
        }
        for (user, presence) in surroundings.presences {
            guard let person = people[user] else { continue }
            if presence == nil || presence?.role == .guest {
                // They see public channels no more.
                for connection in person.connections {
                    for channel in watchers.keys { stopWatching(channel, connection) }
                }
            }
            if let presence { setPresence(presence, of: user) }
        }
    }

    /// Passes an event on to who may see it.
    mutating func deliver(_ event: StoredEvent, _ surroundings: Surroundings) {
        sequence = max(sequence, event.sequence)
        let gone = Self.departed(event, surroundings)
        var broadcast = WebSocketBroadcast(WebSocketMessage(text: event.json))
        switch event.audience {
        case .everybody: for person in people.values { Self.send(&broadcast, to: person) }
        case .members:
            // A guest who goes is told with the members: the event for them alone comes when they are forgotten.
            for (user, person) in people where person.role != .guest || user == gone {
                Self.send(&broadcast, to: person)
            }
        case .user(let user): if let person = people[user] { Self.send(&broadcast, to: person) }
        case .channel(let channel): send(&broadcast, toChannel: channel, of: event.sequence)
        case .about(let subject):
            let acquainted = surroundings.acquainted[subject] ?? []
            for (user, person) in people where person.role != .guest || user == subject || acquainted.contains(user) {
                Self.send(&broadcast, to: person)
            }
        }
        broadcast.send()
        // Who is gone has been told.
        if let gone { forget(gone) }
    }

    /// Who has gone with this event for good; nil when it tells of nobody's going, or they are back already.
    private static func departed(_ event: StoredEvent, _ surroundings: Surroundings) -> UserID? {
        guard event.kind == .memberLeft, let user = event.user, surroundings.isGone(user) else { return nil }
        return user
    }

    /// - Parameter except: gets nothing.
    func send(_ frame: [UInt8], toChannel channel: ChannelID, except user: UserID? = nil) {
        var broadcast = WebSocketBroadcast(WebSocketMessage(frame, isText: true))
        send(&broadcast, toChannel: channel, except: user)
        broadcast.send()
    }

    /// - Parameter sequence: the event's; what is none is for all who look on now.
    private func send(
        _ broadcast: inout WebSocketBroadcast, toChannel channel: ChannelID, of sequence: Int64 = .max,
        except user: UserID? = nil
    ) {
        for member in members[channel] ?? [] where member != user {
            if let person = people[member] { Self.send(&broadcast, to: person) }
        }
        for watcher in watchers[channel] ?? [] where sequence > watcher.after { watcher.receiver.take(&broadcast) }
    }

    private static func send(_ broadcast: inout WebSocketBroadcast, to person: Person) {
        for connection in person.connections { connection.take(&broadcast) }
    }

    private static func send(_ frame: [UInt8], to person: Person) {
        for connection in person.connections { connection.send(frame) }
    }

    /// All events up to a number are passed on, or are of no interest.
    mutating func advance(to sequence: Int64) { self.sequence = max(self.sequence, sequence) }

    // MARK: Who is there

    func isMember(_ user: UserID, of channel: ChannelID) -> Bool { members[channel]?.contains(user) == true }

    /// - Parameter frame: tells whether the other one is there.
    func tell(_ sighting: Sighting, _ frame: [UInt8]) {
        if let person = people[sighting.reader] { Self.send(frame, to: person) }
    }

    /// Who has begun to hide, or shows themselves, since then, and whether they are there: who may know is to be told.
    ///
    /// - Parameter hidden: whether each hid then.
    func changed(since hidden: [UserID: Bool]) -> [UserID: Bool] {
        var changed: [UserID: Bool] = [:]
        for (user, wasHidden) in hidden {
            guard let person = people[user], person.isHidden != wasHidden else { continue }
            // Who hides while they may come back was still shown.
            if person.isConnected || person.isHidden && person.isHere { changed[user] = person.isOnline }
        }
        return changed
    }

    /// Tells those who may know whether somebody is there.
    func tellPresence(of user: UserID, _ frame: [UInt8]) {
        guard let subject = people[user] else { return }
        for (other, person) in people where other != user && person.mayKnow(subject) { Self.send(frame, to: person) }
    }

    /// Who is there, as far as somebody may know.
    func online(visibleTo user: UserID) -> [UserID] {
        guard let reader = people[user] else { return [] }
        return people.filter { other, person in person.isOnline && (other == user || reader.mayKnow(person)) }.keys
            .sorted()
    }
}
