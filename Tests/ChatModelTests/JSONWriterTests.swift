import Foundation
import Testing

@testable import ChatModel

/// The writer's text against the encoder's, byte for byte.
@Suite struct JSONWriterTests {
    /// Makes one of each model, of whatever can be in it.
    struct Maker {
        var random: SeededRandom

        mutating func chance() -> Bool { .random(using: &random) }

        mutating func maybe<Value>(_ make: (inout Maker) -> Value) -> Value? { chance() ? make(&self) : nil }

        mutating func some<Value>(_ make: (inout Maker) -> Value) -> [Value] {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in make(&self) }
        }

        mutating func id<Named>() -> Identifier<Named> {
            var uuid = UUID().uuid
            withUnsafeMutableBytes(of: &uuid) { bytes in
                for index in bytes.indices { bytes[index] = .random(in: 0...255, using: &random) }
            }
            return Identifier(UUID(uuid: uuid))
        }

        /// From before the first moment that RFC 3339 can write to behind the last.
        mutating func time() -> Timestamp {
            Timestamp(milliseconds: .random(in: -70_000_000_000_000...300_000_000_000_000, using: &random))
        }

        mutating func number() -> Int64 { chance() ? .random(in: .min ... .max, using: &random) : 0 }

        /// Control characters and what is escaped as often as everything else.
        mutating func text() -> String {
            var text = ""
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let highest: UInt32 = [0x1f, 0x7f, 0xd7ff, 0x10_ffff].randomElement(using: &random) ?? 0
                let scalar = Unicode.Scalar(UInt32.random(in: 0...highest, using: &random)) ?? "\""
                text.unicodeScalars.append(
                    chance() ? scalar : ["\"", "\\", "/", "a"].randomElement(using: &random) ?? "b")
            }
            return text
        }

        mutating func one<Value>(of values: [Value]) -> Value {
            values[Int.random(in: values.indices, using: &random)]
        }

        mutating func profile() -> Profile {
            Profile(
                id: id(), username: text(), displayName: text(), avatarURL: maybe { $0.text() },
                status: one(of: UserStatus.allCases), statusText: text(), isDeactivated: chance(), createdAt: time(),
                updatedAt: time())
        }

        mutating func file() -> FileInfo {
            FileInfo(
                id: id(), name: text(), mediaType: text(), size: number(), width: maybe { Int($0.number()) },
                height: maybe { Int($0.number()) }, hasThumbnail: chance(), createdAt: time())
        }

        mutating func call() -> Call {
            Call(
                id: id(), workspaceID: id(), channelID: id(), messageID: id(), kind: one(of: CallKind.allCases),
                media: one(of: CallMedia.allCases), room: text(), startedBy: profile(), startedAt: time(),
                endedAt: maybe { $0.time() }, endReason: maybe { $0.one(of: CallEndReason.allCases) },
                participants: some {
                    CallParticipant(
                        user: $0.profile(), state: $0.one(of: CallParticipantState.allCases),
                        joinedAt: $0.maybe { $0.time() }, leftAt: $0.maybe { $0.time() })
                }, version: number())
        }

        mutating func message() -> Message {
            Message(
                id: id(), workspaceID: id(), channelID: id(), user: profile(), threadID: maybe { $0.id() },
                kind: one(of: MessageKind.allCases), content: text(), clientID: maybe { $0.text() }, sequence: number(),
                createdAt: time(), editedAt: maybe { $0.time() }, deletedAt: maybe { $0.time() },
                pinnedAt: maybe { $0.time() },
                mentions: Mentions(userIDs: some { $0.id() }, isChannel: chance(), isHere: chance()),
                reactions: some { Reaction(emoji: $0.text(), userIDs: $0.some { $0.id() }) },
                files: some { $0.file() }, call: maybe { $0.call() }, replyCount: Int(number()),
                lastReplyAt: maybe { $0.time() }, version: number())
        }

        mutating func page() -> Page<Message> {
            Page(some { $0.message() }, before: maybe { Cursor($0.text()) }, after: maybe { Cursor($0.text()) })
        }

        mutating func results() -> Page<SearchResult> {
            Page(
                some {
                    SearchResult(
                        message: $0.message(), snippet: $0.some { SnippetPiece($0.text(), isMatch: $0.chance()) })
                })
        }
    }

    private static func written(_ value: any JSONWritable) -> String {
        var writer = JSONWriter()
        value.write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test(arguments: 0..<200)
    func `whatever is in a page, it is written as the encoder writes it`(seed: UInt64) throws {
        var maker = Maker(random: SeededRandom(seed: seed))
        let (page, results) = (maker.page(), maker.results())
        #expect(try Self.written(page) == json(page))
        #expect(try Self.written(results) == json(results))
        #expect(try decode(Page<Message>.self, Self.written(page)).items.count == page.items.count)
    }

    @Test func `each character that JSON escapes is escaped as the encoder does it`() throws {
        for value in 0..<UInt32(0x100) {
            let text = Unicode.Scalar(value).map { "a\($0)b" } ?? ""
            #expect(try Self.written([text, ""]) == json([text, ""]))
        }
    }

    /// A member that is new in a model and not in the writer would be left out; one that is optional is seen here only
    /// if it is set.
    @Test func `with all that a message can have, nothing is left out`() throws {
        var call = Sample.call
        (call.room, call.nodeURL) = ("not in JSON", "not in JSON")
        var message = Sample.message
        (message.call, message.deletedAt) = (call, Sample.later)
        let values: [any JSONWritable] = [message, message.user, message.files[0], call, call.participants[0]]
        for value in values {
            for member in Mirror(reflecting: value).children {
                let isNil =
                    Mirror(reflecting: member.value).displayStyle == .optional
                    && Mirror(reflecting: member.value).children.isEmpty
                #expect(!isNil, "\(member.label ?? "") is not set here")
            }
            #expect(try Self.written(value) == json(value))
        }
    }

    @Test func `what does not write itself is encoded`() throws {
        #expect(String(decoding: try JSONWriter.json(Sample.channel), as: UTF8.self) == Sample.channelText)
        #expect(String(decoding: try JSONWriter.json(Sample.message), as: UTF8.self) == Sample.messageText)
    }
}
