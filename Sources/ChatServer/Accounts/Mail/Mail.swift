package import Logging

/// A letter that the server sends.
package struct Mail: Sendable, Equatable {
    package let to: String
    package let subject: String
    /// Plain text.
    package let text: String
    /// The link in it, if it has one.
    package let link: String?
}

/// Whoever brings letters to people.
package protocol Mailer: Sendable {
    /// - Throws: when nobody has taken it.
    func send(_ mail: Mail) async throws
    /// Whether letters arrive at who they are for. Only then addresses can be asked to be verified.
    var isDelivering: Bool { get }
    /// Nil where no letters are sent.
    var counters: MailCounters? { get }
    /// The server ends; what could not be sent is told to its log.
    func stop() async
}

extension Mailer {
    package func stop() async {}
    package var counters: MailCounters? { nil }
}

/// Without a mail server: the links are in the server's log, for whoever runs it.
package struct LogMailer: Mailer {
    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    package var isDelivering: Bool { false }

    package func send(_ mail: Mail) {
        // No address: that is not for logs.
        logger.notice(
            "mail not sent, for no mail server is configured",
            metadata: [
                "subject": "\(mail.subject)", "link": "\(mail.link ?? "none")",
            ])
    }
}

/// What the server writes to people.
struct Letters: Sendable {
    let server: PublicURL

    /// - Parameter username: of the account, which somebody else may have asked for.
    func verification(to email: String, of username: String, secret: Secret) -> Mail {
        let link = "\(server.text)/#/verify-email/\(secret.text)"
        return Mail(
            to: email, subject: "Confirm your e-mail address",
            text: """
                Welcome to Roost.

                Open this link to confirm that this is your address, and that the account "\(username)" is yours:
                \(link)

                If you did not ask for that account, do not open it: you need not do anything.
                """, link: link)
    }

    func reset(to email: String, secret: Secret) -> Mail {
        let link = "\(server.text)/#/reset-password/\(secret.text)"
        return Mail(
            to: email, subject: "Choose a new password",
            text: """
                Somebody, probably you, has asked for a new password for your account.

                Open this link within an hour to choose one:
                \(link)

                If it was not you, you need not do anything: your password stays as it is.
                """, link: link)
    }

    /// To whoever has an account already, and registers once more, or somebody else for them.
    func alreadyRegistered(to email: String) -> Mail {
        Mail(
            to: email, subject: "You have an account already",
            text: """
                Somebody, probably you, has tried to make an account with this address. There is one already: log in at
                \(server.text), or choose a new password there if you have forgotten yours.
                """, link: server.text)
    }

    func invitation(to email: String, from name: String, workspace: String, secret: Secret) -> Mail {
        let link = "\(server.text)/#/invitation/\(secret.text)"
        return Mail(
            to: email, subject: "\(name) invites you to \(workspace)",
            text: """
                \(name) invites you to the workspace "\(workspace)".

                Open this link to come in:
                \(link)
                """, link: link)
    }
}
