internal import ArgumentParser

/// `roost token`: LiveKit's access tokens, made and looked at.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make or check an access token for LiveKit's protocol.",
        discussion: """
            A token says who somebody is and what they may do in which room; an API key signs it. LiveKit's client \
            SDKs, and everything else that speaks LiveKit's protocol, show one when they connect.

            The API key comes from --api-key and --api-secret, or from LIVEKIT_API_KEY and LIVEKIT_API_SECRET in the \
            environment, where other people on this machine do not see the secret.
            """,
        subcommands: [TokenCreate.self, TokenInspect.self, TokenWebhook.self]
    )
}
