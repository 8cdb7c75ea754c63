import RTCWire

/// A byte stream of a TURN server, cut anywhere: what comes out does not depend on where it was cut, is never longer
/// than the length fields allow, and whatever is STUN in it is parsed.
func fuzzTURN(_ bytes: RawSpan) {
    let stream = bytes.withUnsafeBytes { [UInt8]($0) }
    let whole = messages(of: stream, piece: max(stream.count, 1))
    let pieces = messages(of: stream, piece: Int(stream.first ?? 0) % 7 + 1)
    precondition(whole.messages == pieces.messages && whole.failed == pieces.failed)
    precondition(whole.messages.reduce(0) { $0 + $1.count } <= stream.count)
    for message in whole.messages {
        if let header = ChannelDataHeader(message.span.bytes) {
            precondition(message.count == ChannelDataHeader.size + Int(header.length))
        } else if let parsed = try? STUNMessage(parsing: message.span.bytes) {
            _ = (
                parsed.relayedAddresses, parsed.peerAddress, parsed.relayedData, parsed.lifetime, parsed.mobilityTicket
            )
            for case .nonce(let nonce) in parsed.attributes { _ = STUNNonceCookie(nonce: nonce) }
        }
    }
}

private func messages(of stream: [UInt8], piece: Int) -> (messages: [[UInt8]], failed: Bool) {
    var reader = TURNStreamReader()
    var messages: [[UInt8]] = []
    var message: [UInt8] = []
    for start in stride(from: 0, to: stream.count, by: piece) {
        reader.append(Array(stream[start..<min(start + piece, stream.count)]))
        do {
            while try reader.next(into: &message) { messages.append(message) }
        } catch {
            return (messages, true)
        }
    }
    return (messages, false)
}
