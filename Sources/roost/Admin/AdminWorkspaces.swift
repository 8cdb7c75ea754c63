internal import ArgumentParser
internal import ChatCore
internal import ChatModel
internal import ChatServer

/// `roost admin workspaces`.
struct AdminWorkspaces: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "workspaces", abstract: "Workspaces: which there are, and an end to one.",
        subcommands: [List.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all workspaces, by their addresses.")

        @OptionGroup var options: AdminOptions

        @Flag(help: "Print a JSON object for each.")
        var json = false

        private struct Line: Encodable {
            let workspace: Workspace
            let members: Int
            let channels: Int
            let messages: Int
        }

        func run() async throws {
            try await options.run { chat in
                for entry in try await chat.workspaces() {
                    let line = Line(
                        workspace: entry.workspace, members: entry.members, channels: entry.channels,
                        messages: entry.messages)
                    let text =
                        "\(entry.workspace.slug)  \(entry.workspace.name)  \(entry.members) members, "
                        + "\(entry.channels) channels, \(entry.messages) messages"
                    Console.say(json ? try JSONLine.text(line) : text.printable)
                }
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a workspace, with everything that was written and sent in it.",
            discussion: "What is deleted cannot be had back: 'roost admin export' keeps what was written.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "The workspace's address (slug).")
        var workspace: String

        func run() async throws {
            try await options.run { chat in
                try await chat.deleteWorkspace(workspace)
                Console.say("The workspace \(workspace) is deleted.")
            }
        }
    }
}
