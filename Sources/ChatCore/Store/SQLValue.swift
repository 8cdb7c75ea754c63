package import ChatModel
package import Foundation

/// What goes into a statement, and comes out of it.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case uuid(UUID)
}

extension SQLValue {
    package static func id<Named>(_ id: Identifier<Named>) -> SQLValue { .uuid(id.uuid) }
    package static func id<Named>(_ id: Identifier<Named>?) -> SQLValue { id.map { .uuid($0.uuid) } ?? .null }
    package static func time(_ time: Timestamp?) -> SQLValue { time.map { .integer($0.milliseconds) } ?? .null }
    package static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    package static func integer(_ number: Int) -> SQLValue { .integer(Int64(number)) }
    package static func flag(_ flag: Bool) -> SQLValue { .integer(flag ? 1 : 0) }
    package static func name<Name: RawRepresentable<String>>(_ name: Name) -> SQLValue { .text(name.rawValue) }
}
