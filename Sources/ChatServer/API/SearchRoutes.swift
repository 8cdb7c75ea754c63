internal import ChatCore
internal import ChatModel

/// Finding messages.
extension ChatAPI {
    var searchRoutes: [Route] { [Route("GET", "/workspaces/{workspace_id}/search", search)] }

    /// Messages of a page: each is looked through for where its words are.
    private static let mostFound = 50

    @Sendable private func search(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        let query = try SearchQuery(request.query("query") ?? "")
        let filter = try filter(of: request)
        let (cursor, limit) = (request.cursor, min(try request.limit() ?? Self.mostFound, Self.mostFound))
        let results = try await searches.perform(of: user) {
            let found = try await service.read {
                try $0.search(query, filter, in: id, by: user, after: cursor, limit: limit)
            }
            return await snippets.results(of: found, for: query)
        }
        return try .json(results)
    }

    private func filter(of request: APIRequest) throws(ChatError) -> ChatTransaction.SearchFilter {
        var filter = ChatTransaction.SearchFilter()
        if let text = request.query("in") {
            guard let channel = ChannelID(text) else { throw .invalid("in", "This takes a channel's identifier.") }
            filter.channel = channel
        }
        if let text = request.query("from") {
            guard let author = UserID(text) else { throw .invalid("from", "This takes a user's identifier.") }
            filter.author = author
        }
        filter.before = try time("before", of: request)
        filter.after = try time("after", of: request)
        for name in (request.query("has") ?? "").split(separator: ",") {
            guard let feature = ChatTransaction.SearchFilter.Feature(rawValue: String(name)) else {
                throw .invalid("has", "This takes link, file, reaction, pin and thread, with commas between them.")
            }
            filter.features.insert(feature)
        }
        return filter
    }

    private func time(_ name: String, of request: APIRequest) throws(ChatError) -> Timestamp? {
        guard let text = request.query(name) else { return nil }
        guard let time = Timestamp(text) else { throw .invalid(name, "This takes a time of RFC 3339.") }
        return time
    }
}
