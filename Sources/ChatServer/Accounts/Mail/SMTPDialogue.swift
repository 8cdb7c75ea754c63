internal import Foundation

/// Hands in one letter: what to say to the server, after what it has answered. Without sockets and clock.
struct SMTPDialogue: Sendable {
    enum Action: Sendable, Equatable {
        case send([UInt8])
        /// From here on encrypted; `tlsStarted` is to be called.
        case startTLS
        case delivered
        case failed(SMTPFault)
        case close
    }

    private enum Phase: Sendable {
        case greeting, hello, startTLS, plain, loginName, loginUser, loginPassword, mail, recipient, data, content, quit
    }

    static let internationalAddresses = "addresses with letters beyond ASCII (SMTPUTF8)"

    private let server: SMTPServer
    private let letter: SMTPLetter
    /// How we call ourselves: an address between brackets (RFC 5321 §4.1.4).
    private let ownName: String
    private var phase = Phase.greeting
    private var isSecure: Bool
    private var offers: [String: String] = [:]

    init(_ letter: SMTPLetter, to server: SMTPServer, from ownName: String) {
        self.letter = letter
        self.server = server
        self.ownName = ownName
        isSecure = server.security == .tls
    }

    /// How long the next answer may take: RFC 5321 §4.5.3.2 has minutes, ten of them for the letter itself, for servers
    /// of long ago. Whoever waits here has others behind them.
    var patience: Duration { phase == .content ? .seconds(300) : .seconds(60) }

    /// What is being answered, for whoever reads the log.
    var command: String {
        switch phase {
        case .greeting: "the connection"
        case .hello: "EHLO"
        case .startTLS: "STARTTLS"
        case .plain, .loginName, .loginUser, .loginPassword: "AUTH"
        case .mail: "MAIL"
        case .recipient: "RCPT"
        case .data: "DATA"
        case .content: "the letter"
        case .quit: "QUIT"
        }
    }

    mutating func replyReceived(_ reply: SMTPReply) -> [Action] {
        guard phase != .quit else { return [.close] }
        guard isExpected(reply.code) else { return fail(.refused(code: reply.code, to: command)) }
        switch phase {
        case .greeting: return sayHello()
        case .hello:
            offers = Self.offers(of: reply)
            return helloAnswered()
        case .startTLS: return [.startTLS]
        case .plain, .loginPassword: return handIn()
        case .loginName: return say(Self.encoded(server.user ?? ""), .loginUser)
        case .loginUser: return say(Self.encoded(server.password ?? ""), .loginPassword)
        case .mail: return say("RCPT TO:<\(letter.recipient)>", .recipient)
        case .recipient: return say("DATA", .data)
        case .data:
            phase = .content
            return [.send(letter.stuffed)]
        case .content: return [.delivered] + say("QUIT", .quit)
        case .quit: return [.close]
        }
    }

    /// RFC 5321 §4.3.2, RFC 4954 §4.
    private func isExpected(_ code: Int) -> Bool {
        switch phase {
        case .greeting, .startTLS: code == 220
        case .hello, .mail, .content: code == 250
        case .recipient: code == 250 || code == 251
        case .plain, .loginPassword: code == 235
        case .loginName, .loginUser: code == 334
        case .data: code == 354
        case .quit: code == 221
        }
    }

    /// The connection is encrypted, or will be before anything is written. RFC 3207 §4.2: what was said before is void.
    mutating func tlsStarted() -> [Action] {
        isSecure = true
        offers = [:]
        return sayHello()
    }

    private mutating func sayHello() -> [Action] { say("EHLO \(ownName)", .hello) }

    /// Keywords of extensions in upper case, with what stands behind them (RFC 5321 §4.1.1.1).
    private static func offers(of reply: SMTPReply) -> [String: String] {
        reply.lines.dropFirst().reduce(into: [:]) { offers, line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard let name = parts.first else { return }
            offers[name.uppercased()] = parts.count > 1 ? parts[1].uppercased() : ""
        }
    }

    private mutating func helloAnswered() -> [Action] {
        if server.security == .startTLS, !isSecure {
            guard offers["STARTTLS"] != nil else { return fail(.notOffered("STARTTLS")) }
            return say("STARTTLS", .startTLS)
        }
        guard let user = server.user else { return handIn() }
        let mechanisms = (offers["AUTH"] ?? "").split(separator: " ")
        if mechanisms.contains("PLAIN") {
            // RFC 4616 §2, in the command itself (RFC 4954 §4).
            return say("AUTH PLAIN " + Self.encoded("\0\(user)\0\(server.password ?? "")"), .plain)
        }
        guard mechanisms.contains("LOGIN") else { return fail(.notOffered("AUTH PLAIN or LOGIN")) }
        return say("AUTH LOGIN", .loginName)
    }

    private static func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private mutating func handIn() -> [Action] {
        var parameters = ""
        if let size = offers["SIZE"] {
            // RFC 1870 §3 and §6.1: 0 is no limit.
            if let limit = Int(size), limit > 0, letter.content.count > limit { return fail(.tooLarge(limit: limit)) }
            parameters += " SIZE=\(letter.content.count)"
        }
        if letter.isInternational {
            // RFC 6531 §3.4; such a header is more than ASCII, so it needs 8BITMIME, which SMTPUTF8 includes (§3.1).
            guard offers["SMTPUTF8"] != nil else { return fail(.notOffered(Self.internationalAddresses)) }
            parameters += " BODY=8BITMIME SMTPUTF8"
        }
        return say("MAIL FROM:<\(letter.sender)>\(parameters)", .mail)
    }

    private mutating func say(_ line: String, _ next: Phase) -> [Action] {
        phase = next
        return [.send(Array((line + "\r\n").utf8))]
    }

    private mutating func fail(_ fault: SMTPFault) -> [Action] { [.failed(fault)] + say("QUIT", .quit) }
}
