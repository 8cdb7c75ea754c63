internal import ArgumentParser
internal import ChatServer
internal import Foundation

/// Whether and how the server serves chat.
struct ChatOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve chat (/api/v1), kept in this folder, which is made if it is not there.", valueName: "folder"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Keep the chat in this PostgreSQL database (postgresql://user:password@host/name), not in a file of --data.",
            valueName: "url"))
    var database: String?

    @Flag(help: "On a server without accounts, make a workspace to look around in, and print two accounts for it.")
    var sample = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Whether anybody may make an account, and workspaces; otherwise only who is invited, and the first one, and \
            only the server's owners.
            """)
    var registration = true

    @Option(help: ArgumentHelp("The server as people reach it, for links in letters.", valueName: "url"))
    var publicURL: String?

    @Option(help: ArgumentHelp("How long a call rings, as 45s.", valueName: "time"))
    var ringTime = TimeSpan(.seconds(45))

    @Option(
        help: ArgumentHelp(
            """
            What a guess at a password costs: 32 MiB and a quarter of a second at \
            \(ChatServerConfiguration.usualPasswordCost), twice as much with each step up to 17; less is for tests. It \
            holds for whoever logs in from then on.
            """, valueName: "number"))
    var passwordCost: UInt64 = ChatServerConfiguration.usualPasswordCost

    func validate() throws {
        guard (4...17).contains(passwordCost) else {
            throw ValidationError("--password-cost takes a number from 4 to 17.")
        }
        if data == nil, database != nil {
            throw ValidationError("--database needs --data, for what is not kept in databases.")
        }
        // Besides URLs libpq takes words such as host=db.
        if let database, !database.lowercased().contains(/postgres(ql)?:\/\//), !database.contains("=") {
            throw ValidationError("--database takes the URL of a PostgreSQL database: postgresql://user@host/name.")
        }
        if data == nil, sample { throw ValidationError("--sample needs --data, where the sample is to be kept.") }
        if let publicURL,
            !(publicURL.hasPrefix("http://") || publicURL.hasPrefix("https://")) || publicURL.hasSuffix("/")
        {
            throw ValidationError("--public-url takes a URL such as https://chat.example.org, without a last '/'.")
        }
    }
}
