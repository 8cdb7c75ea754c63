import Testing

@testable import ChatServer

struct RouteTableTests {
    private let table = RouteTable([
        Route("GET", "/channels/{channel_id}") { _ in .nothing },
        Route("PATCH", "/channels/{channel_id}") { _ in .nothing },
        Route("GET", "/channels/all") { _ in .nothing },
        Route("PUT", "/messages/{message_id}/reactions/{emoji}") { _ in .nothing },
    ])

    private func parameters(_ method: String, _ path: String) -> [String: String]? {
        guard case .found(_, let parameters) = table.match(method, path[...]) else { return nil }
        return parameters
    }

    @Test func `finds a route, and takes the escapes out of its parts`() {
        #expect(parameters("GET", "/channels/7") == ["channel_id": "7"])
        #expect(
            parameters("PUT", "/messages/7/reactions/%F0%9F%91%8B") == ["message_id": "7", "emoji": "\u{1F44B}"])
    }

    @Test func `an escaped slash parts nothing`() {
        #expect(parameters("GET", "/channels/7%2F8") == ["channel_id": "7/8"])
        #expect(parameters("GET", "/channels%2F7") == nil)
    }

    @Test(arguments: ["/channels/%", "/channels/%4", "/channels/%zz", "/channels/%ff%fe"])
    func `a broken escape is part of no path`(path: String) {
        #expect(parameters("GET", path) == nil)
    }

    @Test func `knows the methods of a path that it has`() {
        // Each once, also where two patterns take the path.
        for path: Substring in ["/channels/7", "/channels/all"] {
            guard case .otherMethod(let methods) = table.match("DELETE", path) else {
                Issue.record("the path was not found")
                return
            }
            #expect(methods == ["GET", "PATCH"])
        }
    }
}
