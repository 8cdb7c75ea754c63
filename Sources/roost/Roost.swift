internal import ArgumentParser
internal import Foundation

/// The `roost` command. One file a subcommand; each builds its graph and runs it.
struct Roost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roost",
        abstract: "Team chat and calling that you host yourself.",
        discussion: """
            Start the server with 'roost serve' and open http://localhost:8080, or place a call from here with \
            'roost call'. 'roost demo' does both and checks every frame. 'roost join' is a participant of a room of \
            LiveKit's protocol, here or on any server of it.
            """,
        version: "0.1.0",
        subcommands: [Serve.self, Config.self, Admin.self, Call.self] + watching
            + [Join.self, Demo.self, Token.self, Thumbnail.self]
    )

    #if os(Linux)
        private static let watching: [any ParsableCommand.Type] = [Watch.self]
    #else
        // It records coded frames, which libwebrtc does not give.
        private static let watching: [any ParsableCommand.Type] = []
    #endif
}

@main
enum Main {
    /// Ends without the C library's goodbyes, which put away what other threads still use: now and then a server
    /// crashed at its end, in a query of which nobody waited for the answer any more.
    static func main() async {
        Lifeline.holdIfAsked()
        Console.prepare()
        let settings = serveSettings()
        do {
            let arguments = settings.map { ["serve"] + $0.arguments } ?? Array(CommandLine.arguments.dropFirst())
            try await run(Roost.asyncParseAsRoot(arguments))
            _exit(EXIT_SUCCESS)
        } catch {
            let status = Roost.exitCode(for: error)
            let message = Roost.fullMessage(for: error)
            switch status {
            case _ where message.isEmpty: break
            case .success: Console.say(message)
            default: Console.log(settings?.explained(message) ?? message)
            }
            _exit(status.rawValue)
        }
    }

    private static func run(_ command: any ParsableCommand) async throws {
        var command = command
        if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    }

    /// What the command line, the environment and a file say of `roost serve`; nil for other commands.
    private static func serveSettings() -> Settings? {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.first == "serve", !arguments.contains(where: { ["--help", "-h"].contains($0) }) else {
            return nil
        }
        do {
            return try Settings(Array(arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
        } catch let error as CommandError {
            Console.fail(error.description)
            _exit(error.status)
        } catch {
            return nil
        }
    }
}
