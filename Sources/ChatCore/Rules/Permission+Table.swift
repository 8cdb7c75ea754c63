package import ChatModel

/// Who may do what. This is the only place that says so; `PermissionTableTests` has each row once allowed and once
/// refused for each of its reasons.
///
/// What is no row: whom one may remove, promote or invite (`Role.manages` and `Role.invites` below); whose files those
/// are that wait for a message (`ChatTransaction.file(_:for:)`). Lists and search ask `isSeen(by:)` in SQL: who is in
/// the channel, or it is public and they are no guest.
extension Permission {
    package var rule: Rule {
        switch self {
        case .createWorkspace: Rule(.everybody, in: .server, [.open])

        case .seeWorkspace: Rule(.everybody)
        case .changeWorkspace: Rule(.admins)
        case .deleteWorkspace: Rule(.owners)
        case .inviteMembers: Rule(.members)
        // Those of others: one's own are seen by who may make them.
        case .seeInvitations: Rule(.admins)
        case .revokeInvitation: Rule(.admins, orOwn: true)
        case .removeMembers: Rule(.admins)
        case .changeRoles: Rule(.admins)
        case .createPublicChannel: Rule(.members)
        case .createPrivateChannel: Rule(.members)
        case .startDirectMessage: Rule(.everybody)

        case .readChannel: Rule(.everybody, in: .seen)
        case .joinChannel: Rule(.members, in: .seen, [.named, .active])
        case .leaveChannel: Rule(.everybody, in: .joined, [.named])
        case .changeTopic: Rule(.members, in: .joined, [.named, .active])
        case .renameChannel: Rule(.admins, orOwn: true, in: .joined, [.named, .active])
        case .archiveChannel: Rule(.admins, orOwn: true, in: .joined, [.named, .active])
        case .restoreChannel: Rule(.admins, orOwn: true, in: .joined, [.named])
        case .addToChannel: Rule(.members, in: .joined, [.named, .active])
        case .removeFromChannel: Rule(.admins, orOwn: true, in: .joined, [.named])
        case .sendMessage: Rule(.everybody, in: .joined, [.active])
        case .mentionEverybody: Rule(.members, in: .joined, [.active])
        case .pinMessage: Rule(.everybody, in: .joined, [.active])
        case .uploadFile: Rule(.everybody, in: .joined, [.active])
        case .startCall: Rule(.everybody, in: .joined, [.active])
        case .endCall: Rule(.admins, orOwn: true, in: .joined)

        case .editMessage: Rule(.nobody, orOwn: true, in: .joined, [.active])
        case .deleteMessage: Rule(.admins, orOwn: true, in: .joined)
        case .react: Rule(.everybody, in: .joined, [.active])
        }
    }
}

/// A row of the table.
package struct Rule: Sendable, Equatable {
    package enum Place: Sendable {
        /// No workspace has to do with it, and no role.
        case server
        /// No channel has to do with it.
        case workspace
        /// A channel that whoever asks can see.
        case seen
        /// A channel that they are in.
        case joined
    }

    package enum Condition: Sendable {
        /// Not for direct and group messages.
        case named
        /// Not in an archived channel.
        case active
        /// Not where registration is closed, but for who owns the server: in a workspace of their own people invite
        /// whom they like.
        case open
    }

    /// Who may by their role.
    package let roles: Roles
    /// Who made the channel, the message or the invitation may, whatever their role.
    package let orOwn: Bool
    package let place: Place
    package let conditions: Set<Condition>

    init(_ roles: Roles, orOwn: Bool = false, in place: Place = .workspace, _ conditions: Set<Condition> = []) {
        self.roles = roles
        self.orOwn = orOwn
        self.place = place
        self.conditions = conditions
    }
}

package enum Roles: Sendable {
    case nobody, owners, admins, members, everybody

    /// Owners may what admins may, and so on down.
    package func contains(_ role: Role) -> Bool {
        switch self {
        case .nobody: false
        case .owners: role == .owner
        case .admins: role == .owner || role == .admin
        case .members: role != .guest
        case .everybody: true
        }
    }
}

extension Rule {
    /// What somebody cannot see is absent before anything else is looked at, so that no refusal tells of it.
    package func verdict(on standing: Standing) -> Verdict {
        if place == .server {
            guard let server = standing.server else { return .absent }
            return conditions.contains(.open) && !server.isOpen && !server.isOwner ? .refused(.closed) : .allowed
        }
        guard let role = standing.role else { return .absent }
        if place != .workspace {
            guard let channel = standing.channel, channel.isSeen(by: role) else { return .absent }
            if place == .joined, !channel.isMember { return .refused(.notInChannel) }
            if conditions.contains(.named), channel.kind.isDirect { return .refused(.direct) }
            if conditions.contains(.active), channel.isArchived { return .refused(.archived) }
        }
        if roles.contains(role) || orOwn && standing.isOwn { return .allowed }
        return .refused(orOwn ? .notOwn : .role)
    }
}

extension ChannelStanding {
    /// Public channels are there for all but guests, all others for who is in them.
    func isSeen(by role: Role) -> Bool { isMember || kind == .public && role != .guest }
}

extension Role {
    private var rank: Int {
        switch self {
        case .owner: 3
        case .admin: 2
        case .member: 1
        case .guest: 0
        }
    }

    /// Whether somebody of this role may remove somebody of the other, or give that role: owners anybody, admins
    /// whoever is below them.
    package func manages(_ other: Role) -> Bool { self == .owner || self == .admin && rank > other.rank }

    /// Whether somebody of this role may invite somebody as the other: nobody makes others more than they are.
    package func invites(as other: Role) -> Bool {
        self == .owner || self == .admin && other != .owner || self == .member && rank >= other.rank
    }
}
