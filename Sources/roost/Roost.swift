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
    static func main() async {
        Lifeline.holdIfAsked()
        Console.prepare()
        await Roost.main(arguments())
    }

    /// With what the environment and a file say of `roost serve`.
    private static func arguments() -> [String] {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.first == "serve", !arguments.contains(where: { ["--help", "-h"].contains($0) }) else {
            return arguments
        }
        do {
            let given = Array(arguments.dropFirst())
            return try ["serve"] + Settings(given, environment: ProcessInfo.processInfo.environment).arguments
        } catch let error as CommandError {
            Console.fail(error.description)
            exit(error.status)
        } catch {
            return arguments
        }
    }
}
