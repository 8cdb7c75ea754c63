internal import ArgumentParser
internal import ChatServer

/// `roost admin channels`.
struct AdminChannels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels", abstract: "Channels that nobody can see any more.", subcommands: [Reopen.self])

    struct Reopen: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put somebody into a private channel that nobody is in any more, and open it again.",
            discussion: "They read what was written there, and bring others in.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "The workspace's address (slug) or identifier.")
        var workspace: String

        @Argument(help: "The channel's name.")
        var channel: String

        @Argument(help: "A username or an address, of somebody who is in the workspace.")
        var user: String

        func run() async throws {
            try await options.run { try await $0.reopenChannel(channel, of: workspace, for: user) }
        }
    }
}
