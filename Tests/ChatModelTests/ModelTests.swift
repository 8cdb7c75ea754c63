import Testing

@testable import ChatModel

/// The models as they stand in answers and requests.
@Suite struct ModelTests {
    /// Whether a value is this text, and the text the value.
    private static func check<Value: Codable & Equatable>(
        _ value: Value, is text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try json(value) == text, sourceLocation: sourceLocation)
        #expect(try decode(Value.self, text) == value, sourceLocation: sourceLocation)
    }

    @Test func `people`() throws {
        try Self.check(Sample.profile, is: Sample.profileText)
        try Self.check(
            Account(profile: Sample.profile, email: "ann@example.org", isEmailVerified: true, isServerOwner: false),
            is: #"{"email":"ann@example.org","is_email_verified":true,"is_server_owner":false,"profile":"#
                + Sample.profileText + "}")
        try Self.check(
            SessionInfo(
                id: Sample.id(9), device: "Phone", createdAt: Sample.at, lastUsedAt: Sample.later, isCurrent: true),
            is: #"{"created_at":"2026-11-23T16:40:07.250Z","device":"Phone","id":"# + Sample.text(9)
                + #","is_current":true,"last_used_at":"2026-11-23T16:40:08.000Z"}"#)
    }

    @Test func `what logging in gives`() throws {
        let account = Account(
            profile: Sample.profile, email: "ann@example.org", isEmailVerified: false, isServerOwner: true)
        try Self.check(
            TokenPair(accessToken: "a.b", expiresIn: 900, refreshToken: "r", account: account),
            is: #"{"access_token":"a.b","account":{"email":"ann@example.org","is_email_verified":false,"#
                + #""is_server_owner":true,"profile":\#(Sample.profileText)},"expires_in":900,"refresh_token":"r"}"#)
    }

    @Test func `workspaces and their members`() throws {
        try Self.check(Sample.workspace, is: Sample.workspaceText)
        try Self.check(Sample.member, is: Sample.memberText)
        try Self.check(
            WorkspaceListing(workspace: Sample.workspace, role: .guest, sequence: 80, unreadThreads: 3),
            is: #"{"role":"guest","sequence":80,"unread_threads":3,"workspace":\#(Sample.workspaceText)}"#)
    }

    @Test func `threads that somebody follows`() throws {
        try Self.check(
            ThreadListing(message: Sample.message, lastReply: 9, lastRead: 7, unread: 2),
            is: #"{"last_read":7,"last_reply":9,"message":\#(Sample.messageText),"unread":2}"#)
        try Self.check(
            ThreadMark(threadID: Sample.id(4), channelID: Sample.id(3), lastRead: 7, isFollowing: true),
            is: #"{"channel_id":\#(Sample.text(3)),"is_following":true,"last_read":7,"thread_id":\#(Sample.text(4))}"#)
    }

    @Test func `invitations, whose secret and bounds may be missing`() throws {
        let link = Invitation(
            id: Sample.id(8), email: nil, role: .member, channelIDs: [], createdBy: Sample.id(1),
            createdAt: Sample.at, expiresAt: Sample.later, uses: 3, maximumUses: nil)
        let common =
            #""created_at":"2026-11-23T16:40:07.250Z","created_by":"# + Sample.text(1)
        try Self.check(
            link,
            is: #"{"channel_ids":[],"# + common + #","expires_at":"2026-11-23T16:40:08.000Z","id":"#
                + Sample.text(8) + #","role":"member","uses":3}"#)
        var letter = link
        letter.email = "ben@example.org"
        letter.role = .guest
        letter.channelIDs = [Sample.id(3)]
        letter.maximumUses = 1
        letter.token = "secret"
        try Self.check(
            letter,
            is: #"{"channel_ids":["# + Sample.text(3) + "]," + common
                + #","email":"ben@example.org","expires_at":"2026-11-23T16:40:08.000Z","id":"# + Sample.text(8)
                + #","maximum_uses":1,"role":"guest","token":"secret","uses":3}"#)
    }

    @Test func `channels with and without a name`() throws {
        try Self.check(Sample.channel, is: Sample.channelText)
        try Self.check(
            Channel(
                id: Sample.id(3), workspaceID: Sample.id(2), kind: .direct, name: nil,
                userIDs: [Sample.id(1), Sample.id(6)], createdBy: Sample.id(1), createdAt: Sample.at,
                updatedAt: Sample.at),
            is: #"{"created_at":"2026-11-23T16:40:07.250Z","created_by":"# + Sample.text(1) + #","id":"#
                + Sample.text(3) + #","is_archived":false,"kind":"direct","purpose":"","topic":"","#
                + #""updated_at":"2026-11-23T16:40:07.250Z","user_ids":["# + Sample.text(1) + "," + Sample.text(6)
                + #"],"version":1,"workspace_id":"# + Sample.text(2) + "}")
    }

    @Test func `a channel as somebody sees it who is in it, and who is not`() throws {
        var listing = ChannelListing(
            channel: Sample.channel, memberCount: 4, lastMessage: 12,
            membership: ChannelMembership(
                joinedAt: Sample.at, lastRead: 9, unread: 3, mentions: 1, notifications: .mentions))
        let membership =
            #"{"joined_at":"2026-11-23T16:40:07.250Z","last_read":9,"mentions":1,"notifications":"mentions","#
            + #""unread":3}"#
        try Self.check(
            listing,
            is: #"{"channel":"# + Sample.channelText + #","last_message":12,"member_count":4,"membership":"#
                + membership + "}")
        listing.membership = nil
        try Self.check(
            listing, is: #"{"channel":\#(Sample.channelText),"last_message":12,"member_count":4}"#)
        try Self.check(
            ReadMark(channelID: Sample.id(3), lastRead: 9), is: #"{"channel_id":\#(Sample.text(3)),"last_read":9}"#)
    }

    @Test func `messages with everything, and with nothing that may be missing`() throws {
        try Self.check(Sample.message, is: Sample.messageText)
        try Self.check(
            Message(
                id: Sample.id(4), workspaceID: Sample.id(2), channelID: Sample.id(3), user: Sample.profile,
                content: "", sequence: 12, createdAt: Sample.at, deletedAt: Sample.later),
            is: #"{"channel_id":"# + Sample.text(3) + #","content":"","created_at":"2026-11-23T16:40:07.250Z","#
                + #""deleted_at":"2026-11-23T16:40:08.000Z","files":[],"id":"# + Sample.text(4)
                + #","kind":"text","mentions":{"channel":false,"here":false,"user_ids":[]},"reactions":[],"#
                + #""reply_count":0,"sequence":12,"user":"# + Sample.profileText + #","version":1,"workspace_id":"#
                + Sample.text(2) + "}")
    }

    @Test func `a reaction counts who is in it`() {
        var reaction = Reaction(emoji: "👍", userIDs: [])
        #expect(reaction.count == 0)
        reaction.add(Sample.id(1))
        reaction.add(Sample.id(6))
        #expect(reaction == Reaction(emoji: "👍", userIDs: [Sample.id(1), Sample.id(6)]))
        #expect(reaction.count == 2)
    }

    @Test func `pages, and the cursors that lead on`() throws {
        try Self.check(
            Page([1, 2], before: Cursor("s1"), after: Cursor("s2")), is: #"{"after":"s2","before":"s1","items":[1,2]}"#)
        try Self.check(Page<Int>([]), is: #"{"items":[]}"#)
        #expect(try decode(Page<Int>.self, #"{"items":[3],"before":null,"after":null,"total":9}"#) == Page([3]))
    }

    @Test func `errors, with and without what they are about`() throws {
        try Self.check(
            ErrorBody(code: "invalid_name", message: "No.", field: "name"),
            is: #"{"error":{"code":"invalid_name","field":"name","message":"No."}}"#)
        try Self.check(
            ErrorBody(code: "outdated", message: "No."), is: #"{"error":{"code":"outdated","message":"No."}}"#)
    }

    @Test func `names in JSON are these`() {
        #expect(ChannelKind.allCases.map(\.rawValue) == ["public", "private", "direct", "group"])
        #expect(ChannelKind.allCases.map(\.isDirect) == [false, false, true, true])
        #expect(Role.allCases.map(\.rawValue) == ["owner", "admin", "member", "guest"])
        #expect(UserStatus.allCases.map(\.rawValue) == ["online", "away", "busy", "offline"])
        #expect(NotificationLevel.allCases.map(\.rawValue) == ["all", "mentions", "none"])
        #expect(MessageKind.allCases.map(\.rawValue) == ["text", "call", "system"])
    }

    @Test func `members that a newer server adds are passed over, and null is missing`() throws {
        let profile = Sample.profileText.dropLast() + #","pronouns":"she","avatar_url_2x":null}"#
        #expect(try decode(Profile.self, String(profile)) == Sample.profile)
        let bare = Sample.profileText.replacing(#""avatar_url":"/api/v1/avatars/x""#, with: #""avatar_url":null"#)
        var expected = Sample.profile
        expected.avatarURL = nil
        #expect(try decode(Profile.self, bare) == expected)
    }

    @Test func `without a member that has to be there, or with an unknown name, it cannot be read`() {
        let texts = [
            Sample.profileText.replacing(#""username":"ann""#, with: #""user":"ann""#),
            Sample.profileText.replacing(#""status":"busy""#, with: #""status":"asleep""#),
            Sample.profileText.replacing(#""is_deactivated":false"#, with: #""is_deactivated":0"#),
            Sample.profileText.replacing("2026-11-23T16:40:08.000Z", with: "2026-11-23"),
        ]
        for text in texts {
            #expect(text != Sample.profileText)
            #expect(throws: DecodingError.self) { try decode(Profile.self, text) }
        }
    }
}
