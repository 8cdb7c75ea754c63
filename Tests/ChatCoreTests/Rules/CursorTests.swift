import ChatModel
import Testing

@testable import ChatCore

@Suite struct CursorTests {
    @Test(arguments: [0, 1, 35, 36, 1_000_000, .max] as [Int64])
    func `a number comes back as it was`(number: Int64) throws {
        #expect(try Cursor(sequence: number).sequence() == number)
    }

    @Test(arguments: [(0, 0), (50, 1_207), (2_000, .max)] as [(Int64, Int64)])
    func `a place in a list that is counted comes back as it was`(skipped: Int64, newest: Int64) throws {
        let place = try Cursor(skipped: skipped, upTo: newest).position()
        #expect(place.skipped == skipped && place.newest == newest)
        let old = try Cursor(sequence: skipped).position()
        #expect(old.skipped == skipped && old.newest == nil)
    }

    @Test(arguments: ["", "p", "p1", "p1.", "p.1", "p1.1.1", "p-1.1", "p1.-1", "p1.1 ", "p1.é", "s1.1", "n1", "s-1"])
    func `what is no such place is refused`(text: String) {
        #expect(throws: ChatError.invalid("cursor", "This cursor is not from this list.")) {
            try Cursor(text).position()
        }
    }

    @Test(arguments: ["", "ann", "équipe", "雑談", "s1", "n", String(repeating: "é", count: 199)])
    func `a name comes back as it was`(name: String) throws {
        #expect(try Cursor(name: name).name() == name)
    }

    @Test(arguments: [
        "", "s", "s-1", "s 1", "s1 ", "s1.5", "s!", "sé", "S1", "nann", "1", "s9zzzzzzzzzzzzzzzz", "s1\u{0}",
    ])
    func `what is no number's cursor is refused`(text: String) {
        #expect(throws: ChatError.invalid("cursor", "This cursor is not from this list.")) {
            try Cursor(text).sequence()
        }
    }

    @Test(arguments: ["", "s1", "a", "Nann", "nann\u{0}", "n" + String(repeating: "é", count: 200)])
    func `what is no name's cursor is refused`(text: String) {
        #expect(throws: ChatError.invalid("cursor", "This cursor is not from this list.")) {
            try Cursor(text).name()
        }
    }

    @Test func `a page is never empty by request, and never without end`() async throws {
        let world = try await ChatWorld(.sqlite)
        let lengths = try await world.look { transaction in
            [nil, 0, -5, 1, 50, 200, 201, .max].map { transaction.pageLength($0) }
        }
        #expect(lengths == [50, 1, 1, 1, 50, 200, 200, 200])
    }
}
