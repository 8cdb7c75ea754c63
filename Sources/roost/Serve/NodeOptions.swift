internal import ArgumentParser
internal import ChatServer
internal import Foundation
internal import Logging

/// Whether this server is one of several.
struct NodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Be one with the other servers of --database, by this Redis: redis://:password@host/0, or rediss:// with TLS. \
            Each of them needs --node-url.
            """, valueName: "url"))
    var redis: String?

    @Option(help: ArgumentHelp("Trust certificates of this authority (PEM) for --redis, too.", valueName: "file"))
    var redisCa: String?

    @Option(
        help: ArgumentHelp(
            "This one server as people reach it, for calls that it carries: https://one.chat.example.org.",
            valueName: "url"))
    var nodeURL: String?

    func validate() throws {
        guard let redis else {
            guard redisCa == nil, nodeURL == nil else {
                throw ValidationError("--redis-ca and --node-url are for one server of several: they need --redis.")
            }
            return
        }
        if let problem = NodesConfiguration.problem(withRedis: redis) {
            throw ValidationError("--redis takes redis://:password@host:port/0 or rediss://…: \(problem)")
        }
        guard let nodeURL, nodeURL.hasPrefix("http://") || nodeURL.hasPrefix("https://"), !nodeURL.hasSuffix("/") else {
            throw ValidationError(
                "--redis needs --node-url, a URL such as https://one.chat.example.org, without a last '/'.")
        }
    }

    /// - Throws: `CommandError` where Redis cannot be reached, or refuses what is in its URL.
    func configuration(logger: Logger) async throws -> NodesConfiguration? {
        guard let redis, let nodeURL else { return nil }
        do {
            return try await NodesConfiguration.connect(
                redis: redis, trustedAuthorities: redisCa, url: nodeURL, logger: logger)
        } catch {
            throw CommandError("\(error)")
        }
    }
}
