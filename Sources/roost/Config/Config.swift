internal import ArgumentParser
internal import Foundation

/// `roost config`: what `roost serve` would do with the same options, environment and file, and why.
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the settings of 'roost serve', and where each comes from.",
        discussion: """
            Takes the options of 'roost serve'. They win over the environment, where ROOST_PUBLIC_URL is --public-url, \
            and the environment over the file of --config, which has 'public-url = https://chat.example.org' and the \
            like on its lines. Secrets are not printed.
            """)

    @Argument(parsing: .captureForPassthrough, help: "Options of 'roost serve'.")
    var options: [String] = []

    func run() throws {
        if options.contains(where: { ["--help", "-h"].contains($0) }) { throw CleanExit.helpRequest(Self.self) }
        try CommandError.reported {
            let environment = ProcessInfo.processInfo.environment
            let settings = try Settings(options, environment: environment)
            let command: any ParsableCommand
            do {
                command = try Roost.parseAsRoot(["serve"] + settings.arguments)
            } catch {
                throw CommandError(settings.explained(Roost.message(for: error)), status: 64)
            }
            if let serve = command as? Serve { try serve.livekit.checked(host: serve.host) }
            for setting in settings.settings {
                for value in setting.values {
                    Console.say(
                        "\(setting.definition.name) = \(setting.definition.shown(value.text))  (\(value.origin.place))")
                }
            }
            for name in Settings.secrets where !(environment[name] ?? "").isEmpty {
                Console.say("\(name) = \(SettingDefinition.hidden)  (the environment)")
            }
        }
    }
}
