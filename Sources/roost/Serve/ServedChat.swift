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
    private let mailer: any Mailer
    private let hasPublicURL: Bool
    private let closeDatabase: @Sendable () async -> Void
    /// Made just now: what is to be told once.
    let sample: SampleWorkspace?

    /// - Throws: `CommandError` where the folder or the database is of no use.
    static func start(
        _ options: ChatOptions, _ mail: MailOptions, push: APNsConfiguration?, files: FileOptions, nodes: NodeOptions,
        origins: [String], isSecure: Bool, rooms: CallsInRooms?, logger: Logger
    ) async throws -> ServedChat? {
        guard let folder = options.data else { return nil }
        let now: @Sendable () -> Timestamp = {
            Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)))
        }
        do {
            // Nobody else on the machine reads what people write.
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(
                FileManager.default.fileExists(atPath: folder)
                    ? "--data takes a folder, and \(folder) is a file."
                    : "The folder \(folder) cannot be made: \(error.localizedDescription)")
        }
        let mailer = try mail.mailer(now: now, logger: logger)
        do {
            let path = URL(filePath: folder, directoryHint: .isDirectory).appending(path: "chat.sqlite").path
            let database: any ChatDatabase
            let closeDatabase: @Sendable () async -> Void
            if let address = options.database {
                let postgres = try await PostgresChatDatabase(address, at: now())
                (database, closeDatabase) = (postgres, { await postgres.close() })
            } else {
                let file = try SQLiteChatDatabase(path: path, at: now())
                (database, closeDatabase) = (file, { try? file.close() })
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
            let sample = options.sample ? try await SampleWorkspace.make(in: service) : nil
            let server = try await ChatServer(
                configuration, service: service, mailer: mailer, rooms: rooms, logger: logger)
            return ServedChat(
                server: server, mailer: mailer, hasPublicURL: options.publicURL != nil,
                closeDatabase: closeDatabase, sample: sample)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The chat in \(folder) cannot be served: \(error)")
        }
    }

    /// The server listens: links lead to this port of this machine, unless something else was asked for.
    func listens(on port: Int, isSecure: Bool) {
        if !hasPublicURL { server.isReached(by: "\(isSecure ? "https" : "http")://localhost:\(port)") }
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
