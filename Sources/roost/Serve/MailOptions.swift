internal import ArgumentParser
internal import ChatModel
internal import ChatServer
internal import Foundation
internal import Logging

/// How letters come to people.
struct MailOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Hand letters to this server: smtps://user:password@host, or smtp://host with STARTTLS. The password may be \
            in ROOST_SMTP_PASSWORD. Without a server the links of letters are in the log.
            """, valueName: "url"))
    var smtp: String?

    @Option(
        help: ArgumentHelp(
            "Whom letters are from: \"Roost <chat@example.org>\". Needed with --smtp.", valueName: "address"))
    var mailFrom: String?

    @Option(help: ArgumentHelp("Trust certificates of this authority (PEM) for --smtp, too.", valueName: "file"))
    var smtpCa: String?

    func validate() throws {
        guard let smtp else {
            if mailFrom != nil || smtpCa != nil { throw ValidationError("--mail-from and --smtp-ca need --smtp.") }
            return
        }
        guard SMTPServer(url: smtp) != nil else {
            throw ValidationError(
                "--smtp takes smtps://user:password@host, or smtp://host:port with ?tls=always or ?tls=never.")
        }
        guard let mailFrom, MailAuthor(mailFrom) != nil else {
            throw ValidationError(
                "--smtp needs --mail-from with an address such as chat@example.org or \"Roost <chat@example.org>\".")
        }
    }

    /// - Throws: `CommandError` where the authority's file is of no use.
    func mailer(now: @escaping @Sendable () -> Timestamp, logger: Logger) throws -> any Mailer {
        let password = ProcessInfo.processInfo.environment["ROOST_SMTP_PASSWORD"]
        guard let smtp, let server = SMTPServer(url: smtp, password: password),
            let author = mailFrom.flatMap({ MailAuthor($0) })
        else { return LogMailer(logger: logger) }
        do {
            return try SMTPMailer(server: server, author: author, authorities: smtpCa, now: now, logger: logger)
        } catch {
            throw CommandError("The file of --smtp-ca, \(smtpCa ?? ""), has no certificates that can be read.")
        }
    }
}
