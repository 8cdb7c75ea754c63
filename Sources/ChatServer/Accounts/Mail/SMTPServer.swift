internal import Foundation

/// Where letters are handed in, and by whom (RFC 6409).
package struct SMTPServer: Sendable, Equatable {
    enum Security: Sendable, Equatable {
        /// From the first octet on (RFC 8314 §3.3).
        case tls
        /// After asking for it (RFC 3207); without it nothing is sent.
        case startTLS
        case none
    }

    let host: String
    let port: Int
    let security: Security
    /// Nil for a server that takes letters without.
    let user: String?
    let password: String?

    /// - Parameters:
    ///   - url: `smtps://user:password@host` for port 465, `smtp://host` for port 587. STARTTLS is asked for on the
    ///     latter, unless it is this machine; `?tls=always` and `?tls=never` say otherwise.
    ///   - password: in place of the URL's.
    /// - Returns: nil for what is no such URL.
    package init?(url text: String, password: String? = nil) {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, ["", "/"].contains(url.path)
        else { return nil }
        // RFC 3986 §3.2.2: an address of IPv6 stands between brackets.
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let items = url.queryItems ?? []
        guard items.count <= 1, items.allSatisfy({ $0.name == "tls" }) else { return nil }
        switch (url.scheme, items.first?.value) {
        case ("smtps", nil), ("smtps", "always"): security = .tls
        case ("smtp", nil): security = Self.isThisMachine(name) ? .none : .startTLS
        case ("smtp", "always"): security = .startTLS
        case ("smtp", "never"): security = .none
        default: return nil
        }
        self.host = name
        port = url.port ?? (security == .tls ? 465 : 587)
        user = url.user.flatMap { $0.isEmpty ? nil : $0 }
        self.password = user == nil ? nil : password ?? url.password ?? ""
        guard (1...65_535).contains(port) else { return nil }
    }

    private static func isThisMachine(_ host: String) -> Bool {
        host.lowercased() == "localhost" || host.hasPrefix("127.") || host == "::1"
    }

    /// The name that its certificate is for; nil for an address (RFC 6066 §3).
    var certificateName: String? {
        var bytes = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1 ? nil : host
    }
}

/// Why a letter was not taken. It says nothing of who the letter is for, nor what the server says, which repeats it.
package enum SMTPFault: Error, Equatable, CustomStringConvertible {
    /// The server says no, at this command.
    case refused(code: Int, to: String)
    /// The server cannot be reached, or goes away.
    case connection(String)
    case notTrusted
    /// It offers less than is asked of it.
    case notOffered(String)
    case tooLarge(limit: Int)
    case noAnswer(to: String)
    case malformedReply
    /// As many letters wait as may.
    case tooMany

    package var description: String {
        switch self {
        case .refused(let code, let command): "The mail server answered \(command) with \(code)."
        case .connection(let what): "The mail server cannot be reached: \(what)."
        case .notTrusted: "The mail server's certificate is not trusted."
        case .notOffered(let what): "The mail server does not offer \(what)."
        case .tooLarge(let limit): "The mail server takes letters of at most \(limit) bytes."
        case .noAnswer(let command): "The mail server did not answer \(command) in time."
        case .malformedReply: "The mail server's answer is not of SMTP."
        case .tooMany: "Too many letters wait to be sent."
        }
    }

    /// Whether the same letter may be taken later. What is refused before `MAIL` has nothing to do with the letter, so
    /// it is tried again when the server or its configuration is mended (RFC 5321 §4.2.1 for what comes after).
    var isTemporary: Bool {
        switch self {
        case .refused(let code, let command): code < 500 || !["MAIL", "RCPT", "DATA", "the letter"].contains(command)
        case .connection, .notTrusted, .noAnswer, .malformedReply: true
        case .notOffered(let what): what != SMTPDialogue.internationalAddresses
        case .tooLarge, .tooMany: false
        }
    }
}
