/// `stun:host[:port]` (RFC 7064).
struct STUNServerURL: Hashable, Sendable {
    var host: String
    var port: UInt16

    init(_ url: String) throws(PeerConnectionError) {
        guard url.hasPrefix("stun:") else { throw .iceServer(url) }
        try self.init(host: url.dropFirst(5), defaultPort: 3478, of: url)
    }

    /// - Parameters:
    ///   - rest: the host, and perhaps a port.
    ///   - url: where it stands, for the error.
    init(host rest: Substring, defaultPort: UInt16, of url: String) throws(PeerConnectionError) {
        var portText: Substring?
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            let tail = rest[rest.index(after: end)...]
            if !tail.isEmpty {
                guard tail.hasPrefix(":") else { throw .iceServer(url) }
                portText = tail.dropFirst()
            }
        } else if let colon = rest.lastIndex(of: ":") {
            host = String(rest[..<colon])
            portText = rest[rest.index(after: colon)...]
        } else {
            host = String(rest)
        }
        // RFC 7064 §3.1: an IPv6 address stands in brackets, else its last group would be read as the port.
        guard rest.hasPrefix("[") || !host.contains(":") else { throw .iceServer(url) }
        // RFC 7064 §3.2: the scheme's port when none is named.
        guard let port = portText.map({ UInt16($0) }) ?? defaultPort, port > 0, !host.isEmpty else {
            throw .iceServer(url)
        }
        // RFC 7064 §3.1: neither slashes nor a query nor a user's name. Nobody would ever answer for such a host.
        guard !host.unicodeScalars.contains(where: { "/?#@\\[]".unicodeScalars.contains($0) || $0.value <= 0x20 })
        else {
            throw .iceServer(url)
        }
        self.port = port
    }
}
