import LiveKitServer

/// Any text as the header `If-Match`: malformed, or what matches it is in it, between quotes.
func fuzzIfMatch(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let condition = IfMatch(text) else { return }
    switch condition {
    case .any: precondition(text.contains("*"))
    case .one(let tags):
        for tag in tags { precondition(condition.matches(tag) && text.contains(tag.header)) }
    }
}
