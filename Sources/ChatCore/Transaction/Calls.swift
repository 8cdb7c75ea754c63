package import ChatModel

/// Calls: starting them, coming, going, ringing. What a call is at a time follows from its participants
/// (`settle`); what carries its media is told by `CallEffects`, and tells by `CallRoomEvent`.
extension ChatTransaction {
    /// What somebody starts.
    package struct NewCall: Sendable {
        package var kind: CallKind
        package var media: CallMedia
        /// Who is rung; nil for everybody in direct and group messages, and for nobody in channels.
        package var ring: [UserID]?
        /// Its name where its media is carried, which nobody can guess.
        package var room: String
        /// Where that is; nil on a server that is alone, and for a cluster of LiveKit's.
        package var node: CallNode?

        package init(
            kind: CallKind, media: CallMedia, ring: [UserID]? = nil, room: String, node: CallNode? = nil
        ) {
            self.kind = kind
            self.media = media
            self.ring = ring
            self.room = room
            self.node = node
        }
    }

    /// Starts a call; in a channel where one goes on, comes into that one, so that two who call each other meet.
    ///
    /// - Returns: whether it is new.
    package func startCall(
        _ new: NewCall, in channel: ChannelID, by user: UserID
    ) throws -> (call: Call, isNew: Bool) {
        let place = try demand(.startCall, in: channel, by: user)
        if let running = try runningCall(in: channel) { return (try come(into: running, user), false) }
        let rung = try peopleToRing(new.ring, for: new.kind, in: place, by: user)
        let id: CallID = makeID()
        changes.tally.callsStarted += 1
        let (message, sequence) = try insertMessage(.call, in: place, by: user)
        try session.run(
            """
            INSERT INTO calls (id, workspace_id, channel_id, message_id, kind, media, room, started_by, started_at,
                node_id, node_url, version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)
            """, .id(id), .id(place.workspace), .id(channel), .id(message), .name(new.kind), .name(new.media),
            .text(new.room), .id(user), .time(now), .id(new.node?.id), .text(new.node?.url))
        try seat(user, in: id, as: .joined, until: new.kind == .room ? now.advanced(by: lifetimes.joiningCall) : nil)
        try ring(rung, in: id)
        try append(.messageSent(try self.message(message)), to: .channel(channel), in: place.workspace, as: sequence)
        let call = try call(id)
        try append(.callStarted(call), to: .channel(channel), in: place.workspace)
        return (call, true)
    }

    /// The call that goes on in a channel, or nil where somebody may start this one.
    package func runningCall(orMayStart new: NewCall, in channel: ChannelID, by user: UserID) throws -> Call? {
        let place = try demandToRead(.startCall, in: channel, by: user)
        if let running = try runningCall(in: channel) { return running }
        _ = try peopleToRing(new.ring, for: new.kind, in: place, by: user)
        return nil
    }

    /// - Throws: `ChatError` for a call that is over, and for a call between two that has both.
    package func joinCall(_ id: CallID, by user: UserID) throws -> Call {
        try come(into: try target(id, .startCall, by: user), user)
    }

    /// Goes; again is the same as once.
    package func leaveCall(_ id: CallID, by user: UserID) throws {
        let call = try target(id, .readChannel, by: user, isOverAllowed: true)
        guard call.endedAt == nil else { return }
        try leave(call, user)
    }

    /// To ring somebody and to hang up, over and over, is no less than to ring who says no. Between two alone, where it
    /// keeps nobody else from ringing them.
    private func noteHangingUp(_ call: Call, by user: UserID) throws {
        guard !call.wasAnswered, user == call.startedBy.id, try channel(call.channelID).kind == .direct else { return }
        for called in call.participants where called.state == .ringing {
            try noteDecline(by: called.user.id, in: call.channelID)
        }
    }

    /// Says no, on all devices.
    package func declineCall(_ id: CallID, by user: UserID) throws {
        let call = try target(id, .readChannel, by: user)
        switch call.participants.first(where: { $0.user.id == user })?.state {
        case .declined: return
        case .ringing: break
        case .joined, .left, .missed, nil:
            throw ChatError.conflict("not_ringing", "This call does not ring for you.")
        }
        try seat(user, in: id, as: .declined)
        changes.calls.silenced[id, default: [:]][user] = false
        try noteDecline(by: user, in: call.channelID)
        try settle(call)
    }

    /// Ends it for all.
    package func endCall(_ id: CallID, by user: UserID) throws -> Call {
        let call = try target(id, .endCall, by: user, isOverAllowed: true)
        guard call.endedAt == nil else { return call }
        try noteHangingUp(call, by: user)
        return try end(call, call.wasAnswered ? .completed : .cancelled)
    }

    /// Rings people of the channel, who were not rung before, or did not come.
    package func ringInCall(_ id: CallID, _ people: [UserID], by user: UserID) throws -> Call {
        let call = try target(id, .startCall, by: user)
        guard call.kind == .room else {
            throw ChatError.conflict("call_between_two", "Nobody else can come into a call between two.")
        }
        let place = try place(in: call.channelID, of: user)
        let away = try peopleToRing(people, for: call.kind, in: place, by: user).filter { person in
            !call.participants.contains { $0.user.id == person && ($0.state == .joined || $0.state == .ringing) }
        }
        guard !away.isEmpty else { return call }
        try ring(away, in: id)
        return try settle(call)
    }

    // MARK: What the media's server tells

    /// Somebody has come into a room or has gone, or a room is over. Told again, or late, it changes nothing.
    package func take(_ event: CallRoomEvent, of room: String) throws {
        guard var row = try session.row("SELECT id, workspace_id, kind FROM calls WHERE room = $1", .text(room)) else {
            return
        }
        let id: CallID = try row.id()
        try lock(try row.id())
        let call = try call(id)
        guard call.kind == .room else { return }
        guard call.endedAt == nil else {
            // Whoever comes with an old ticket finds nobody.
            if case .joined = event { changes.calls.endedRooms.insert(room) }
            return
        }
        switch event {
        case .joined(let user, let sid):
            guard try place(in: call.channelID, of: user).standing.isThere, try !profile(of: user).isDeactivated
            else {
                changes.calls.departures.insert(.init(room: room, user: user))
                return
            }
            let isNews = call.state(of: user) != .joined
            if call.state(of: user) == .ringing { changes.calls.silenced[id, default: [:]][user] = false }
            try seat(user, in: id, as: .joined, sid: sid)
            if isNews { try settle(call) }
        case .left(let user, let sid, let isFinal):
            // Of somebody who has come with another device since, the first one goes.
            guard
                var seat = try session.row(
                    """
                    SELECT sid, deadline FROM call_participants
                    WHERE call_id = $1 AND user_id = $2 AND state = 'joined'
                    """,
                    .id(id), .id(user)), try seat.textOrNull() == sid
            else { return }
            if let awaited = try seat.timeOrNull() {
                // With another device, for which there is time until then.
                try self.seat(user, in: id, as: .joined, until: awaited)
            } else if isFinal {
                try leave(call, user, isGone: true)
            } else {
                try self.seat(user, in: id, as: .joined, until: now.advanced(by: lifetimes.returningToCall))
            }
        case .finished:
            try noteHangingUp(call, by: call.startedBy.id)
            try end(call, call.wasAnswered ? .completed : .cancelled)
        }
    }

    /// Ends ringing that nobody has answered, and takes out who was to come and has not.
    ///
    /// - Returns: when there is more to look at; nil when nobody is waited for.
    package func expireCalls() throws -> Timestamp? {
        let due = try session.rows(
            """
            SELECT DISTINCT c.workspace_id, c.id FROM call_participants p JOIN calls c ON c.id = p.call_id
            WHERE p.deadline <= $1 ORDER BY c.workspace_id, c.id
            """, .time(now))
        for var row in due {
            try lock(try row.id())
            let call = try call(try row.id())
            let seats = try session.rows(
                "SELECT user_id, state, sid FROM call_participants WHERE call_id = $1 AND deadline <= $2", .id(call.id),
                .time(now))
            // Another server was first.
            guard !seats.isEmpty else { continue }
            for var seat in seats {
                let (user, state): (UserID, CallParticipantState) = (try seat.id(), try seat.name())
                if let sid = try seat.textOrNull() {
                    // No other device has come, and the one that is there stays.
                    try self.seat(user, in: call.id, as: .joined, sid: sid)
                    continue
                }
                try self.seat(user, in: call.id, as: state == .ringing ? .missed : .left)
                if state == .ringing { changes.calls.silenced[call.id, default: [:]][user] = true }
            }
            try settle(call)
        }
        guard
            var next = try session.row(
                "SELECT deadline FROM call_participants WHERE deadline IS NOT NULL ORDER BY deadline LIMIT 1")
        else { return nil }
        return try next.time()
    }

    /// Calls of these kinds that go on.
    ///
    /// - Parameter condition: in SQL, of the table's columns.
    package func runningCalls(
        _ kinds: [CallKind] = CallKind.allCases, where condition: String = "1 = 1", _ arguments: [SQLValue] = []
    ) throws -> [CallID] {
        try session.rows(
            "SELECT id FROM calls WHERE ended_at IS NULL AND \(condition) ORDER BY workspace_id, id", arguments
        ).compactMap { row in
            var row = row
            let call = try call(try row.id())
            return kinds.contains(call.kind) ? call.id : nil
        }
    }

    /// Ends those of these calls that go on: their server of media has forgotten them.
    ///
    /// - Parameter calls: in the order of `runningCalls`, which is the one in which workspaces are locked.
    package func failCalls(_ calls: [CallID]) throws {
        for id in calls {
            // It may have gone with its workspace.
            guard let known = try self.calls(where: "c.id = $1", .id(id)).first else { continue }
            try lock(known.workspaceID)
            let call = try call(id)
            if call.endedAt == nil { try end(call, .failed) }
        }
    }

    // MARK: Around calls

    /// Somebody is not in a channel any more, or not to be in a call for another reason.
    func leaveCalls(of user: UserID, in channel: ChannelID) throws {
        guard let call = try runningCall(in: channel) else { return }
        try leave(call, user)
    }

    /// The channel takes no more calls.
    func endCalls(in channel: ChannelID) throws {
        guard let call = try runningCall(in: channel) else { return }
        try end(call, call.wasAnswered ? .completed : .cancelled)
    }

    /// Somebody has gone from all their devices, and with them from calls between two, which no server watches.
    package func leavePeerCalls(of user: UserID) throws {
        try leaveCalls(of: user, where: "c.kind = 'peer' AND p.state = 'joined'")
    }

    /// Somebody is in none of these calls any more.
    ///
    /// - Parameter condition: in SQL, of calls `c` and participants `p`; names its arguments from `$2` on.
    func leaveCalls(of user: UserID, where condition: String = "1 = 1", _ arguments: SQLValue...) throws {
        for var row in try session.rows(
            """
            SELECT c.workspace_id, c.id FROM call_participants p JOIN calls c ON c.id = p.call_id
            WHERE p.user_id = $1 AND (p.state = 'joined' OR p.state = 'ringing') AND c.ended_at IS NULL
                AND \(condition)
            ORDER BY c.workspace_id, c.id
            """, [.id(user)] + arguments)
        {
            try lock(try row.id())
            let call = try call(try row.id())
            if call.endedAt == nil { try leave(call, user) }
        }
    }

    // MARK: Steps

    private func come(into call: Call, _ user: UserID) throws -> Call {
        let others = call.participants.count { $0.state == .joined && $0.user.id != user }
        guard call.kind == .room || others < 2 else {
            throw ChatError.conflict("call_full", "This is a call between two, and both are there.")
        }
        let former = call.state(of: user)
        if former == .ringing { changes.calls.silenced[call.id, default: [:]][user] = false }
        // Who comes with another device is awaited, and in the call by the first one until then.
        var sid: String?
        if former == .joined,
            var seat = try session.row(
                "SELECT sid FROM call_participants WHERE call_id = $1 AND user_id = $2", .id(call.id), .id(user))
        {
            sid = try seat.textOrNull()
        }
        try seat(
            user, in: call.id, as: .joined, sid: sid,
            until: call.kind == .room ? now.advanced(by: lifetimes.joiningCall) : nil)
        return former == .joined ? call : try settle(call)
    }

    /// - Parameter isGone: from the room of media as well.
    private func leave(_ call: Call, _ user: UserID, isGone: Bool = false) throws {
        let state = call.state(of: user)
        guard state == .joined || state == .ringing else { return }
        try noteHangingUp(call, by: user)
        try seat(user, in: call.id, as: state == .joined ? .left : .missed)
        if state == .ringing { changes.calls.silenced[call.id, default: [:]][user] = false }
        if call.kind == .room, !isGone { changes.calls.departures.insert(.init(room: call.room, user: user)) }
        try settle(call)
    }

    private func ring(_ people: [UserID], in id: CallID) throws {
        let end = now.advanced(by: lifetimes.ringing)
        for person in people { try seat(person, in: id, as: .ringing, until: end) }
        if !people.isEmpty { changes.calls.rings[id, default: []].formUnion(people) }
    }

    /// Writes where somebody is in a call.
    ///
    /// - Parameters:
    ///   - sid: LiveKit's name of their connection.
    ///   - deadline: when this is over unless something else happens.
    private func seat(
        _ user: UserID, in id: CallID, as state: CallParticipantState, sid: String? = nil,
        until deadline: Timestamp? = nil
    ) throws {
        try session.run(
            """
            INSERT INTO call_participants (call_id, user_id, place, state, joined_at, sid, deadline)
            VALUES ($1, $2, (SELECT COUNT(*) FROM call_participants WHERE call_id = $1), $3, $4, $5, $6)
            ON CONFLICT (call_id, user_id) DO UPDATE SET state = excluded.state, sid = excluded.sid,
                deadline = excluded.deadline,
                joined_at = CASE WHEN excluded.state = 'joined' AND call_participants.state <> 'joined'
                    THEN excluded.joined_at ELSE call_participants.joined_at END,
                left_at = CASE WHEN excluded.state = 'left' THEN $7
                    WHEN excluded.state = 'joined' THEN NULL ELSE call_participants.left_at END
            """, .id(id), .id(user), .name(state), state == .joined ? .time(now) : .null, .text(sid),
            .time(deadline), state == .left ? .time(now) : .null)
        if let deadline { changes.calls.wait(until: deadline) }
    }

    /// Tells of a change, and ends a call that is over by it: one in which nobody is and nobody is rung, one whose
    /// caller goes before anybody answers, and one between two of whom one is left alone.
    @discardableResult
    private func settle(_ former: Call) throws -> Call {
        let call = try call(former.id)
        guard call.endedAt == nil else { return call }
        let here = call.participants.filter { $0.state == .joined }
        let isRinging = call.participants.contains { $0.state == .ringing }
        if here.isEmpty, call.wasAnswered || !isRinging { return try end(call, call.outcome) }
        if !call.wasAnswered {
            let callerIsHere = here.contains { $0.user.id == call.startedBy.id }
            if !callerIsHere { return try end(call, .cancelled) }
            let wasRung = call.participants.contains { $0.state == .declined || $0.state == .missed }
            if wasRung, !isRinging, try channel(call.channelID).kind.isDirect { return try end(call, call.outcome) }
        } else if here.count == 1, !isRinging, try channel(call.channelID).kind == .direct {
            return try end(call, .completed)
        }
        return try tell(call) { .callUpdated($0) }
    }

    @discardableResult
    private func end(_ call: Call, _ reason: CallEndReason) throws -> Call {
        try session.run(
            "UPDATE calls SET ended_at = $2, end_reason = $3 WHERE id = $1", .id(call.id), .time(now), .name(reason))
        for participant in call.participants {
            let user = participant.user.id
            switch participant.state {
            case .joined: try seat(user, in: call.id, as: .left)
            case .ringing:
                try seat(user, in: call.id, as: .missed)
                changes.calls.silenced[call.id, default: [:]][user] = true
            case .left, .declined, .missed: break
            }
        }
        if call.kind == .room { changes.calls.endedRooms.insert(call.room) }
        changes.tally.callsEnded[reason, default: 0] += 1
        return try tell(call) { .callEnded($0) }
    }

    private func tell(_ call: Call, _ change: (Call) -> ChatChange) throws -> Call {
        try session.run("UPDATE calls SET version = version + 1 WHERE id = $1", .id(call.id))
        let changed = try self.call(call.id)
        try append(change(changed), to: .channel(call.channelID), in: call.workspaceID)
        return changed
    }

    /// Who is rung, of those who are in the channel: others are absent.
    private func peopleToRing(
        _ people: [UserID]?, for kind: CallKind, in place: ChannelPlace, by user: UserID
    ) throws -> [UserID] {
        let isDirect = place.standing.channel?.kind.isDirect == true
        var rung = people ?? []
        if people == nil, isDirect { rung = try channel(place.channel).userIDs }
        rung = Array(Set(rung).subtracting([user])).sorted()
        guard rung.count <= limits.peopleRung else {
            throw ChatError.invalid("ring", "At most \(limits.peopleRung) people are rung at a time.")
        }
        guard kind == .room || rung.count <= 1 else {
            throw ChatError.invalid("kind", "A call of the kind peer is between two.")
        }
        let there = try rung.filter { person in
            let standing = try self.place(in: place.channel, of: person).standing
            guard standing.channel?.isMember == true else { throw ChatError.notFound("user") }
            let isThere = try standing.isThere && !profile(of: person).isDeactivated
            if !isThere, people != nil { throw ChatError.notFound("user") }
            return isThere
        }
        return try withoutDecliners(there, in: place.channel)
    }

    /// A call that somebody asks to change, if they may.
    private func target(
        _ id: CallID, _ permission: Permission, by user: UserID, isOverAllowed: Bool = false
    ) throws -> Call {
        guard var row = try session.row("SELECT workspace_id, channel_id FROM calls WHERE id = $1", .id(id)) else {
            throw ChatError.notFound("call")
        }
        try lock(try row.id())
        let place = try place(in: try row.id(), of: user)
        let call = try call(id)
        var standing = place.standing
        // Between two, each hangs up for both.
        standing.isOwn = call.startedBy.id == user || standing.channel?.kind == .direct
        try permission.check(standing, of: "call")
        guard isOverAllowed || call.endedAt == nil else { throw ChatError.callOver }
        return call
    }
}

/// What the server that carries a call's media tells of its room.
package enum CallRoomEvent: Sendable, Equatable {
    /// - Parameter sid: LiveKit's name of this connection, by which its end is known.
    case joined(UserID, sid: String)
    /// - Parameter isFinal: they have hung up, or were put out; otherwise they may come back.
    case left(UserID, sid: String, isFinal: Bool)
    case finished
}

extension Standing {
    /// Who is removed from a workspace stays one of those whose direct or group messages these are, and is not there.
    fileprivate var isThere: Bool { role != nil && channel?.isMember == true }
}

extension Call {
    func state(of user: UserID) -> CallParticipantState? { participants.first { $0.user.id == user }?.state }

    /// Somebody besides the caller has been there.
    var wasAnswered: Bool { participants.contains { $0.joinedAt != nil && $0.user.id != startedBy.id } }

    /// What it came to, once nobody is there.
    fileprivate var outcome: CallEndReason {
        if wasAnswered { return .completed }
        if participants.contains(where: { $0.state == .missed }) { return .missed }
        return participants.contains { $0.state == .declined } ? .declined : .cancelled
    }
}

extension ChatError {
    static let callOver = ChatError(.gone, code: "call_over", "This call is over.")
}
