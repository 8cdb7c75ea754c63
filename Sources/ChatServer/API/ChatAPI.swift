internal import ChatCore
internal import ChatModel
internal import Logging

/// What all routes stand on.
struct ChatAPI: Sendable {
    let service: ChatService
    let tokens: AccessTokens
    let passwords: PasswordHasher
    let limits: RequestLimits
    let mailer: any Mailer
    let letters: Letters
    /// Nil where there are no rooms for calls.
    let callRooms: (any CallRooms)?
    let configuration: ChatServerConfiguration
    let logger: Logger
    /// Nil where nothing is pushed.
    var push: PushCenter?
    /// Nil on a server that takes no files.
    let files: ChatFiles?
    /// This server among others; nil where it is alone.
    let node: CallNode?
    let later = LaterWork()
    let searches = SearchTurns()
    let snippets = SnippetWork()

    /// Who of these people has a client connected.
    let connected: @Sendable (Set<UserID>) async -> Set<UserID>

    /// Every route that there is.
    var routes: [Route] {
        accountRoutes + userRoutes + workspaceRoutes + invitationRoutes + channelRoutes + messageRoutes + searchRoutes
            + callRoutes + deviceRoutes + fileRoutes + avatarRoutes + threadRoutes
    }

    /// Whom a text calls by `@here` in a channel: who is connected now. Nobody where it does not.
    func peopleCalled(by text: String, in channel: ChannelID) async throws -> Set<UserID> {
        guard MentionParser(text).isHere else { return [] }
        return await connected(try await service.read { try $0.members(of: channel) })
    }

    /// The same of a text that a message is to have.
    func peopleCalled(by text: String, in message: MessageID, of user: UserID) async throws -> Set<UserID> {
        // Who may not read it is refused by what follows.
        guard MentionParser(text).isHere,
            let channel = try? await service.read({ try $0.message(message, for: user).channelID })
        else { return [] }
        return try await peopleCalled(by: text, in: channel)
    }

    /// Does something after the answer; the log tells what went wrong.
    func afterwards(_ failure: String, _ body: @escaping @Sendable () async throws -> Void) {
        later.begin {
            do {
                try await body()
            } catch {
                logger.error("\(failure)", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Sends a letter without making anybody wait for it, so that nobody can tell by the time whether there was one.
    func post(_ mail: Mail) {
        afterwards("a letter could not be sent") { try await mailer.send(mail) }
    }
}
