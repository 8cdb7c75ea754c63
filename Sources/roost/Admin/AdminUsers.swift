internal import ArgumentParser
internal import ChatModel
internal import ChatServer
internal import Foundation

/// `roost admin users`.
struct AdminUsers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "People: who there is, and what becomes of their accounts.",
        subcommands: [List.self, Deactivate.self, Reactivate.self, ResetPassword.self, MakeOwner.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all accounts, by username.")

        @OptionGroup var options: AdminOptions

        @Flag(help: "Print a JSON object for each, with all that is known.")
        var json = false

        func run() async throws {
            try await options.run { chat in
                try await chat.forEachAccount { account in
                    Console.say(json ? try JSONLine.text(account) : line(account))
                }
            }
        }

        private func line(_ account: Account) -> String {
            let notes = [
                account.isServerOwner ? "owns the server" : nil, account.profile.isDeactivated ? "has left" : nil,
                account.isEmailVerified ? nil : "address not confirmed",
            ].compactMap { $0 }
            let names = "\(account.profile.username)  \(account.email)  \(account.profile.displayName)".printable
            return names + (notes.isEmpty ? "" : "  (\(notes.joined(separator: ", ")))")
        }
    }

    struct Deactivate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End somebody's account: they are logged out and cannot log in. What they wrote stays.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "A username or an address.")
        var user: String

        func run() async throws { try await options.run { try await $0.deactivate(user) } }
    }

    struct Reactivate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let somebody log in again whose account was ended.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "A username or an address.")
        var user: String

        func run() async throws { try await options.run { try await $0.reactivate(user) } }
    }

    struct ResetPassword: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a link by which somebody chooses a new password, within an hour.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "A username or an address.")
        var user: String

        func run() async throws {
            try await options.run { Console.say(try await $0.resetPassword(of: user)) }
        }
    }

    struct MakeOwner: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make somebody an owner, of a workspace or of the server.")

        @OptionGroup var options: AdminOptions

        @Argument(help: "A username or an address.")
        var user: String

        @Argument(help: "A workspace's address (slug) or identifier. Default: the server.")
        var workspace: String?

        func run() async throws { try await options.run { try await $0.makeOwner(user, of: workspace) } }
    }
}

/// Something as one line of JSON, in which nothing commands a terminal either.
enum JSONLine {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(value), as: UTF8.self)
        guard text.unicodeScalars.contains(where: \.isCommanding) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            if scalar.isCommanding {
                line += String(format: "\\u%04x", scalar.value)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
    }
}
