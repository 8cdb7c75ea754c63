import ChatCore

/// Any text as a message's: each name that is found stands in it behind an `@`, in whatever case, once, and there are
/// no more than a hundred.
func fuzzChatMentions(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let mentions = MentionParser(text)
    precondition(mentions.usernames.count <= 100 && Set(mentions.usernames).count == mentions.usernames.count)
    let lower = Array(text.utf8).map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }
    for name in mentions.usernames {
        precondition(!name.isEmpty)
        precondition(lower.contains(Array("@\(name)".utf8)))
    }
    if mentions.isHere { precondition(lower.contains(Array("@here".utf8))) }
}
