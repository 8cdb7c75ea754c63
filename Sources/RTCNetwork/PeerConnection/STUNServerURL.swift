/// `stun:host[:port]` (RFC 7064).
struct STUNServerURL: Equatable, Sendable {
    var host: String
    var port: UInt16

    init(_ url: String) throws(PeerConnectionError) {
        guard url.hasPrefix("stun:") else { throw .iceServer(url) }
        var rest = url.dropFirst(5)
        if let query = rest.firstIndex(of: "?") { rest = rest[..<query] }
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
        // RFC 7064 §3.2: 3478 is the port when none is named.
        guard let port = portText.map({ UInt16($0) }) ?? 3478, port > 0, !host.isEmpty else { throw .iceServer(url) }
        self.port = port
    }
}
