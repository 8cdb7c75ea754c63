import ChatModel
import Foundation
import Testing

@testable import ChatServer

/// The chat's part of `/metrics`.
@Suite struct ChatStatisticsTests {
    private static func values(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                let place = line.lastIndex(of: " ") ?? line.endIndex
                return (String(line[..<place]), String(line[place...].dropFirst()))
            }, uniquingKeysWith: { $1 })
    }

    @Test func `requests are counted by route and class of status, and messages and refusals with them`() async throws {
        let fixture = try await ServerFixture()
        let ann = try await fixture.login("ann")
        let token = ann.accessToken
        let workspace: WorkspaceListing = try await fixture.ask(
            "POST", "/workspaces", CreateWorkspaceRequest(name: "Harbour"), token: token
        ).json()
        let id = workspace.workspace.id
        let channels: Page<ChannelListing> = try await fixture.ask("GET", "/workspaces/\(id)/channels", token: token)
            .json()
        let channel = try #require(channels.items.first?.channel.id)
        for number in 0..<3 {
            let answer = try await fixture.ask(
                "POST", "/channels/\(channel)/messages", SendMessageRequest(content: "number \(number)"), token: token)
            #expect(answer.status == 201)
        }
        #expect(try await fixture.ask("GET", "/channels/\(id)", token: token).status == 404)
        #expect(try await fixture.ask("GET", "/nowhere", token: token).status == 404)
        #expect(try await fixture.ask("GET", "/users/me").status == 401)
        let values = Self.values(await fixture.server.metrics())
        let sending = #"method="POST",route="/channels/{channel_id}/messages""#
        #expect(values["roost_chat_http_requests_total{\(sending),code=\"2xx\"}"] == "3")
        #expect(values["roost_chat_http_request_duration_seconds_count{\(sending)}"] == "3")
        #expect(values["roost_chat_http_request_duration_seconds_bucket{\(sending),le=\"+Inf\"}"] == "3")
        #expect(
            values[#"roost_chat_http_requests_total{method="GET",route="/channels/{channel_id}",code="4xx"}"#] == "1")
        #expect(values[#"roost_chat_http_requests_total{method="",route="",code="4xx"}"#] == "1")
        #expect(values[#"roost_chat_http_requests_total{method="GET",route="/users/me",code="4xx"}"#] == "1")
        #expect(values["roost_chat_messages_sent_total"] == "3")
        #expect(values["roost_chat_calls"] == "0")
        #expect(values["roost_chat_database_waiting"] == "0")
        #expect(values[#"roost_chat_limited_total{kind="request"}"#] == "0")
        // No route that nobody has asked for, and no identifiers.
        #expect(!values.keys.contains { $0.contains("reactions") || $0.contains("\(id)") })
    }

    @Test func `who asks too often is counted`() async throws {
        let fixture = try await ServerFixture()
        for _ in 0..<62 { _ = try await fixture.ask("POST", "/auth/refresh", RefreshRequest(refreshToken: "none")) }
        let values = Self.values(await fixture.server.metrics())
        #expect(values[#"roost_chat_limited_total{kind="request"}"#] == "2")
    }

    @Test func `each line has a name, its help and its type, as Prometheus reads them`() async throws {
        let fixture = try await ServerFixture()
        _ = try await fixture.login("ann")
        let text = await fixture.server.metrics()
        var types: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE ") {
                #expect(types[String(words[2])] == nil, "\(line)")
                types[String(words[2])] = String(words[3])
            } else if !line.hasPrefix("#") {
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                let family = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map {
                    String(name.dropLast($0.count))
                }
                #expect(types[name] != nil || types[family ?? ""] == "histogram", "\(line)")
                #expect(types[name] != "counter" || name.hasSuffix("_total"), "\(line)")
                #expect(Double(words.last ?? "") != nil, "\(line)")
            }
        }
        #expect(types.count > 15)
    }

    @Test func `durations are counted up to each bound`() {
        let histogram = DurationHistogram()
        for milliseconds in [1, 2, 30, 30, 700, 20_000] { histogram.record(.milliseconds(milliseconds)) }
        let (upTo, count, seconds) = histogram.snapshot
        let found = Dictionary(uniqueKeysWithValues: zip(DurationHistogram.bounds, upTo))
        #expect(found[0.001] == 1 && found[0.0025] == 2 && found[0.025] == 2 && found[0.05] == 4)
        #expect(found[0.5] == 4 && found[1] == 5 && found[10] == 5)
        #expect(count == 6 && abs(seconds - 20.763) < 0.000_001)
    }

    @Test func `a histogram is written with its bounds, its sum and its count`() {
        var text = MetricsText()
        let histogram = DurationHistogram()
        histogram.record(.milliseconds(1_500))
        text.add("roost_wait_seconds", "How long.", [([("kind", "a\"b\\c\nd")], histogram)])
        let lines = text.text.split(separator: "\n")
        let kind = #"kind="a\"b\\c\nd""#
        #expect(lines.first == "# HELP roost_wait_seconds How long.")
        #expect(lines.contains("# TYPE roost_wait_seconds histogram"))
        #expect(lines.contains("roost_wait_seconds_bucket{\(kind),le=\"1\"} 0"))
        #expect(lines.contains("roost_wait_seconds_bucket{\(kind),le=\"2.5\"} 1"))
        #expect(lines.contains("roost_wait_seconds_bucket{\(kind),le=\"+Inf\"} 1"))
        #expect(lines.contains("roost_wait_seconds_sum{\(kind)} 1.5"))
        #expect(lines.last == "roost_wait_seconds_count{\(kind)} 1")
    }

    @Test func `people are counted once, with however many sockets`() {
        let counters = RealtimeCounters()
        let (ann, bob) = (UserID(UUID()), UserID(UUID()))
        for user in [ann, ann, bob] { counters.socketOpened(by: user) }
        #expect(counters.open == (3, 2))
        counters.socketClosed(by: ann)
        #expect(counters.open == (2, 2))
        for user in [ann, bob] { counters.socketClosed(by: user) }
        #expect(counters.open == (0, 0) && counters.opened.value == 3)
    }
}
