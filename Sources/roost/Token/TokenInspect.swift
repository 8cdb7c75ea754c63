internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol

/// `roost token inspect`.
struct TokenInspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Check a token and print what it says, as JSON.",
        discussion: """
            Fails if the API key did not sign the token, or if it has expired. A clock may be a minute off. Of the \
            claims those are printed that Roost knows.
            """
    )

    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: "The token; - reads it from standard input.")
    var token: String

    func run() async throws {
        try CommandError.reported {
            let keys = APIKeys(try keyOptions.key())
            let text = token == "-" ? readLine() ?? "" : token
            let report: Report
            do throws(AccessTokenRefusal) {
                report = Report(try AccessToken(verifying: text, with: keys, at: Date()))
            } catch {
                throw CommandError(error.description)
            }
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            Console.say(String(decoding: try encoder.encode(report), as: UTF8.self))
        }
    }
}

private struct Report: Encodable {
    let identity: String
    let expires: Date
    let notBefore: Date?
    let claims: AccessToken.Claims
    /// What the claims come to, where they leave something to the protocol's defaults. Of a token for a room.
    let may: Permissions?

    struct Permissions: Encodable {
        let publish: Bool
        let subscribe: Bool
        let publishData: Bool
        let updateOwnMetadata: Bool
    }

    init(_ token: AccessToken) {
        identity = token.identity
        expires = token.expires
        notBefore = token.notBefore
        claims = token.claims
        may = token.claims.video.flatMap { video in
            guard video.roomJoin else { return nil }
            return Permissions(
                publish: video.mayPublish, subscribe: video.maySubscribe, publishData: video.mayPublishData,
                updateOwnMetadata: video.mayUpdateOwnMetadata)
        }
    }
}
