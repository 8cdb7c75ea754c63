internal import ChatCore
internal import Foundation

/// Types of PostgreSQL's (`pg_type.dat`).
private enum TypeID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let varchar: UInt32 = 1043
    static let uuid: UInt32 = 2950
    static let unknown: UInt32 = 0
}

/// A parameter in PostgreSQL's binary form.
struct PostgresParameter {
    let type: UInt32
    /// Nil for NULL.
    let bytes: [UInt8]?

    init(_ value: SQLValue) {
        switch value {
        case .null: (type, bytes) = (TypeID.unknown, nil)
        case .integer(let number): (type, bytes) = (TypeID.int8, withUnsafeBytes(of: number.bigEndian) { Array($0) })
        case .text(let text): (type, bytes) = (TypeID.text, Array(text.utf8))
        case .bytes(let value): (type, bytes) = (TypeID.bytea, value)
        case .uuid(let uuid): (type, bytes) = (TypeID.uuid, withUnsafeBytes(of: uuid.uuid) { Array($0) })
        }
    }
}

/// Reads a column's values from PostgreSQL's binary form.
struct PostgresColumn {
    private enum Kind { case integer, text, bytes, uuid, flag }
    private let kind: Kind

    init(type: UInt32) throws {
        switch type {
        case TypeID.int8, TypeID.int4: kind = .integer
        case TypeID.text, TypeID.varchar: kind = .text
        case TypeID.bytea: kind = .bytes
        case TypeID.uuid: kind = .uuid
        case TypeID.bool: kind = .flag
        default: throw PostgresFault.unreadableType(type)
        }
    }

    func value(of bytes: UnsafeRawBufferPointer) throws -> SQLValue {
        switch kind {
        case .integer:
            // Of four bytes or of eight, the first one with the sign.
            let first: Int64 = (bytes.first ?? 0) & 0x80 == 0 ? 0 : -1
            return .integer(bytes.reduce(first) { $0 << 8 | Int64($1) })
        case .text: return .text(String(decoding: bytes, as: UTF8.self))
        case .bytes: return .bytes(Array(bytes))
        case .uuid: return .bytes(Array(bytes))
        case .flag: return .integer(bytes.first == 0 ? 0 : 1)
        }
    }
}
