/// The parts of a server's URL that a client needs (RFC 3986 §3).
struct ServerURL: Hashable, Sendable {
    var usesTLS: Bool
    var host: String
    var port: Int
    /// Without the query; `/` if there is none.
    var path: String
    var query: EngineIOQuery

    init(_ text: String) throws(SocketIOClientError) {
        guard let schemeEnd = text.firstRange(of: "://") else { throw .invalidURL(text) }
        switch text[..<schemeEnd.lowerBound].lowercased() {
        case "http", "ws": usesTLS = false
        case "https", "wss": usesTLS = true
        default: throw .invalidURL(text)
        }
        let withoutFragment = text[schemeEnd.upperBound...].split(
            separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let target = (withoutFragment.first ?? "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        query = EngineIOQuery(target.count > 1 ? target[1] : "")
        let place = target.first ?? ""
        let authority = place.prefix { $0 != "/" }
        let rest = place.dropFirst(authority.count)
        path = rest.isEmpty ? "/" : String(rest)
        // User information is of no use here.
        let address = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let portText: Substring
        if address.hasPrefix("[") {
            guard let end = address.firstIndex(of: "]") else { throw .invalidURL(text) }
            host = String(address[address.index(after: address.startIndex)..<end])
            portText = address[address.index(after: end)...]
        } else {
            host = String(address.prefix { $0 != ":" })
            portText = address.dropFirst(host.count)
        }
        guard !host.isEmpty else { throw .invalidURL(text) }
        if portText.isEmpty {
            port = usesTLS ? 443 : 80
        } else {
            guard portText.first == ":", let number = Int(portText.dropFirst()), (1...65_535).contains(number) else {
                throw .invalidURL(text)
            }
            port = number
        }
    }

    /// Where a `Location` that this server answers with leads (RFC 9110 §10.2.2, RFC 3986 §5.2.2); nil for what is no
    /// URL of a web server, and where TLS would be given up.
    func redirected(to location: String) -> ServerURL? {
        var url = self
        if location.hasPrefix("//") || location.prefix(while: { !"/?#".contains($0) }).contains(":") {
            let text = location.hasPrefix("//") ? (usesTLS ? "https:" : "http:") + location : location
            guard text.lowercased().hasPrefix("http"), let other = try? ServerURL(text), other.usesTLS || !usesTLS
            else { return nil }
            url = other
        } else {
            let reference = location.prefix { $0 != "#" }
            let place = reference.prefix { $0 != "?" }
            // Without a path its own stays, and without either its query, too.
            if !reference.isEmpty { url.query = EngineIOQuery(reference.dropFirst(place.count + 1)) }
            if place.hasPrefix("/") {
                url.path = String(place)
            } else if !place.isEmpty {
                // RFC 3986 §5.2.3.
                url.path = String(path[...(path.lastIndex(of: "/") ?? path.startIndex)] + place)
            }
        }
        url.removeDotSegments()
        return url
    }

    /// RFC 3986 §5.2.4.
    private mutating func removeDotSegments() {
        let old = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var new: [Substring] = []
        for segment in old {
            switch segment {
            case ".": break
            case "..": _ = new.popLast()
            default: new.append(segment)
            }
        }
        // What ends with one names a folder.
        if old.last == "." || old.last == ".." { new.append("") }
        path = "/" + new.joined(separator: "/")
    }

    /// The target of a request (RFC 9112 §3.2.1).
    var target: String { query.items.isEmpty ? path : path + "?" + query.encoded }

    /// For the `Host` header (RFC 9110 §7.2).
    var hostHeader: String { port == (usesTLS ? 443 : 80) ? name : authority }

    /// Host and port, for people.
    var authority: String { "\(name):\(port)" }

    private var name: String { host.contains(":") ? "[\(host)]" : host }
}
