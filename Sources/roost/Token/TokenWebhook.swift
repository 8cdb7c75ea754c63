internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol

/// `roost token webhook`.
struct TokenWebhook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "Sign a webhook's body and print what belongs into its Authorization header.",
        discussion: """
            For trying out a program that takes webhooks. The token is good for five minutes, and for exactly these \
            bytes.

            Example:
              curl -H "Authorization: $(roost token webhook event.json)" -H "Content-Type: application/webhook+json" \\
                --data-binary @event.json https://example.org/webhook
            """
    )

    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("The file with the body, an event as JSON.", valueName: "file"))
    var body: String

    func run() async throws {
        try CommandError.reported {
            let key = try keyOptions.key()
            guard let bytes = try? Data(contentsOf: URL(filePath: body)) else {
                throw CommandError("\(body) cannot be read.")
            }
            guard let webhook = try? SignedWebhook(body: [UInt8](bytes), key: key, at: Date()) else {
                throw CommandError("The webhook cannot be signed.")
            }
            Console.say(webhook.authorization)
        }
    }
}
