internal import CPostgres
internal import ChatCore
internal import Foundation

/// One connection to PostgreSQL over libpq, which blocks: it belongs to the queue that uses it.
final class PostgresConnection: SQLSession {
    private let connection: OpaquePointer
    /// Statements that the server has prepared, by their text and the kinds of their parameters.
    private var prepared: [Statement: String] = [:]
    /// More than the code has; the texts with lists of each length are why there is a limit at all.
    private static let mostPrepared = 512

    /// Seconds to connect in: a host that swallows packets would be waited for until the kernel gives up, minutes
    /// later.
    private static let patience = "5"

    private struct Statement: Hashable {
        let sql: String
        let kinds: [UInt32]
    }

    /// - Parameter address: as libpq takes it: `postgresql://user@host/database`, or `host=… dbname=…`.
    init(_ address: String) throws {
        guard let connection = roost_pq_connect(address, Self.patience) else { throw PostgresFault.outOfMemory }
        self.connection = connection
        // All of it is there by now, so `deinit` gives the connection back, also of one that was not made.
        guard PQstatus(connection) == CONNECTION_OK else {
            throw PostgresFault.notConnected(Self.message(of: connection))
        }
        // Notices would go to standard error.
        _ = PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    var isConnected: Bool { PQstatus(connection) == CONNECTION_OK }

    private static func message(of connection: OpaquePointer) -> String {
        String(cString: PQerrorMessage(connection)).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    var dialect: SQLDialect { .postgres }

    // MARK: Statements

    /// Several statements, or one that is not worth preparing; without parameters.
    func execute(_ sql: String) throws {
        let result = PQexec(connection, sql)
        defer { PQclear(result) }
        try check(result)
    }

    func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        let result = try perform(sql, arguments)
        defer { PQclear(result) }
        let (count, columns) = (PQntuples(result), PQnfields(result))
        let readers = try (0..<columns).map { try PostgresColumn(type: PQftype(result, $0)) }
        return try (0..<count).map { row in
            SQLRow(
                try (0..<columns).map { column in
                    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                        return .null
                    }
                    let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
                    return try readers[Int(column)].value(of: bytes)
                })
        }
    }

    func run(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
        let result = try perform(sql, arguments)
        defer { PQclear(result) }
        return Int(String(cString: PQcmdTuples(result))) ?? 0
    }

    private func perform(_ sql: String, _ arguments: [SQLValue]) throws -> OpaquePointer? {
        let parameters = arguments.map(PostgresParameter.init)
        let name = try prepare(Statement(sql: sql, kinds: parameters.map(\.type)))
        let buffers = parameters.map(\.bytes)
        let result = Self.withPointers(to: buffers) { values in
            PQexecPrepared(
                connection, name, Int32(parameters.count), values, buffers.map { Int32($0?.count ?? 0) },
                parameters.map { _ in 1 }, 1)
        }
        do {
            try check(result)
        } catch {
            PQclear(result)
            throw error
        }
        return result
    }

    private static func withPointers<Value>(
        to buffers: [[UInt8]?], _ body: ([UnsafePointer<CChar>?]) -> Value
    ) -> Value {
        // All side by side in one buffer, for an array's address lasts only as long as a closure.
        var offsets: [Int?] = []
        var all: [UInt8] = []
        for buffer in buffers {
            offsets.append(buffer.map { _ in all.count })
            all += buffer ?? []
        }
        // A text of no bytes has an address too, or it would be NULL.
        all.append(0)
        return all.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                body(offsets.map { offset in offset.flatMap { characters.baseAddress?.advanced(by: $0) } })
            }
        }
    }

    private func prepare(_ statement: Statement) throws -> String {
        if let name = prepared[statement] { return name }
        if prepared.count >= Self.mostPrepared {
            try execute("DEALLOCATE ALL")
            prepared = [:]
        }
        let name = "s\(prepared.count)"
        let result = PQprepare(connection, name, statement.sql, Int32(statement.kinds.count), statement.kinds)
        defer { PQclear(result) }
        try check(result)
        prepared[statement] = name
        return name
    }

    /// `PG_DIAG_SQLSTATE`, which is the letter C.
    private static let sqlState: Int32 = 0x43

    private func check(_ result: OpaquePointer?) throws {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return
        default: break
        }
        let state = PQresultErrorField(result, Self.sqlState).map { String(cString: $0) }
        throw PostgresFault.refused(state: state, Self.message(of: connection))
    }
}

/// Why PostgreSQL has not done something.
package enum PostgresFault: Error, Equatable, CustomStringConvertible {
    case notConnected(String)
    /// - Parameter state: of PostgreSQL's Appendix A; nil where the connection broke.
    case refused(state: String?, String)
    case unreadableType(UInt32)
    case outOfMemory

    /// Two transactions got in each other's way, and one of them is to try again: a serialization failure, a deadlock,
    /// or a row that was not there when it was looked for.
    var isConflict: Bool {
        guard case .refused(let state, _) = self else { return false }
        return state == "40001" || state == "40P01" || state == "23505"
    }

    /// There is no connection, or none any more. Class 57P is what a server says that ends or begins (PostgreSQL's
    /// Appendix A), and a state that is missing is libpq's own word.
    var isAway: Bool {
        switch self {
        case .notConnected: true
        case .refused(let state, _): state?.hasPrefix("57P") ?? true
        case .unreadableType, .outOfMemory: false
        }
    }

    package var description: String {
        switch self {
        case .notConnected(let text): "PostgreSQL cannot be reached: \(text)"
        case .refused(let state, let text): "PostgreSQL has refused (\(state ?? "no state")): \(text)"
        case .unreadableType(let type): "PostgreSQL has sent a value of the unknown type \(type)."
        case .outOfMemory: "There is no memory for a connection to PostgreSQL."
        }
    }
}
