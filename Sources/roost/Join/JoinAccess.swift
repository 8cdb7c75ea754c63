internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol

/// Which server and room, and by what right.
struct JoinAccess: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server, as ws://host:port or wss://host, perhaps with a path. Default: LIVEKIT_URL of the environment, "
                + "or ws://localhost:7880.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The token to join with. Default: LIVEKIT_TOKEN of the environment.", valueName: "jwt"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "Make a token with this API key. Others on this machine can read it in the list of processes: better in "
                + "LIVEKIT_API_KEY and LIVEKIT_API_SECRET.", valueName: "name:secret"))
    var key: String?

    @Flag(help: "Make a token with LiveKit's development key (devkey, secret).")
    var livekitDev = false

    @Option(help: "The room, for a token that is made here.")
    var room: String?

    @Option(name: .customLong("as"), help: ArgumentHelp("Our identity in it.", valueName: "name"))
    var identity: String?

    func validate() throws {
        if token != nil, key != nil || livekitDev || room != nil || identity != nil {
            throw ValidationError(
                "--token says who joins which room: --key, --livekit-dev, --room and --as go without.")
        }
        guard key == nil || !livekitDev else { throw ValidationError("--key and --livekit-dev are two keys.") }
        if let key, key.split(separator: ":", maxSplits: 1).count != 2 {
            throw ValidationError("--key takes a name and a secret with a colon between.")
        }
        guard (room == nil) == (identity == nil) else {
            throw ValidationError("A token is made for a --room and for somebody, whom --as names.")
        }
        if key != nil || livekitDev, room == nil {
            throw ValidationError("A token is made for a --room and for somebody, whom --as names.")
        }
    }

    var server: String {
        if let url { return url }
        let found = ProcessInfo.processInfo.environment["LIVEKIT_URL"] ?? ""
        return found.isEmpty ? "ws://localhost:7880" : found
    }

    func makeToken() throws -> String {
        if let token { return token }
        let environment = ProcessInfo.processInfo.environment
        guard let room, let identity else {
            guard let token = environment["LIVEKIT_TOKEN"], !token.isEmpty else {
                throw CommandError(
                    "Who joins which room? Give --token, or --room and --as with an API key.", status: 64)
            }
            return token
        }
        var claims = AccessToken.Claims()
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = room
        grants.canUpdateOwnMetadata = true
        claims.video = grants
        let key = try apiKey(environment)
        guard let token = try? AccessToken(identity: identity, claims: claims, at: Date()).signed(with: key) else {
            throw CommandError("The token cannot be signed.")
        }
        return token
    }

    private func apiKey(_ environment: [String: String]) throws -> APIKey {
        do {
            if livekitDev { return try APIKey("devkey", secret: "secret", allowsShortSecret: true) }
            if let key {
                let parts = key.split(separator: ":", maxSplits: 1).map(String.init)
                return try APIKey(parts[0], secret: parts[1], allowsShortSecret: true)
            }
            guard let name = environment["LIVEKIT_API_KEY"], let secret = environment["LIVEKIT_API_SECRET"],
                !name.isEmpty, !secret.isEmpty
            else {
                throw CommandError(
                    "There is no API key to make a token with: give --key or --livekit-dev, or set LIVEKIT_API_KEY and "
                        + "LIVEKIT_API_SECRET in the environment.", status: 64)
            }
            return try APIKey(name, secret: secret, allowsShortSecret: true)
        } catch let problem as APIKeyProblem {
            throw CommandError(problem.description)
        }
    }
}
