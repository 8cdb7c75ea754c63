import ChatModel

/// Any text as a time (RFC 3339): what is one is the same once it is written and read again.
func fuzzChatTime(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let time = Timestamp(text) else { return }
    precondition(Timestamp(time.description) == time)
}
