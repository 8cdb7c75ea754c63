import RTCWire

/// Any bytes as a message that opens a data channel: what is read is written back as it was.
func fuzzDCEP(_ bytes: RawSpan) {
    guard let message = DCEPMessage(parsing: bytes) else { return }
    let written = message.bytes
    switch message {
    case .ack: precondition(written == [2])
    case .open(let open):
        precondition(written.count == bytes.byteCount)
        let again = DCEPMessage(parsing: written.span.bytes)
        precondition(again == message)
        precondition(open.label.utf8.count <= DataChannelOpen.longestText)
    }
}
