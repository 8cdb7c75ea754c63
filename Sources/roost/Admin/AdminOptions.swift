internal import ArgumentParser
internal import ChatCore
internal import ChatModel
internal import ChatServer
internal import ChatStorePostgres
internal import ChatStoreSQLite
internal import Foundation

/// Which chat is meant.
struct AdminOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder of 'roost serve --data'.", valueName: "folder"))
    var data: String?

    @Option(help: ArgumentHelp("The database of 'roost serve --database'.", valueName: "url"))
    var database: String?

    @Option(help: ArgumentHelp("The server as people reach it, for links.", valueName: "url"))
    var publicURL = "http://localhost:8080"

    @Flag(help: "Give the database the tables that this version needs. Only when no server of an older version runs.")
    var migrate = false

    func validate() throws {
        guard (data == nil) != (database == nil) else {
            throw ValidationError("Name either --data or --database: where the chat is.")
        }
        guard publicURL.hasPrefix("http://") || publicURL.hasPrefix("https://"), !publicURL.hasSuffix("/") else {
            throw ValidationError("--public-url takes a URL such as https://chat.example.org, without a last '/'.")
        }
    }

    /// Opens the database, does something with it, and closes it. What went wrong ends the process with a sentence.
    func run(_ body: (Administration) async throws -> Void) async throws {
        do {
            let now: @Sendable () -> Timestamp = {
                Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)))
            }
            let file = try data.map { try open($0, at: now()) }
            defer { try? file?.close() }
            let chat: any ChatDatabase
            if let file {
                chat = file
            } else {
                chat = try await PostgresChatDatabase(database ?? "", at: now(), migrates: migrate)
            }
            try await body(Administration(service: ChatService(database: chat, now: now), serverURL: publicURL))
        } catch let error as CommandError {
            Console.fail(error.description)
            throw ExitCode(error.status)
        } catch let error as ChatError {
            Console.fail(error.message)
            throw ExitCode(1)
        } catch let error as ImportFault {
            Console.fail(error.description)
            throw ExitCode(1)
        } catch let error as AdministrationFault {
            Console.fail(error.description)
            throw ExitCode(1)
        } catch let error where !(error is ExitCode) {
            Console.fail("The chat cannot be opened: \(error)")
            throw ExitCode(1)
        }
    }

    private func open(_ folder: String, at now: Timestamp) throws -> SQLiteChatDatabase {
        let path = URL(filePath: folder, directoryHint: .isDirectory).appending(path: "chat.sqlite").path
        // A slip in the name is not to make another chat.
        guard access(path, F_OK) == 0 else {
            throw CommandError(
                errno == ENOENT
                    ? "There is no chat in \(folder)."
                    : "\(path) cannot be looked at by user \(geteuid()): \(String(cString: strerror(errno))).")
        }
        return try SQLiteChatDatabase(path: path, at: now, migrates: migrate)
    }
}
