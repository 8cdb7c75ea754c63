internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol

/// `roost token create`.
struct TokenCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a token and print it, alone on one line.",
        discussion: """
            With --room the token lets its bearer join that room, publish and subscribe, unless options say otherwise. \
            Permissions that are not named are left to the protocol's defaults: publishing, subscribing and sending \
            data are allowed, changing one's own metadata is not.

            Examples:
              roost token create --identity ann --room standup --valid-for 1h
              roost token create --identity tv --room standup --no-can-publish --hidden
              roost token create --identity ann --room standup --dispatch-agent clerk
              roost token create --room-create --room-list
            """
    )

    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Option(help: ArgumentHelp("Who its bearer is; in a room only one at a time.", valueName: "id"))
    var identity: String?

    @Option(help: "The name that others see.")
    var name: String?

    @Option(help: ArgumentHelp("How long it is good for, as 30m or 12h.", valueName: "time"))
    var validFor = TimeSpan(.seconds(AccessToken.usualValidity))

    @Option(help: ArgumentHelp("Text that others in the room get with the participant.", valueName: "text"))
    var metadata: String?

    @Option(
        help: ArgumentHelp("An attribute that others in the room get; may be repeated.", valueName: "key=value"))
    var attribute: [String] = []

    @Option(help: "What kind of participant: standard, agent, egress, ingress, sip, connector or bridge.")
    var kind: String?

    @OptionGroup(title: "Grants") var grants: GrantOptions

    @Option(
        help: ArgumentHelp(
            "How the room is to be if this participant is its first: JSON of LiveKit's RoomConfiguration.",
            valueName: "json"))
    var roomConfig: String?

    @Option(
        help: ArgumentHelp(
            "An agent (LiveKit Agents) that is to come if this participant is the room's first; may be repeated.",
            valueName: "name"))
    var dispatchAgent: [String] = []

    func validate() throws {
        guard validFor.duration > .zero else {
            throw ValidationError("--valid-for takes a time of more than nothing, such as 1h.")
        }
    }

    func run() async throws {
        try CommandError.reported {
            let key = try keyOptions.key()
            let token = AccessToken(
                identity: identity ?? "", claims: try claims(), at: Date(),
                validFor: validFor.duration / .seconds(1))
            guard let text = try? token.signed(with: key) else { throw CommandError("The token cannot be signed.") }
            Console.say(text)
        }
    }

    private func claims() throws -> AccessToken.Claims {
        var claims = AccessToken.Claims()
        claims.video = try grants.video()
        if claims.video?.roomJoin == true, identity?.isEmpty ?? true {
            throw CommandError("A token for joining a room needs --identity, so that the room knows who joins.")
        }
        claims.name = name ?? ""
        claims.metadata = metadata ?? ""
        claims.attributes = try attributes()
        if let kind {
            guard LiveKitParticipantInfo.Kind(claim: kind) != nil else {
                throw CommandError("\"\(kind)\" is no kind of participant: standard, agent, egress and so on.")
            }
            claims.kind = kind.lowercased()
        }
        if let roomConfig {
            guard let configuration = LiveKitRoomConfiguration(json: roomConfig) else {
                throw CommandError("--room-config takes a JSON object with the fields of LiveKit's RoomConfiguration.")
            }
            claims.roomConfig = configuration
        }
        if !dispatchAgent.isEmpty {
            guard claims.video?.roomJoin == true else {
                throw CommandError("--dispatch-agent is for tokens that let somebody join a --room.")
            }
            claims.dispatch(dispatchAgent)
        }
        return claims
    }

    private func attributes() throws -> [String: String] {
        var attributes: [String: String] = [:]
        for text in attribute {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw CommandError("--attribute takes a key and a value, such as seat=4, not \"\(text)\".")
            }
            guard attributes.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw CommandError("There are two attributes with the key \"\(parts[0])\".")
            }
        }
        return attributes
    }
}
