/// A part of a list, and where to go on. In JSON: `{"items": […], "before": …, "after": …}`.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// In the list's own order, which each route tells.
    public var items: [Item]
    /// Leads to the page before; nil when there is none.
    public var before: Cursor?
    /// Leads to the page after; nil when there is none now.
    public var after: Cursor?

    public init(_ items: [Item], before: Cursor? = nil, after: Cursor? = nil) {
        self.items = items
        self.before = before
        self.after = after
    }
}

extension Page: Equatable where Item: Equatable {}

/// A place in a list. Clients pass it back as it came, and read nothing in it.
public struct Cursor: Hashable, Sendable, Codable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
