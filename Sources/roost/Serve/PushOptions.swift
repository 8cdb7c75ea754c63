internal import ArgumentParser
internal import ChatServer
internal import Foundation

/// Whether and how the chat reaches devices of Apple's.
struct PushOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Push notifications, with this private key of Apple's push service (.p8).", valueName: "file"))
    var apnsKey: String?

    @Option(help: ArgumentHelp("The key's identifier at Apple.", valueName: "id"))
    var apnsKeyID: String?

    @Option(help: ArgumentHelp("The developer team's identifier at Apple.", valueName: "id"))
    var apnsTeamID: String?

    @Option(
        help: ArgumentHelp(
            "The bundle identifier of an app that is pushed to; may be repeated.", valueName: "bundle-id"))
    var apnsTopic: [String] = []

    @Option(
        name: .customLong("apns-url"),
        help: ArgumentHelp("Another service than Apple's two: https://HOST:PORT.", valueName: "url"))
    var apnsURL: String?

    @Option(
        name: .customLong("apns-ca"),
        help: ArgumentHelp("Certificates (PEM) by which that service is known.", valueName: "file"))
    var apnsCA: String?

    func validate() throws {
        let isComplete = apnsKey != nil && apnsKeyID != nil && apnsTeamID != nil && !apnsTopic.isEmpty
        let isEmpty = apnsKey == nil && apnsKeyID == nil && apnsTeamID == nil && apnsTopic.isEmpty
        guard isComplete || isEmpty && apnsURL == nil && apnsCA == nil else {
            throw ValidationError("--apns-key, --apns-key-id, --apns-team-id and --apns-topic belong together.")
        }
        let isName = { (text: String) in
            (1...32).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    Character(Unicode.Scalar(byte)).isASCII
                        && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
                }
        }
        for (name, value) in [("--apns-key-id", apnsKeyID), ("--apns-team-id", apnsTeamID)] {
            guard value.map(isName) ?? true else {
                throw ValidationError("\(name) takes letters and digits, as Apple's page shows them.")
            }
        }
        if let apnsURL, !apnsURL.hasPrefix("https://") || apnsURL.hasSuffix("/") {
            throw ValidationError("--apns-url takes a URL such as https://localhost:8443, without a last '/'.")
        }
    }

    /// Nil where nothing is to be pushed.
    func configuration() throws(CommandError) -> APNsConfiguration? {
        guard let apnsKey, let apnsKeyID, let apnsTeamID else { return nil }
        guard let key = try? String(contentsOfFile: apnsKey, encoding: .utf8) else {
            throw CommandError("The key \(apnsKey) cannot be read.")
        }
        return APNsConfiguration(
            key: key, keyID: apnsKeyID, teamID: apnsTeamID, topics: Set(apnsTopic), url: apnsURL,
            certificatesFile: apnsCA)
    }
}
