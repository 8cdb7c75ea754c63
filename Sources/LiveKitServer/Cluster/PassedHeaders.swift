internal import SocketIO

/// The headers that go on with a request or come back with its answer; all others end here.
enum PassedHeaders {
    /// What a cluster's answer depends on. LiveKit's server tells browsers apart by `User-Agent`.
    private static let requests = [
        "Accept", "Content-Type", "If-Match", "If-None-Match", "Origin", "User-Agent",
    ]
    private static let responses: Set<String> = [
        "accept-patch", "accept-post", "allow", "cache-control", "content-type", "etag", "link", "location",
        "retry-after", "vary", "www-authenticate",
    ]

    /// With the token that was found to be good, and no other: it goes into a header, wherever it came, since URLs end
    /// up in logs.
    static func request(
        _ request: SocketIOHTTPRequest, token: String, via: String
    ) -> [(name: String, value: String)] {
        let passed = requests.compactMap { name in request.header(name).map { (name: name, value: $0) } }
        let earlier = request.headers.filter { $0.name.lowercased() == "via" }.map(\.value)
        return passed + [("Authorization", "Bearer " + token), ("Via", (earlier + [via]).joined(separator: ", "))]
    }

    /// What clients of an embedded server get, too, and with the URLs of sessions as they are here.
    static func response(
        _ headers: [(name: String, value: String)], of server: RemoteServer
    ) -> [(name: String, value: String)] {
        headers.compactMap { name, value in
            let lower = name.lowercased()
            guard responses.contains(lower) || lower.hasPrefix("access-control-") else { return nil }
            return lower == "location" ? (name, server.path(of: value) ?? value) : (name, value)
        }
    }
}
