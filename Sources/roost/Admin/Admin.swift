internal import ArgumentParser

/// `roost admin`: what whoever runs a server does with its chat.
struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look after a server's chat: people, workspaces, channels, invitations, export and import.",
        discussion: """
            Works on the database itself, beside a running server or without one. A server sees what has changed with \
            the next request; who is connected is told within two seconds.
            """,
        subcommands: [
            AdminUsers.self, AdminWorkspaces.self, AdminChannels.self, AdminInvites.self, AdminExport.self,
            AdminImport.self, AdminImportSlack.self,
        ])
}
