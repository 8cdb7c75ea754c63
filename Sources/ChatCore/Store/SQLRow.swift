package import ChatModel
internal import Foundation

/// A row whose columns are read in their order. A value of another kind than expected is a fault of the database's
/// content, never of a request.
package struct SQLRow: Sendable, Equatable {
    private let values: [SQLValue]
    private var index = 0

    package init(_ values: [SQLValue]) { self.values = values }

    private mutating func next() throws -> SQLValue {
        guard index < values.count else { throw SQLRowFault(column: index, expected: "a column") }
        defer { index += 1 }
        return values[index]
    }

    private func fault(_ expected: String) -> SQLRowFault { SQLRowFault(column: index - 1, expected: expected) }

    package mutating func integerOrNull() throws -> Int64? {
        switch try next() {
        case .null: return nil
        case .integer(let value): return value
        case .text, .bytes, .uuid: throw fault("a number")
        }
    }

    package mutating func textOrNull() throws -> String? {
        switch try next() {
        case .null: return nil
        case .text(let value): return value
        case .integer, .bytes, .uuid: throw fault("a text")
        }
    }

    package mutating func bytesOrNull() throws -> [UInt8]? {
        switch try next() {
        case .null: return nil
        case .bytes(let value): return value
        case .integer, .text, .uuid: throw fault("bytes")
        }
    }

    package mutating func bytes() throws -> [UInt8] {
        guard let value = try bytesOrNull() else { throw fault("bytes") }
        return value
    }

    package mutating func idOrNull<Named>() throws -> Identifier<Named>? {
        switch try next() {
        case .null: return nil
        case .uuid(let value): return Identifier(value)
        // SQLite has no type of its own for them.
        case .bytes(let bytes):
            guard bytes.count == 16 else { throw fault("16 bytes of an identifier") }
            return Identifier(
                UUID(
                    uuid: (
                        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8],
                        bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
                    )))
        case .integer, .text: throw fault("an identifier")
        }
    }

    package mutating func integer() throws -> Int64 {
        guard let value = try integerOrNull() else { throw fault("a number") }
        return value
    }

    package mutating func int() throws -> Int { Int(try integer()) }

    package mutating func intOrNull() throws -> Int? { try integerOrNull().map { Int($0) } }

    package mutating func flag() throws -> Bool { try integer() != 0 }

    package mutating func text() throws -> String {
        guard let value = try textOrNull() else { throw fault("a text") }
        return value
    }

    package mutating func id<Named>() throws -> Identifier<Named> {
        guard let value: Identifier<Named> = try idOrNull() else { throw fault("an identifier") }
        return value
    }

    package mutating func time() throws -> Timestamp { Timestamp(milliseconds: try integer()) }

    package mutating func timeOrNull() throws -> Timestamp? {
        try integerOrNull().map { Timestamp(milliseconds: $0) }
    }

    /// A name that the code knows; another one was written by a newer server.
    package mutating func name<Name: RawRepresentable<String>>() throws -> Name {
        guard let name = Name(rawValue: try text()) else { throw fault("a \(Name.self)") }
        return name
    }
}

/// The database holds something that this server cannot read.
package struct SQLRowFault: Error, Equatable, CustomStringConvertible {
    package let column: Int
    package let expected: String
    package var description: String { "Column \(column) of a row is not \(expected)." }
}
