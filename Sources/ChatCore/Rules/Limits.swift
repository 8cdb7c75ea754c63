/// What a server takes at most. Lengths of texts are in characters as people count them, and in bytes at most four
/// times that.
package struct Limits: Sendable, Equatable {
    package var messageLength = 12_000
    package var filesOfMessage = 10
    package var emojiOfMessage = 50
    package var channelNameLength = 80
    package var topicLength = 250
    package var displayNameLength = 80
    package var statusTextLength = 100
    package var usernameLength = 32
    package var passwordLength = 8...256
    package var peopleOfGroup = 9
    /// Who is rung at a time.
    package var peopleRung = 50
    /// Those that have a name.
    package var channelsOfWorkspace = 10_000
    /// Direct and group messages that one person has begun in a workspace.
    package var conversationsOfPerson = 2_000
    package var workspacesOfUser = 100
    /// Invitations to a workspace that one person has made and that still work.
    package var invitationsOfPerson = 100
    /// On how many devices one person is logged in; who comes beyond that ends the session that was not used for
    /// longest.
    package var sessionsOfUser = 100
    /// Links by which somebody chooses a new password, until one is used; the oldest makes room for the next. More than
    /// one address can ask for while a link is good.
    package var resetLinks = 20
    package var pinsOfChannel = 100
    package var devicesOfUser = 20
    package var deviceNameLength = 80
    /// What a page of a list has at most, and if nobody asks for a number.
    package var pageLength = 200
    package var usualPageLength = 50
    /// Events that are kept of each workspace, for clients that come back.
    package var keptEvents: Int64 = 100_000
    /// Refresh tokens that are kept of a session after they were used: more than sixty days of a client that refreshes
    /// when its access token ends.
    package var formerTokens = 6_000
    /// The largest file, in bytes.
    package var fileSize: Int64 = 100 << 20
    /// The largest picture that somebody shows as themselves, in bytes.
    package var avatarSize: Int64 = 1 << 20
    /// What all files of a workspace have together, in bytes; nil without a limit.
    package var workspaceStorage: Int64?
    /// Of one person, at one time; the next one takes the place of the one that is idle for longest.
    package var openUploads = 20
    /// Media types (`application/x-msdownload`, `video/*`) and endings of names (`exe`) that are not taken, in lower
    /// case.
    package var refusedFileTypes: Set<String> = []

    package init() {}
}

/// How long things last.
package struct Lifetimes: Sendable, Equatable {
    package var accessToken = Duration.seconds(15 * 60)
    /// Of a session that nobody uses.
    package var session = Duration.seconds(60 * 86_400)
    /// A refresh token that was used may be used once more for so long, when its answer has not arrived.
    package var refreshGrace = Duration.seconds(60)
    package var emailVerification = Duration.seconds(3 * 86_400)
    /// Of what somebody has registered, while nobody confirms the address.
    package var registration = Duration.seconds(7 * 86_400)
    package var passwordReset = Duration.seconds(3_600)
    /// How long devices ring.
    package var ringing = Duration.seconds(45)
    /// Who has asked to come into a call's room, and is not there after this, is not in the call.
    package var joiningCall = Duration.seconds(60)
    /// Who is cut off from a call's room, and is not back after this, has left.
    package var returningToCall = Duration.seconds(20)
    package var invitation = Duration.seconds(14 * 86_400)
    /// Of an upload that does not end, and of a file that does not come into a message.
    package var upload = Duration.seconds(86_400)
    /// An upload that nothing was sent to for so long gives way to another one of the same person, when they have as
    /// many as they may.
    package var idleUpload = Duration.seconds(600)
    package var fileLink = Duration.seconds(5 * 60)

    package init() {}
}
