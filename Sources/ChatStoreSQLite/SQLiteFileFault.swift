internal import Foundation
internal import GRDB

/// Why a file cannot be a chat's, or one of those beside it.
package enum SQLiteFileFault: Error, Equatable, CustomStringConvertible {
    /// It holds something else.
    case noDatabase(path: String)
    /// Permissions, of the file or of its folder.
    case forbidden(path: String)
    /// There is no room for what has to be written.
    case diskFull(path: String)
    /// What marks the database's place cannot be written.
    case unmarked(path: String)

    package var description: String {
        switch self {
        case .noDatabase(let path): "\(path) is there, and is no database."
        case .forbidden(let path):
            "\(path) cannot be read and written by user \(geteuid()); it and its folder have to be that user's."
        case .diskFull(let path): "There is no room on the disk of \(path)."
        case .unmarked(let path): "\(path) cannot be written by user \(geteuid())."
        }
    }

    /// Nil for what SQLite says of other things.
    init?(_ error: any Error, path: String) {
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_NOTADB?: self = .noDatabase(path: path)
        case .SQLITE_CANTOPEN?, .SQLITE_READONLY?, .SQLITE_PERM?: self = .forbidden(path: path)
        case .SQLITE_FULL?: self = .diskFull(path: path)
        default: return nil
        }
    }
}
