import Foundation
import Testing

@testable import ChatModel

@Suite struct IdentifierTests {
    private static let text = "0190f5c2-7b1a-7c3d-9e4f-0123456789ab"

    @Test func `it is the text of a UUID in lower case, however it was written`() throws {
        let identifier = try #require(UserID(Self.text))
        #expect(identifier.description == Self.text)
        #expect(UserID(Self.text.uppercased()) == identifier)
        #expect(UserID(identifier.uuid) == identifier)
    }

    @Test(
        arguments: [
            "", "ann", "0190f5c27b1a7c3d9e4f0123456789ab", "{0190f5c2-7b1a-7c3d-9e4f-0123456789ab}",
            "urn:uuid:0190f5c2-7b1a-7c3d-9e4f-0123456789ab", "0190f5c2-7b1a-7c3d-9e4f-0123456789a",
            "0190f5c2-7b1a-7c3d-9e4f-0123456789abc", " 0190f5c2-7b1a-7c3d-9e4f-0123456789a",
            "0190f5c2-7b1a-7c3d-9e4f-0123456789a ", "0190f5c27-b1a-7c3d-9e4f-0123456789ab",
            "0190f5c2-7b1a-7c3d-9e4f-0123456789ag", "0190f5c2_7b1a_7c3d_9e4f_0123456789ab",
            // What C's scanning of numbers takes, and RFC 9562 §4 does not.
            "+190f5c2-7b1a-7c3d-9e4f-0123456789ab", "0190f5c2--b1a-7c3d-9e4f-0123456789ab",
            "0190f5c2-7b1a-7c3d-9e4f-01234567890٣",
        ])
    func `what is no UUID of RFC 9562 names nothing`(text: String) {
        #expect(UserID(text) == nil)
    }

    @Test func `identifiers sort by their bytes, and so by when they were made`() throws {
        let texts = [
            "0190f5c2-7b1a-7c3d-9e4f-0123456789ab", "0190f5c2-7b1a-7c3d-9e4f-0123456789ac",
            "0190f5c2-7b1b-7000-8000-000000000000", "0190f5c3-0000-7000-8000-000000000000",
            "8190f5c2-7b1a-7c3d-9e4f-0123456789ab", "ff90f5c2-7b1a-7c3d-9e4f-0123456789ab",
        ]
        let identifiers = texts.compactMap { MessageID($0) }
        #expect(identifiers.reversed().sorted().map(\.description) == texts)
        #expect(!(identifiers[0] < identifiers[0]))
    }

    @Test func `in JSON it is its text, and another text is an error`() throws {
        let identifier = try #require(ChannelID(Self.text))
        #expect(try json([identifier]) == #"["\#(Self.text)"]"#)
        #expect(try decode([ChannelID].self, #"["\#(Self.text.uppercased())"]"#) == [identifier])
        for text in [#"["general"]"#, #"[""]"#, "[7]", "[null]"] {
            #expect(throws: DecodingError.self) { try decode([ChannelID].self, text) }
        }
    }
}
