import ClientKit
import Foundation
import Testing

/// The same names as `CallRoomParametersTests` of the server.
struct CallNameTests {
    struct Names: Decodable {
        struct Repeated: Decodable {
            let name: String

            init(from decoder: any Decoder) throws {
                var values = try decoder.unkeyedContainer()
                name = String(repeating: try values.decode(String.self), count: try values.decode(Int.self))
            }
        }

        let taken: [String]
        let takenRepeated: [Repeated]
        let tooLong: [Repeated]
        let unprintable: [String]
        let empty: [String]

        static func read() throws -> Names {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Vectors/call-names.json")
            return try JSONDecoder().decode(Names.self, from: Data(contentsOf: file))
        }
    }

    @Test func `a name that the server would refuse is refused before`() throws {
        let names = try Names.read()
        for name in names.taken + names.takenRepeated.map(\.name) { #expect(CallName.problem(with: name) == nil) }
        for name in names.tooLong { #expect(CallName.problem(with: name.name) == .tooLong) }
        for name in names.unprintable { #expect(CallName.problem(with: name) == .unprintable) }
        for name in names.empty { #expect(CallName.problem(with: name) == .empty) }
    }
}
