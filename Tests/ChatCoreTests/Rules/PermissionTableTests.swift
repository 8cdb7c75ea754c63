import ChatModel
import Testing

@testable import ChatCore

/// Each row of `Permission+Table.swift`, written down once more: allowed once for each role that may, refused for each
/// of its reasons, and absent before anything else.
@Suite struct PermissionTableTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let permission: Permission
        /// Who may by their role.
        let roles: Set<Role>
        /// Whoever made it may.
        let own: Bool
        let place: Place
        /// What else it is refused for.
        let reasons: Set<Verdict.Refusal>

        enum Place: Sendable { case workspace, seen, joined }

        init(
            _ permission: Permission, _ roles: [Role], own: Bool = false, in place: Place = .workspace,
            not reasons: Set<Verdict.Refusal> = []
        ) {
            self.permission = permission
            self.roles = Set(roles)
            self.own = own
            self.place = place
            self.reasons = place == .joined ? reasons.union([.notInChannel]) : reasons
        }

        var testDescription: String { permission.rawValue }
        /// What a role that may not is told.
        var refusal: Verdict.Refusal { own ? .notOwn : .role }

        func verdict(
            _ role: Role?, _ kind: ChannelKind = .public, isMember: Bool = true, isArchived: Bool = false,
            isOwn: Bool = false
        ) -> Verdict {
            permission.rule.verdict(
                on: Standing(
                    role: role,
                    channel: place == .workspace
                        ? nil : ChannelStanding(kind: kind, isMember: isMember, isArchived: isArchived),
                    isOwn: isOwn))
        }

        /// What the role alone gives.
        func verdict(byRoleOf role: Role) -> Verdict { roles.contains(role) ? .allowed : .refused(refusal) }
    }

    private static let owner = [Role.owner]
    private static let admins = [Role.owner, .admin]
    private static let members = [Role.owner, .admin, .member]
    private static let everybody = [Role.owner, .admin, .member, .guest]

    static let rows = [
        Row(.seeWorkspace, everybody),
        Row(.changeWorkspace, admins),
        Row(.deleteWorkspace, owner),
        Row(.inviteMembers, members),
        Row(.seeInvitations, admins),
        Row(.revokeInvitation, admins, own: true),
        Row(.removeMembers, admins),
        Row(.changeRoles, admins),
        Row(.createPublicChannel, members),
        Row(.createPrivateChannel, members),
        Row(.startDirectMessage, everybody),

        Row(.readChannel, everybody, in: .seen),
        Row(.joinChannel, members, in: .seen, not: [.direct, .archived]),
        Row(.leaveChannel, everybody, in: .joined, not: [.direct]),
        Row(.changeTopic, members, in: .joined, not: [.direct, .archived]),
        Row(.renameChannel, admins, own: true, in: .joined, not: [.direct, .archived]),
        Row(.archiveChannel, admins, own: true, in: .joined, not: [.direct, .archived]),
        Row(.restoreChannel, admins, own: true, in: .joined, not: [.direct]),
        Row(.addToChannel, members, in: .joined, not: [.direct, .archived]),
        Row(.removeFromChannel, admins, own: true, in: .joined, not: [.direct]),
        Row(.sendMessage, everybody, in: .joined, not: [.archived]),
        Row(.mentionEverybody, members, in: .joined, not: [.archived]),
        Row(.pinMessage, everybody, in: .joined, not: [.archived]),
        Row(.uploadFile, everybody, in: .joined, not: [.archived]),
        Row(.startCall, everybody, in: .joined, not: [.archived]),
        Row(.endCall, admins, own: true, in: .joined),

        Row(.editMessage, [], own: true, in: .joined, not: [.archived]),
        Row(.deleteMessage, admins, own: true, in: .joined),
        Row(.react, everybody, in: .joined, not: [.archived]),
    ]

    /// No workspace has to do with it: who may by owning the server, and who besides where anybody may register.
    static let serverPermissions = [Permission.createWorkspace]

    static let channelRows = rows.filter { $0.place != .workspace }

    @Test func `there is one row for each permission`() {
        #expect(Self.serverPermissions + Self.rows.map(\.permission) == Permission.allCases)
    }

    @Test(arguments: serverPermissions)
    func `where registration is closed it is for who owns the server`(permission: Permission) {
        // Roles are of workspaces.
        for role in Role.allCases.map(Optional.some) + [nil] {
            for (isOwner, isOpen) in [(true, true), (true, false), (false, true), (false, false)] {
                let standing = Standing(role: role, server: ServerStanding(isOwner: isOwner, isOpen: isOpen))
                let expected: Verdict = isOwner || isOpen ? .allowed : .refused(.closed)
                #expect(permission.rule.verdict(on: standing) == expected, "\(isOwner), \(isOpen)")
            }
            #expect(permission.rule.verdict(on: Standing(role: role)) == .absent)
        }
    }

    @Test(arguments: rows)
    func `each role that may is allowed, and each other refused`(row: Row) {
        for role in Role.allCases {
            #expect(row.verdict(role) == row.verdict(byRoleOf: role), "\(role)")
        }
    }

    @Test(arguments: rows)
    func `who made it may in any role, where the row says so`(row: Row) {
        for role in Role.allCases {
            #expect(row.verdict(role, isOwn: true) == (row.own ? .allowed : row.verdict(byRoleOf: role)), "\(role)")
        }
    }

    @Test(arguments: channelRows)
    func `whoever sees a channel and is not in it is told to join, where one has to be in it`(row: Row) {
        for role in [Role.owner, .admin, .member] {
            for isOwn in [false, true] {
                let expected: Verdict =
                    row.reasons.contains(.notInChannel)
                    ? .refused(.notInChannel) : row.verdict(byRoleOf: role)
                #expect(row.verdict(role, isMember: false, isOwn: isOwn) == expected, "\(role)")
            }
        }
    }

    @Test(arguments: channelRows, [ChannelKind.direct, .group])
    func `direct and group messages do not have what belongs to a name`(row: Row, kind: ChannelKind) {
        for role in Role.allCases {
            let expected: Verdict =
                row.reasons.contains(.direct) ? .refused(.direct) : row.verdict(byRoleOf: role)
            #expect(row.verdict(role, kind) == expected, "\(role)")
        }
        if row.reasons.contains(.direct) {
            #expect(row.verdict(.owner, kind, isArchived: true, isOwn: true) == .refused(.direct))
        }
    }

    @Test(arguments: channelRows, [ChannelKind.public, .private])
    func `an archived channel is only read, tidied and restored`(row: Row, kind: ChannelKind) {
        for role in Role.allCases {
            let expected: Verdict =
                row.reasons.contains(.archived) ? .refused(.archived) : row.verdict(byRoleOf: role)
            #expect(row.verdict(role, kind, isArchived: true) == expected, "\(role)")
        }
        if row.reasons.contains(.archived) {
            #expect(row.verdict(.owner, kind, isArchived: true, isOwn: true) == .refused(.archived))
        }
    }

    @Test(arguments: channelRows)
    func `a private channel is like a public one for who is in it`(row: Row) {
        for role in Role.allCases {
            #expect(row.verdict(role, .private) == row.verdict(byRoleOf: role), "\(role)")
        }
    }

    // MARK: Absent

    @Test(arguments: rows)
    func `everything is absent for who is not in the workspace`(row: Row) {
        for kind in ChannelKind.allCases {
            for (isMember, isArchived) in [(false, false), (false, true), (true, false), (true, true)] {
                let verdict = row.verdict(nil, kind, isMember: isMember, isArchived: isArchived, isOwn: true)
                #expect(verdict == .absent, "\(kind)")
            }
        }
    }

    @Test(arguments: channelRows)
    func `what is not public is absent for who is not in it, whatever else there is to say`(row: Row) {
        for role in Role.allCases {
            for kind in [ChannelKind.private, .direct, .group] {
                for isArchived in [false, true] {
                    let verdict = row.verdict(role, kind, isMember: false, isArchived: isArchived, isOwn: true)
                    #expect(verdict == .absent, "\(role), \(kind)")
                }
            }
        }
    }

    @Test(arguments: channelRows)
    func `a public channel is absent for a guest who is not in it`(row: Row) {
        for isArchived in [false, true] {
            #expect(row.verdict(.guest, isMember: false, isArchived: isArchived, isOwn: true) == .absent)
        }
    }

    @Test(arguments: channelRows)
    func `without a channel there is nothing to be allowed in it`(row: Row) {
        for role in Role.allCases {
            #expect(row.permission.rule.verdict(on: Standing(role: role, isOwn: true)) == .absent, "\(role)")
        }
    }

    // MARK: Answers

    @Test(
        arguments: [
            (.role, .forbidden, "role_required"), (.notOwn, .forbidden, "not_yours"),
            (.notInChannel, .forbidden, "not_in_channel"), (.archived, .conflict, "channel_archived"),
            (.direct, .conflict, "direct_message"), (.closed, .forbidden, "server_owner_required"),
        ] as [(Verdict.Refusal, ChatError.Kind, String)])
    func `each refusal has its answer, and some row that gives it`(
        refusal: Verdict.Refusal, kind: ChatError.Kind, code: String
    ) {
        let error = ChatError(refusal)
        #expect((error.kind, error.code, error.field) == (kind, code, nil))
        #expect(
            refusal == .closed
                || Self.rows.contains { $0.reasons.contains(refusal) || $0.refusal == refusal })
    }

    @Test func `what is absent is answered as if it had never been there`() {
        let standing = Standing(
            role: .owner, channel: ChannelStanding(kind: .private, isMember: false, isArchived: true))
        #expect(throws: ChatError.notFound("channel")) { try Permission.readChannel.check(standing, of: "channel") }
        #expect(throws: ChatError.notFound("message")) { try Permission.react.check(standing, of: "message") }
        #expect(ChatError.notFound("channel").code == "channel_not_found")
    }

    @Test func `what is refused is answered with its reason, and what is allowed with nothing`() {
        let joined = ChannelStanding(kind: .public, isMember: true, isArchived: false)
        #expect(throws: ChatError(.role)) {
            try Permission.mentionEverybody.check(Standing(role: .guest, channel: joined), of: "channel")
        }
        #expect(throws: ChatError(.notOwn)) {
            try Permission.deleteMessage.check(Standing(role: .member, channel: joined), of: "message")
        }
        // Of what nobody else may do, nobody else is named.
        #expect(throws: ChatError.forbidden("not_yours", "Only who made it may do this.")) {
            try Permission.editMessage.check(Standing(role: .owner, channel: joined), of: "message")
        }
        #expect(throws: Never.self) {
            try Permission.editMessage.check(Standing(role: .guest, channel: joined, isOwn: true), of: "message")
        }
    }

    // MARK: Ranks

    @Test(
        arguments: [
            (.owner, [.owner, .admin, .member, .guest]), (.admin, [.member, .guest]), (.member, []), (.guest, []),
        ] as [(Role, [Role])])
    func `owners manage everybody, admins whoever is below them`(role: Role, managed: [Role]) {
        #expect(Role.allCases.filter(role.manages) == managed)
    }

    @Test(
        arguments: [
            (.owner, [.owner, .admin, .member, .guest]), (.admin, [.admin, .member, .guest]),
            (.member, [.member, .guest]), (.guest, []),
        ] as [(Role, [Role])])
    func `nobody makes others more than they are`(role: Role, invited: [Role]) {
        #expect(Role.allCases.filter(role.invites) == invited)
    }
}
