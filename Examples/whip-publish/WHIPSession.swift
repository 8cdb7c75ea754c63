import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The HTTP side of WHIP (RFC 9725): one POST begins a session, one DELETE ends it.
struct WHIPSession {
    enum Failure: Error, CustomStringConvertible {
        case noHTTP(URL)
        case refused(status: Int, String)
        case noAnswer
        case noLocation

        var description: String {
            switch self {
            case .noHTTP(let url): "\(url) does not answer by HTTP."
            case .refused(401, _), .refused(403, _): "The server wants another token (--token=…)."
            case .refused(404, _): "There is no WHIP endpoint at this address."
            case .refused(let status, let text): "The server refused with status \(status). \(text)"
            case .noAnswer: "The server's answer is no session description."
            case .noLocation: "The server did not say where the session is (Location), so it could not be ended."
            }
        }
    }

    /// The server's description.
    let answer: String
    private let resource: URL
    private let token: String?

    /// Sends the offer (RFC 9725 §4.2). A 201 brings the answer and the session's own address.
    init(offer: String, to endpoint: URL, token: String?) async throws {
        var request = Self.request(endpoint, "POST", token)
        request.setValue("application/sdp", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(offer.utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let http = response as? HTTPURLResponse else { throw Failure.noHTTP(endpoint) }
        let text = String(decoding: data, as: UTF8.self)
        guard http.statusCode == 201 else { throw Failure.refused(status: http.statusCode, String(text.prefix(200))) }
        guard text.hasPrefix("v=0") else { throw Failure.noAnswer }
        // It may be relative to the endpoint.
        guard let location = http.value(forHTTPHeaderField: "Location"),
            let resource = URL(string: location, relativeTo: endpoint)
        else { throw Failure.noLocation }
        answer = text
        self.resource = resource
        self.token = token
    }

    /// Ends the session (RFC 9725 §4.2).
    func end() async throws {
        let (_, response) = try await URLSession.shared.data(for: Self.request(resource, "DELETE", token))
        guard let http = response as? HTTPURLResponse else { throw Failure.noHTTP(resource) }
        guard (200...299).contains(http.statusCode) else { throw Failure.refused(status: http.statusCode, "") }
    }

    private static func request(_ url: URL, _ method: String, _ token: String?) -> URLRequest {
        var request = URLRequest(url: url, timeoutInterval: 15)
        request.httpMethod = method
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        return request
    }
}
