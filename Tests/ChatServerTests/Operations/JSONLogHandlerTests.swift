import ChatModel
import Foundation
import Logging
import Synchronization
import Testing

@testable import ChatServer

@Suite struct JSONLogHandlerTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private static func logger(_ lines: Lines) -> Logger {
        Logger(label: "roost") { label in
            JSONLogHandler(
                label: label, now: { Timestamp(milliseconds: 1_795_435_200_250) },
                write: { line in lines.all.withLock { $0.append(line) } })
        }
    }

    @Test func `an entry is one line of JSON`() {
        let lines = Lines()
        var logger = Self.logger(lines)
        logger.logLevel = .notice
        logger.info("not this")
        logger.warning("a letter is \"tried\" again\nsoon", metadata: ["after": "5 s"])
        logger.notice("plain")
        #expect(
            lines.all.withLock { $0 } == [
                #"{"label":"roost","level":"warning","message":"a letter is \"tried\" again\nsoon","#
                    + #""metadata":{"after":"5 s"},"time":"2026-11-23T12:00:00.250Z"}"#,
                #"{"label":"roost","level":"notice","message":"plain","time":"2026-11-23T12:00:00.250Z"}"#,
            ])
    }

    @Test func `what a logger carries is there, and what is said last holds`() throws {
        let lines = Lines()
        var logger = Self.logger(lines)
        logger[metadataKey: "server"] = "one"
        logger[metadataKey: "part"] = "chat"
        logger.error(
            "mixed", metadata: ["part": "mail", "list": ["a", .stringConvertible(2)], "more": ["deep": ["in": "it"]]])
        let line = try #require(lines.all.withLock { $0.first })
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let metadata = try #require(object["metadata"] as? [String: Any])
        #expect(metadata["server"] as? String == "one" && metadata["part"] as? String == "mail")
        #expect(metadata["list"] as? [String] == ["a", "2"])
        #expect((metadata["more"] as? [String: [String: String]]) == ["deep": ["in": "it"]])
        #expect(Set(object.keys) == ["time", "level", "label", "message", "metadata"])
    }
}
