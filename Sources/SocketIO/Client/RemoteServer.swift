import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A server to which requests are passed on: where it is, and by what its certificate is checked.
package struct RemoteServer: Sendable {
    let endpoint: ClientEndpoint

    /// - Parameters:
    ///   - text: `http`, `https`, `ws` or `wss`, a host, perhaps a port and a path, below which everything is.
    ///   - connectTimeout: for making a connection.
    ///   - trustedAuthorities: a file of certificates (PEM) that are trusted besides the system's.
    package init(
        url text: String, connectTimeout: Duration = .seconds(5), trustedAuthorities: String? = nil
    ) throws(RemoteServerProblem) {
        guard let url = try? ServerURL(text), url.query.items.isEmpty, !text.contains("@"), !text.contains("#") else {
            throw .noURL(text)
        }
        var configuration = SocketIOClientConfiguration()
        configuration.connectTimeout = connectTimeout
        configuration.trustedAuthorities = trustedAuthorities
        var endpoint = ClientEndpoint(url: url, configuration: configuration)
        if url.usesTLS {
            if let trustedAuthorities, access(trustedAuthorities, R_OK) != 0 {
                throw .unreadableAuthorities(trustedAuthorities)
            }
            do {
                endpoint.tls = try endpoint.makeTLS()
            } catch {
                throw .unusableAuthorities(trustedAuthorities ?? "")
            }
        }
        self.endpoint = endpoint
    }

    /// The URL's path without its last slash: empty, or it begins with one.
    package var basePath: String {
        var path = endpoint.url.path[...]
        while path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    /// The target of a request (RFC 9112 §3.2.1).
    package func target(_ path: String, _ query: EngineIOQuery) -> String {
        basePath + path + (query.items.isEmpty ? "" : "?" + query.encoded)
    }

    /// The path below ours that a URL of this server's names, absolute or without a host; nil for those of others.
    package func path(of text: String) -> String? {
        var rest = text[...]
        if let schemeEnd = text.firstRange(of: "://") {
            guard let url = try? ServerURL(text), url.host.lowercased() == endpoint.url.host.lowercased(),
                url.port == endpoint.url.port
            else { return nil }
            rest = text[schemeEnd.upperBound...].drop { $0 != "/" }
        }
        guard rest.hasPrefix("/"), rest.hasPrefix(basePath + "/") else { return nil }
        return String(rest.dropFirst(basePath.count))
    }
}

/// For people; nothing secret can be in such a URL.
extension RemoteServer: CustomStringConvertible {
    package var description: String {
        (endpoint.url.usesTLS ? "wss://" : "ws://") + endpoint.url.hostHeader + basePath
    }
}

/// Why a `RemoteServer` cannot be used. For whoever configures it.
package enum RemoteServerProblem: Error, Hashable, CustomStringConvertible {
    case noURL(String)
    case unreadableAuthorities(String)
    case unusableAuthorities(String)

    package var description: String {
        switch self {
        case .noURL(let text):
            "\(text) is not the URL of a server: one looks like wss://livekit.example.org, without user or query."
        case .unreadableAuthorities(let file): "The file \(file) is not there, or may not be read."
        case .unusableAuthorities(let file): "The file \(file) holds no certificates in PEM form."
        }
    }
}
