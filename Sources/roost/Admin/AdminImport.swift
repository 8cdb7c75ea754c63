internal import ArgumentParser
internal import ChatCore
internal import ChatModel
internal import ChatServer
internal import Foundation

/// What all imports ask.
struct ImportOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The address that the workspace gets. Default: that of the file.", valueName: "slug"))
    var slug: String?

    @Flag(help: "Take accounts with addresses of the file also where nobody has confirmed them.")
    var trustAddresses = false

    func tell(_ summary: ImportSummary) {
        let (added, slug) = (summary.added, summary.workspace.slug)
        Console.say(
            "\(slug)  \(summary.workspace.name.printable)  \(added.accounts) new accounts, \(added.channels) new channels, "
                + "\(added.messages) new messages")
        if summary.isWithoutOwner {
            Console.say("Nobody owns it: 'roost admin users make-owner USER \(slug)' makes somebody its owner.")
        }
    }
}

/// `roost admin import`.
struct AdminImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Make a workspace of a file that 'roost admin export' has written.",
        discussion: """
            People who have an account with the same e-mail address become that account; the others get one, whose \
            password they choose by 'forgot password'. Importing a file again goes on where it broke off, and adds \
            nothing twice.
            """)

    @OptionGroup var options: AdminOptions
    @OptionGroup var importing: ImportOptions

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        try await options.run { chat in
            var source = try ExportFile(URL(filePath: file))
            importing.tell(
                try await chat.import(
                    &source, slug: importing.slug, trustsAddresses: importing.trustAddresses))
        }
    }
}

/// `roost admin import-slack`.
struct AdminImportSlack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-slack", abstract: "Make a workspace of an export of Slack's.",
        discussion: """
            Takes what 'roost admin import' takes of people. Files stay at Slack's, as links; everything counts as \
            read. A ZIP file is unpacked by /usr/bin/unzip.
            """)

    @OptionGroup var options: AdminOptions
    @OptionGroup var importing: ImportOptions

    @Option(help: "The workspace's name. Default: what the archive's name begins with.")
    var name: String?

    @Argument(help: "The archive, or the folder that was unpacked from it.")
    var archive: String

    func run() async throws {
        try await options.run { chat in
            importing.tell(
                try await chat.importSlack(
                    URL(filePath: archive), name: name, slug: importing.slug,
                    trustsAddresses: importing.trustAddresses))
        }
    }
}
