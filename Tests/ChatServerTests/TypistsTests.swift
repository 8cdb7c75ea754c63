import ChatModel
import Foundation
import Testing

@testable import ChatServer

struct TypistsTests {
    private let typist = Typists.Typist(
        workspace: WorkspaceID(UUID()), channel: ChannelID(UUID()), user: UserID(UUID()))

    private func at(_ seconds: Double) -> Timestamp { Timestamp(milliseconds: Int64(seconds * 1_000)) }

    @Test func `tells of typing once in three seconds`() {
        var typists = Typists()
        #expect(typists.begin(typist, thread: nil, at: at(0)))
        #expect(!typists.begin(typist, thread: nil, at: at(2.9)))
        #expect(typists.begin(typist, thread: nil, at: at(3)))
    }

    @Test func `who says nothing for six seconds types no more`() {
        var typists = Typists()
        _ = typists.begin(typist, thread: nil, at: at(0))
        _ = typists.begin(typist, thread: nil, at: at(2))
        #expect(typists.expire(at: at(7.9)).isEmpty)
        #expect(typists.expire(at: at(8)).map(\.0) == [typist])
        #expect(typists.isEmpty)
    }

    @Test func `stopping is told once`() {
        var typists = Typists()
        _ = typists.begin(typist, thread: nil, at: at(0))
        #expect(typists.end(typist) != nil)
        #expect(typists.end(typist) == nil)
    }
}
