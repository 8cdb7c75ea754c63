internal import ChatCore
internal import ChatModel
internal import ChatServer
internal import ChatStorePostgres
internal import ChatStoreSQLite
internal import Foundation
internal import Logging

/// The chat of `roost serve`: its folder, its database, its server.
struct ServedChat: Sendable {
    let server: ChatServer
    private let service: ChatService
    private let mailer: any Mailer
    private let hasPublicURL: Bool
    private let closeDatabase: @Sendable () async -> Void

    /// Opens it: requests can be answered, and of what the folder or the database had nothing has changed but for the
    /// tables that it lacked, its secret, the mark of its place, and the numbers of events where it was put back from a
    /// copy.
    ///
    /// - Throws: `CommandError` where the folder or the database is of no use.
    static func open(
        _ options: ChatOptions, _ mail: MailOptions, push: APNsConfiguration?, files: FileOptions, nodes: NodeOptions,
        origins: [String], isSecure: Bool, rooms: CallsInRooms?, logger: Logger
    ) async throws -> ServedChat? {
        guard let folder = options.data else { return nil }
        let now: @Sendable () -> Timestamp = {
            Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)))
        }
        // Nobody else on the machine reads what people write.
        if let reason = Folder.make(folder) {
            throw CommandError(
                FileManager.default.fileExists(atPath: folder)
                    ? "--data takes a folder, and \(folder) is a file."
                    : "The folder \(folder) cannot be made: \(reason).")
        }
        let mailer = try mail.mailer(now: now, logger: logger)
        // A folder beside a database of several servers may be all of theirs.
        let lock = options.database == nil ? try FolderLock.take(folder) : nil
        var isOpen = false
        defer { if !isOpen { lock?.release() } }
        do {
            let path = URL(filePath: folder, directoryHint: .isDirectory).appending(path: "chat.sqlite").path
            let database: any ChatDatabase
            let closeDatabase: @Sendable () async -> Void
            if let address = options.database {
                let postgres = try await PostgresChatDatabase(address, at: now())
                (database, closeDatabase) = (postgres, { await postgres.close() })
            } else {
                let file = try SQLiteChatDatabase(path: path, at: now())
                (database, closeDatabase) = (
                    file,
                    {
                        try? file.close()
                        lock?.release()
                    }
                )
            }
            var configuration = ChatServerConfiguration()
            configuration.isRegistrationOpen = options.registration
            configuration.serverURL = options.publicURL ?? configuration.serverURL
            configuration.publicURL = options.publicURL
            configuration.lifetimes.ringing = options.ringTime.duration
            configuration.passwordCost = options.passwordCost
            if options.passwordCost < ChatServerConfiguration.usualPasswordCost {
                logger.warning(
                    "passwords are easy to guess for who has the database: --password-cost is for tests",
                    metadata: ["password-cost": "\(options.passwordCost)"])
            }
            configuration.isSecure = isSecure
            configuration.origins = Set(origins)
            configuration.push = push
            try files.apply(to: &configuration, folder: folder, now: now)
            configuration.nodes = try await nodes.configuration(logger: logger)
            let service = ChatService(
                database: database, limits: configuration.limits, lifetimes: configuration.lifetimes, now: now)
            let server = try await ChatServer(
                configuration, service: service, mailer: mailer, rooms: rooms, logger: logger)
            isOpen = true
            return ServedChat(
                server: server, service: service, mailer: mailer, hasPublicURL: options.publicURL != nil,
                closeDatabase: closeDatabase)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The chat in \(folder) cannot be served: \(error)")
        }
    }

    /// The server listens here: links lead there, unless something else was asked for.
    func listens(on url: String) { if !hasPublicURL { server.isReached(by: url) } }

    /// The server has all its ports: calls of an earlier process end, and others hear that there is one more server.
    ///
    /// - Returns: what is to be told once, of a sample that was asked for and made.
    /// - Throws: `CommandError` where the database is of no use.
    func begin(makesSample: Bool) async throws -> SampleWorkspace? {
        do {
            try await server.start()
            return makesSample ? try await SampleWorkspace.make(in: service) : nil
        } catch {
            throw CommandError("The chat cannot be served: \(error)")
        }
    }

    /// Says goodbye to who is connected.
    func goDown() async { await server.goDown() }

    /// After the HTTP server has ended, and with it all that was asked for.
    func stop() async {
        await server.stop()
        await mailer.stop()
        await closeDatabase()
    }
}
