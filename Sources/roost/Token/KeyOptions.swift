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

    func key() throws -> APIKey {
        do {
            return try APIKey(
                try value(apiKey, option: "--api-key", variable: "LIVEKIT_API_KEY"),
                secret: try value(apiSecret, option: "--api-secret", variable: "LIVEKIT_API_SECRET"),
                allowsShortSecret: allowShortSecret)
        } catch let problem as APIKeyProblem {
            throw CommandError(problem.description)
        }
    }

    private func value(_ given: String?, option: String, variable: String) throws -> String {
        if let given { return given }
        if let found = ProcessInfo.processInfo.environment[variable], !found.isEmpty { return found }
        throw CommandError("There is no API key to sign with: give \(option), or set \(variable) in the environment.")
    }
}
