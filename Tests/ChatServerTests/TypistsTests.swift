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
        let told = [0, 2.9, 3].map { typists.begin(typist, thread: nil, at: at($0)) }
        #expect(told == [true, false, true])
    }

    @Test func `who says nothing for six seconds types no more`() {
        var typists = Typists()
        _ = typists.begin(typist, thread: nil, at: at(0))
        _ = typists.begin(typist, thread: nil, at: at(2))
        let (early, late) = (typists.expire(at: at(7.9)), typists.expire(at: at(8)))
        #expect(early.isEmpty)
        #expect(late.map(\.0) == [typist])
        #expect(typists.isEmpty)
    }

    @Test func `stopping is told once`() {
        var typists = Typists()
        _ = typists.begin(typist, thread: nil, at: at(0))
        let (first, second) = (typists.end(typist), typists.end(typist))
        #expect(first != nil)
        #expect(second == nil)
    }
}
