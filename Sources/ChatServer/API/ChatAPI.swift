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

    /// Every route that there is.
    var routes: [Route] {
        accountRoutes + userRoutes + workspaceRoutes + invitationRoutes + channelRoutes + messageRoutes + searchRoutes
            + callRoutes + deviceRoutes + fileRoutes + avatarRoutes + threadRoutes
    }

    /// Sends a letter without making anybody wait for it, so that nobody can tell by the time whether there was one.
    func post(_ mail: Mail) {
        Task {
            do {
                try await mailer.send(mail)
            } catch {
                logger.error("a letter could not be sent", metadata: ["error": "\(error)"])
            }
        }
    }
}
