internal import Foundation

/// Whom requests without a token count against.
enum NetworkSite {
    /// The site of an address: one of IPv4 is one, and of IPv6 a /64, for that is what a single host has (RFC 7217 §3).
    /// One of IPv4 that came to a socket of both is one of IPv4 (RFC 4291 §2.5.5.2).
    ///
    /// - Parameter address: with a port, as `SocketIOHTTPRequest.remoteAddress` has it.
    /// - Returns: a name that two addresses of one site share; what is no address is a site by that name.
    static func name(of address: String) -> String {
        let host = address.lastIndex(of: ":").map { address[..<$0] } ?? Substring(address)
        let text = String(host.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" })
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &bytes) == 1 else { return text }
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
            return bytes[12...].map { String($0) }.joined(separator: ".")
        }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }
}
