import RTCWire

/// Any text either is refused, or comes back the same from a round trip; the typed accessors never trap.
func fuzzSDP(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let description = try? SessionDescription(parsing: text) else { return }
    let written = description.text
    // Line feeds alone grow by a carriage return each, which may lift a text over the limit.
    guard written.utf8.count <= SDPLimits.bytes else { return }
    guard let again = try? SessionDescription(parsing: written) else { fatalError("what we write must parse") }
    precondition(again == description, "a round trip must change nothing")
    for section in description.media {
        _ = section.candidates
        _ = section.payloadTypes
        _ = section.direction
        _ = section.all(SDP.Simulcast.self)
        for value in section.all(SDP.FormatParameters.self) { _ = value.parameters.text }
    }
}
