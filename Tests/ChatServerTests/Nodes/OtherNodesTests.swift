@testable import ChatCore
import ChatModel
import Foundation
import Testing

@testable import ChatServer

/// What a server learns of the others' people, as the dialogue on the channel goes.
struct OtherNodesTests {
    private typealias Word = NodeMessage.Word
    private typealias Step = OtherNodes.Step

    private static let start = Timestamp(milliseconds: 1_790_000_000_000)
    private let one = NodeID(UUID())
    private let two = NodeID(UUID())
    private let ada = UserID(UUID())
    private let bob = UserID(UUID())
    private let harbour = WorkspaceID(UUID())
    private let office = WorkspaceID(UUID())

    /// What node `one` says.
    private func say(_ word: Word, _ version: UInt64, at seconds: Int = 0, by node: NodeID? = nil) -> (
        NodeMessage, Timestamp
    ) {
        (
            NodeMessage(node: node ?? one, version: version, word: word),
            Self.start.advanced(by: .seconds(seconds))
        )
    }

    @Test func `who comes and goes in the order of the numbers is known`() {
        var others = OtherNodes()
        var (message, now) = say(.hello, 0)
        #expect(others.take(message, at: now).isEmpty)
        (message, now) = say(.came(ada, harbour), 1)
        #expect(others.take(message, at: now) == [.came(ada, harbour)])
        (message, now) = say(.came(ada, office), 2)
        #expect(others.take(message, at: now) == [.came(ada, office)])
        #expect(others.isThere(ada, in: harbour) && others.people(of: office) == [ada] && !others.isThere(bob))
        (message, now) = say(.went(ada), 3)
        #expect(Set(others.take(message, at: now).map { "\($0)" }).count == 2)
        #expect(!others.isThere(ada))
    }

    @Test func `who is at two nodes has gone when both say so`() {
        var others = OtherNodes()
        for node in [one, two] {
            let (message, now) = say(.came(ada, harbour), 1, by: node)
            #expect(others.take(message, at: now) == [.came(ada, harbour)])
        }
        var (message, now) = say(.went(ada), 2)
        #expect(others.take(message, at: now).isEmpty)
        #expect(others.isThere(ada, in: harbour))
        (message, now) = say(.went(ada), 2, by: two)
        #expect(others.take(message, at: now) == [.went(ada, harbour)])
    }

    @Test func `a number that is missing is asked for once a second, and everything told at once`() {
        var others = OtherNodes()
        var (message, now) = say(.came(ada, harbour), 1)
        _ = others.take(message, at: now)
        // The second was lost, and what follows it is not believed.
        (message, now) = say(.went(ada), 3, at: 1)
        #expect(others.take(message, at: now) == [.ask(one)])
        #expect(others.isThere(ada))
        (message, now) = say(.alive, 3, at: 1)
        #expect(others.take(message, at: now).isEmpty)
        (message, now) = say(.alive, 3, at: 2)
        #expect(others.take(message, at: now) == [.ask(one)])
        (message, now) = say(.everybody([harbour: [bob]]), 3, at: 2)
        #expect(others.take(message, at: now) == [.came(bob, harbour), .went(ada, harbour)])
        (message, now) = say(.went(bob), 4, at: 3)
        #expect(others.take(message, at: now) == [.went(bob, harbour)])
    }

    @Test func `a node that was there before is asked who is at it`() {
        var others = OtherNodes()
        let (message, now) = say(.alive, 17)
        #expect(others.take(message, at: now) == [.ask(one)])
    }

    @Test func `a silent node's people are gone after 15 s, or 60 s while nobody can be heard`() {
        for (isLinked, seconds) in [(true, 15), (false, 60)] {
            var others = OtherNodes()
            let (message, now) = say(.came(ada, harbour), 1)
            _ = others.take(message, at: now)
            let before = now.advanced(by: .seconds(seconds - 1))
            #expect(others.expire(isLinked: isLinked, at: before).isEmpty)
            #expect(others.alive == [one])
            #expect(others.expire(isLinked: isLinked, at: now.advanced(by: .seconds(seconds))) == [.went(ada, harbour)])
            #expect(others.alive.isEmpty)
        }
    }

    @Test func `who can be heard again is given time to say something`() {
        var others = OtherNodes()
        let (message, now) = say(.came(ada, harbour), 1)
        _ = others.take(message, at: now)
        others.linked(at: now.advanced(by: .seconds(50)))
        #expect(others.expire(isLinked: true, at: now.advanced(by: .seconds(60))).isEmpty)
        #expect(others.expire(isLinked: true, at: now.advanced(by: .seconds(65))) == [.went(ada, harbour)])
    }

    @Test func `after a goodbye its people have 10 s to come back to another node`() {
        var others = OtherNodes()
        for (word, version, node) in [
            (Word.came(ada, harbour), UInt64(1), one), (.came(bob, harbour), 2, one), (.goodbye, 2, one),
            (.came(ada, harbour), 1, two),
        ] {
            let (message, now) = say(word, version, by: node)
            _ = others.take(message, at: now)
        }
        #expect(others.alive == [two])
        #expect(others.expire(isLinked: true, at: Self.start.advanced(by: .seconds(9))).isEmpty)
        #expect(others.expire(isLinked: true, at: Self.start.advanced(by: .seconds(10))) == [.went(bob, harbour)])
        #expect(others.isThere(ada))
    }

    @Test func `whatever gets lost, after everybody was told both agree`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var (others, there): (OtherNodes, [WorkspaceID: Set<UserID>]) = (OtherNodes(), [:])
            let people = (0..<5).map { _ in UserID(UUID()) }
            var version: UInt64 = 0
            for step in 0..<40 {
                let user = people.randomElement(using: &random) ?? ada
                let word: Word
                if Bool.random(using: &random) {
                    there[harbour, default: []].insert(user)
                    word = .came(user, harbour)
                } else {
                    there[harbour]?.remove(user)
                    word = .went(user)
                }
                version += 1
                guard Int.random(in: 0..<4, using: &random) > 0 else { continue }
                let (message, now) = say(word, version, at: step)
                let isAsked = others.take(message, at: now).contains(.ask(one))
                if isAsked {
                    let (answer, later) = say(.everybody(there), version, at: step)
                    _ = others.take(answer, at: later)
                }
            }
            let (message, now) = say(.alive, version, at: 60)
            if others.take(message, at: now) == [.ask(one)] {
                let (answer, later) = say(.everybody(there), version, at: 60)
                _ = others.take(answer, at: later)
            }
            #expect(others.people(of: harbour) == there[harbour] ?? [])
        }
    }

    @Test func `a server of a version before is understood`() throws {
        let changes = try JSONDecoder().decode(
            ChatChanges.self, from: Data(#"{"workspaces":[],"hasLeftovers":true}"#.utf8))
        #expect(changes.hasLeftovers && changes.relieved.isEmpty && changes.marks.isEmpty)
    }

    @Test func `what is said is understood on the other side`() throws {
        var changes = ChatChanges()
        changes.workspaces = [harbour]
        changes.marks = [ada: ReadMark(channelID: ChannelID(UUID()), lastRead: 9)]
        changes.calls.silenced = [CallID(UUID()): [bob: true]]
        changes.calls.departures = [.init(room: "call-1", user: ada)]
        changes.calls.deadline = Self.start
        let typist = Typists.Typist(workspace: harbour, channel: ChannelID(UUID()), user: bob)
        for word: Word in [
            .hello, .alive, .goodbye, .changed(changes), .came(ada, harbour), .went(ada), .ask(two),
            .everybody([harbour: [ada, bob], office: []]), .typing(typist, thread: nil, isTyping: true),
            .typing(typist, thread: MessageID(UUID()), isTyping: false),
        ] {
            let message = NodeMessage(node: one, version: 3, word: word)
            let heard = try JSONDecoder().decode(NodeMessage.self, from: try JSONEncoder().encode(message))
            #expect(heard == message)
        }
    }
}

/// Numbers that are the same in each run (xorshift64*).
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_f491_4f6c_dd1d
    }
}
