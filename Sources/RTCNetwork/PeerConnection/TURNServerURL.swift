internal import RTCEngine

/// `turn:host[:port][?transport=udp|tcp]` and `turns:` (RFC 7065).
struct TURNServerURL: Equatable, Sendable {
    var location: STUNServerURL
    var transport: TURNServer.Transport

    static func isMeant(by url: String) -> Bool { url.hasPrefix("turn:") || url.hasPrefix("turns:") }

    init(_ url: String) throws(PeerConnectionError) {
        let isSecure = url.hasPrefix("turns:")
        guard isSecure || url.hasPrefix("turn:") else { throw .iceServer(url) }
        var rest = url.dropFirst(isSecure ? 6 : 5)
        var query: Substring?
        if let mark = rest.firstIndex(of: "?") {
            query = rest[rest.index(after: mark)...]
            rest = rest[..<mark]
        }
        switch (isSecure, query) {
        case (false, nil), (false, "transport=udp"): transport = .udp
        case (false, "transport=tcp"): transport = .tcp
        // RFC 7065 §3.2: secure over TCP is TLS. Over UDP it would be DTLS, which no server here is asked by.
        case (true, nil), (true, "transport=tcp"): transport = .tls
        default: throw .iceServer(url)
        }
        location = try STUNServerURL(host: rest, defaultPort: isSecure ? 5349 : 3478, of: url)
    }
}
