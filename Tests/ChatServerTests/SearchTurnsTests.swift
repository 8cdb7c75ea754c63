import ChatModel
import Foundation
import Testing

@testable import ChatCore
@testable import ChatServer

@Suite(.timeLimit(.minutes(2))) struct SearchTurnsTests {
    private let ann = UserID(UUID())
    private let bob = UserID(UUID())

    @Test func `three at a time, and each person's in turn`() {
        var queue = SearchQueue()
        let first = (1...3).map { queue.add($0, of: ann) }
        #expect(first == [.begins, .begins, .begins])
        let more = (4...7).map { queue.add($0, of: ann) }
        #expect(more == [.waits, .waits, .waits, .waits])
        // Bob came last, and does not wait for all of Ann's.
        let (bobs, anns) = (queue.add(8, of: bob), queue.add(9, of: ann))
        #expect(bobs == .waits && anns == .refused(.tooManyOfOne))
        let order = (1...8).map { _ in queue.end() }
        #expect(order == [4, 8, 5, 6, 7, nil, nil, nil])
        let again = (10...13).map { queue.add($0, of: bob) }
        #expect(again == [.begins, .begins, .begins, .waits])
    }

    @Test func `of all only so many wait`() {
        var queue = SearchQueue()
        var admissions: [SearchQueue.Admission] = []
        for ticket in 0..<UInt64(SearchQueue.mostRunning + SearchQueue.most + 1) {
            admissions.append(queue.add(ticket, of: UserID(UUID())))
        }
        #expect(admissions.last == .refused(.tooMany) && admissions.count { $0 == .waits } == SearchQueue.most)
    }

    /// Holds searches up until it is opened.
    private actor Gate {
        private var isOpen = false
        private var held: [CheckedContinuation<Void, Never>] = []
        private(set) var passed = 0

        func pass() async {
            passed += 1
            if !isOpen { await withCheckedContinuation { held.append($0) } }
        }

        func open() {
            isOpen = true
            for continuation in held { continuation.resume() }
            held = []
        }
    }

    @Test func `whoever searches beside many who wait is refused before the database is asked`() async throws {
        let fixture = try await ServerFixture()
        let ada = try await fixture.login("ada")
        let (owner, token) = (ada.account.profile.id, ada.accessToken)
        let workspace = try await fixture.service.write { chat in
            try chat.createWorkspace(name: "Team", slug: nil, by: owner).listing.workspace.id
        }
        let (gate, turns) = (Gate(), fixture.server.api.searches)
        let done = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<SearchQueue.mostRunning {
                group.addTask {
                    try await turns.perform(of: UserID(UUID())) {
                        await gate.pass()
                        return 1
                    }
                }
            }
            while await gate.passed < SearchQueue.mostRunning { await Task.yield() }
            // Each of these waits, and only then is known to.
            let path = "/workspaces/\(workspace)/search?query=word"
            for _ in 0..<SearchQueue.mostOfOne {
                group.addTask { try await fixture.ask("GET", path, token: token).status }
            }
            while turns.waitingCount < SearchQueue.mostOfOne { await Task.yield() }
            let refused = try await fixture.ask("GET", path, token: token)
            let code = try refused.error
            #expect(refused.status == 429 && code == "busy" && refused.header("Retry-After") == "4")
            // They have only their own to wait for.
            #expect(String(decoding: refused.body, as: UTF8.self).contains("Four of your searches wait already."))
            // Nobody else's request waits for them.
            let workspaces = try await fixture.ask("GET", "/workspaces", token: token)
            #expect(workspaces.status == 200)
            await gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(done.sorted() == [1, 1, 1, 200, 200, 200, 200])
        #expect(turns.waitingCount == 0)
    }

    @Test func `a search that fails gives its turn to the next`() async throws {
        let turns = SearchTurns()
        for _ in 0..<SearchQueue.mostRunning + 1 {
            await #expect(throws: CancellationError.self) {
                try await turns.perform(of: ann) { () async throws -> Int in throw CancellationError() }
            }
        }
        let found = try await turns.perform(of: ann) { 1 }
        #expect(found == 1)
    }
}
