import RTCWire

/// Any text: the parser does not crash, and a candidate that it has understood reads the same once written.
func fuzzICECandidate(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let candidate = try? ICECandidate(parsing: text) else { return }
    // The written form may be a little longer than what was read, and so beyond the limit on length.
    guard let again = try? ICECandidate(parsing: candidate.attribute) else {
        precondition(candidate.attribute.utf8.count > 1_024)
        return
    }
    precondition(again == candidate)
}
