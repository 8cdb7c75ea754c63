internal import ArgumentParser
internal import ChatModel
internal import ChatServer

/// `roost admin invites`.
struct AdminInvites: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invites", abstract: "Invitations into workspaces.", subcommands: [Create.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a link that leads into a workspace, for two weeks.")

        enum InvitedRole: String, ExpressibleByArgument, CaseIterable { case owner, admin, member, guest }

        @OptionGroup var options: AdminOptions

        @Argument(help: "The workspace's address (slug) or identifier.")
        var workspace: String

        @Option(help: "What who comes by it is there.")
        var role = InvitedRole.member

        @Option(help: ArgumentHelp("Into this channel as well, or a guest only; may be repeated.", valueName: "name"))
        var channel: [String] = []

        @Option(help: ArgumentHelp("For so many people. Default: as many as have it.", valueName: "number"))
        var uses: Int?

        func run() async throws {
            guard let role = Role(rawValue: role.rawValue) else { return }
            try await options.run {
                Console.say(try await $0.invite(to: workspace, as: role, channels: channel, uses: uses))
            }
        }
    }
}
