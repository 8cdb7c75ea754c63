internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol

/// The API key of the commands that sign or check.
struct KeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The API key's name. Default: LIVEKIT_API_KEY of the environment.", valueName: "name"))
    var apiKey: String?

    @Option(help: ArgumentHelp("Its secret. Default: LIVEKIT_API_SECRET of the environment.", valueName: "secret"))
    var apiSecret: String?

    @Flag(help: "Take a secret that is short enough to be guessed, as development servers have them.")
    var allowShortSecret = false

    @Flag(help: "The key of a development server, as 'roost serve --livekit-dev' is one: devkey and secret.")
    var livekitDev = false

    func validate() throws {
        if livekitDev, apiKey != nil || apiSecret != nil {
            throw ValidationError("--livekit-dev is a key: --api-key and --api-secret go without it.")
        }
    }

    func key() throws -> APIKey {
        do {
            if livekitDev { return try APIKey("devkey", secret: "secret", allowsShortSecret: true) }
            return try APIKey(
                try value(apiKey, option: "--api-key", variable: "LIVEKIT_API_KEY"),
                secret: try value(apiSecret, option: "--api-secret", variable: "LIVEKIT_API_SECRET"),
                allowsShortSecret: allowShortSecret)
        } catch let problem as APIKeyProblem {
            if case .shortSecret = problem {
                throw CommandError("\(problem.description) --allow-short-secret takes it all the same.")
            }
            throw CommandError(problem.description)
        }
    }

    private func value(_ given: String?, option: String, variable: String) throws -> String {
        if let given { return given }
        if let found = ProcessInfo.processInfo.environment[variable], !found.isEmpty { return found }
        throw CommandError(
            "There is no API key: give \(option), or set \(variable) in the environment. With --livekit-dev it is the one of a "
                + "development server.")
    }
}
