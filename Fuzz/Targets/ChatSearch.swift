import ChatCore
import ChatModel
import Foundation

/// Any text as what somebody looks for: what the databases are given has its quotes in pairs, so that nothing of it is
/// taken for their own words, and has no more parts than it may.
func fuzzChatSearch(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let query = try? SearchQuery(text) else { return }
    let fts5 = query.fts5(in: WorkspaceID(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))))
    precondition(fts5.utf8.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2))
    precondition(query.tsquery.utf8.count(where: { $0 == UInt8(ascii: "'") }).isMultiple(of: 2))
    precondition(fts5.utf8.count < 8_000 && query.tsquery.utf8.count < 8_000)
}
