import ChatModel
import Testing

@testable import ChatCore

@Suite struct NotificationRuleTests {
    /// A row: what is so, and what becomes of the message.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let verdict: NotificationVerdict
        let facts: NotificationFacts

        init(_ name: String, _ verdict: NotificationVerdict, _ change: (inout NotificationFacts) -> Void) {
            var facts = NotificationFacts()
            change(&facts)
            (testDescription, self.verdict, self.facts) = (name, verdict, facts)
        }
    }

    static let rows = [
        Row("any message of a channel", .push(.channel)) { _ in },
        Row("only mentions, and it is none", .nothing(.level)) { $0.level = .mentions },
        Row("nothing of this channel", .nothing(.level)) { $0.level = .none },
        Row("their own", .nothing(.own)) { ($0.isAuthor, $0.isDirect) = (true, true) },
        Row("named", .push(.named)) { ($0.isNamed, $0.level) = (true, .mentions) },
        Row("named where they want nothing", .nothing(.level)) { ($0.isNamed, $0.level) = (true, .none) },
        Row("direct", .push(.direct)) { ($0.isDirect, $0.level) = (true, .mentions) },
        Row("direct, from somebody they want nothing of", .nothing(.level)) { ($0.isDirect, $0.level) = (true, .none) },
        Row("@channel", .push(.everybody)) { ($0.mentionsChannel, $0.level) = (true, .mentions) },
        Row("@here, and they are, but away", .push(.here)) {
            ($0.mentionsHere, $0.isConnected, $0.status, $0.level) = (true, true, .away, .mentions)
        },
        Row("@here, and they have gone since", .push(.here)) { ($0.mentionsHere, $0.level) = (true, .mentions) },
        Row("a thread of theirs", .push(.thread)) {
            ($0.isInThread, $0.followsThread, $0.level) = (true, true, .mentions)
        },
        Row("a thread of others", .nothing(.notConcerned)) { $0.isInThread = true },
        Row("named in a thread of others", .push(.named)) { ($0.isInThread, $0.isNamed) = (true, true) },
        Row("a thread in a direct message", .push(.direct)) { ($0.isInThread, $0.isDirect) = (true, true) },
        Row("a thread that they have turned away from", .nothing(.notConcerned)) {
            ($0.isInThread, $0.followsThread) = (true, false)
        },
        Row("the same in a direct message", .nothing(.notConcerned)) {
            ($0.isInThread, $0.isDirect, $0.followsThread) = (true, true, false)
        },
        Row("named in one", .push(.named)) {
            ($0.isInThread, $0.isNamed, $0.followsThread) = (true, true, false)
        },
        Row("read already", .nothing(.read)) { ($0.isRead, $0.isNamed) = (true, true) },
        Row("connected", .nothing(.active)) { ($0.isConnected, $0.isDirect) = (true, true) },
        Row("connected, but away", .push(.direct)) { ($0.isConnected, $0.status, $0.isDirect) = (true, .away, true) },
        Row("connected and busy is there", .nothing(.active)) { ($0.isConnected, $0.status) = (true, .busy) },
        Row("connected, and always", .push(.named)) {
            ($0.isConnected, $0.pushWhen, $0.isNamed) = (true, .always, true)
        },
        Row("never", .nothing(.never)) { ($0.pushWhen, $0.isNamed) = (.never, true) },
        Row("quiet hours", .nothing(.quiet)) { ($0.isQuiet, $0.isDirect) = (true, true) },
        Row("quiet hours, and always", .nothing(.quiet)) {
            ($0.isQuiet, $0.pushWhen, $0.isNamed) = (true, .always, true)
        },
    ]

    @Test(arguments: rows) func `each row of the table is so`(row: Row) {
        #expect(NotificationRule.verdict(row.facts) == row.verdict)
    }

    @Test func `each reason and each silence has a row`() {
        let silences = Self.rows.compactMap { if case .nothing(let silence) = $0.verdict { silence } else { nil } }
        let reasons = Self.rows.compactMap { if case .push(let reason) = $0.verdict { reason } else { nil } }
        #expect(Set(silences) == Set(NotificationVerdict.Silence.allCases))
        #expect(Set(reasons) == Set(NotificationReason.allCases))
    }

    @Test func `what is wanted of mentions alone is wanted of everything, and nothing of none`() {
        for reason in NotificationReason.allCases {
            let levels = NotificationRule.levels(of: reason)
            #expect(levels.contains(.all) && !levels.contains(.none))
        }
    }

    @Test func `calls ring unless never`() {
        #expect(PushWhen.allCases.filter { NotificationRule.rings($0) } == [.always, .away])
    }
}
