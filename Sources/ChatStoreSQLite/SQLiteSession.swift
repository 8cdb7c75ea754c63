internal import ChatCore
internal import Foundation
internal import GRDB
internal import Synchronization

/// A transaction of SQLite's.
final class SQLiteSession: SQLSession {
    private let db: Database

    init(_ db: Database) { self.db = db }

    var dialect: SQLDialect { .sqlite }

    func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        let statement = try db.cachedStatement(sql: SQLiteParameters.numbered(sql))
        let cursor = try Row.fetchCursor(statement, arguments: Self.arguments(arguments))
        var rows: [SQLRow] = []
        while let row = try cursor.next() {
            rows.append(SQLRow(row.databaseValues.map(Self.value)))
        }
        return rows
    }

    func run(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
        let statement = try db.cachedStatement(sql: SQLiteParameters.numbered(sql))
        try statement.execute(arguments: Self.arguments(arguments))
        return db.changesCount
    }

    private static func arguments(_ values: [SQLValue]) -> StatementArguments {
        StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value {
                case .null: nil
                case .integer(let number): number
                case .text(let text): text
                case .bytes(let bytes): Data(bytes)
                case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { Data($0) }
                }
            })
    }

    private static func value(_ value: DatabaseValue) -> SQLValue {
        switch value.storage {
        case .null: .null
        case .int64(let number): .integer(number)
        // Sums of PostgreSQL's kind do not occur; what SQLite computes of whole numbers is whole.
        case .double(let number): .integer(Int64(number))
        case .string(let text): .text(text)
        case .blob(let data): .bytes([UInt8](data))
        }
    }
}

/// SQLite writes `?1` where the tables' SQL has `$1`.
enum SQLiteParameters {
    private static let known = Mutex<[String: String]>([:])

    static func numbered(_ sql: String) -> String {
        guard sql.utf8.contains(UInt8(ascii: "$")) else { return sql }
        return known.withLock { known in
            if let made = known[sql] { return made }
            let made = sql.replacing("$", with: "?")
            // There are as many texts as the code has, and some for lists of each length.
            if known.count < 4_096 { known[sql] = made }
            return made
        }
    }
}
