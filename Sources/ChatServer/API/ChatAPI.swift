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

    /// Every route that there is.
    var routes: [Route] {
        accountRoutes + userRoutes + workspaceRoutes + invitationRoutes + channelRoutes + messageRoutes + searchRoutes
            + callRoutes + deviceRoutes + fileRoutes + avatarRoutes + threadRoutes
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
