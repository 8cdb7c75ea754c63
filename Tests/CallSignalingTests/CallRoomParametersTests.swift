import Foundation
import Testing

@testable import CallSignaling

struct CallRoomParametersTests {
    @Test(arguments: [
        "A", "Анна Їжак", "😀", " a ", String(repeating: "x", count: 64), String(repeating: "😀", count: 64),
    ])
    func `takes a name`(name: String) {
        #expect(throws: Never.self) { try CallRoomParameters.checkName(name) }
    }

    @Test(arguments: [
        // 64 characters, but 18 bytes each.
        String(repeating: "👨‍👩‍👧", count: 64), String(repeating: "x", count: 65),
        "a" + String(repeating: "\u{301}", count: 200),
    ])
    func `refuses a name that is too long`(name: String) {
        #expect(throws: CallRoomRefusal.usernameTooLong) { try CallRoomParameters.checkName(name) }
    }

    @Test(arguments: [
        "a\nb", "a\r\n", "\u{0}", "\u{7f}", "\u{85}", "\u{2028}", "\u{202e}abc", "\u{202a}", "\u{2066}x", "\u{2069}",
        "\u{fffd}",
    ])
    func `refuses a name that disturbs the line it is shown in`(name: String) {
        #expect(throws: CallRoomRefusal.usernameUnprintable) { try CallRoomParameters.checkName(name) }
    }

    @Test(arguments: ["", "   ", "\u{a0}"])
    func `refuses a name of nothing`(name: String) {
        #expect(throws: CallRoomRefusal.malformed(.username)) { try CallRoomParameters.checkName(name) }
    }

    @Test func `says what is wrong with a name`() {
        #expect(CallRoomRefusal.usernameTooLong.message == "username has to be at most 64 characters and 256 bytes")
        #expect(CallRoomRefusal.usernameUnprintable.field == .username)
        #expect(CallRoomRefusal.usernameUnprintable.code == "malformed_parameter")
    }

    /// The same names as `CallNameTests` of the client.
    @Test func `takes and refuses the same names as the client`() throws {
        struct Names: Decodable {
            let taken, unprintable, empty: [String]
        }
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/call-names.json")
        let names = try JSONDecoder().decode(Names.self, from: Data(contentsOf: file))
        for name in names.taken { #expect(throws: Never.self) { try CallRoomParameters.checkName(name) } }
        for name in names.unprintable {
            #expect(throws: CallRoomRefusal.usernameUnprintable) { try CallRoomParameters.checkName(name) }
        }
        for name in names.empty {
            #expect(throws: CallRoomRefusal.malformed(.username)) { try CallRoomParameters.checkName(name) }
        }
    }
}
