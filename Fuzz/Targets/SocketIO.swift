import SocketIO

/// Any bytes as a Socket.IO packet: refused, or the very same JSON after a round trip; every view of it is safe.
func fuzzSocketIO(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { Array($0) }[...]
    if let json = RawJSON(text) { look(at: json, depth: 0) }
    var parser = SocketIOPacketParser()
    guard var packet = try? parser.receive(text: text) ?? complete(&parser) else { return }
    if let (_, arguments) = packet.event {
        for (index, element) in arguments.elements.enumerated() {
            precondition(arguments[index] == element)
            _ = arguments.binary(at: index)
        }
        precondition(arguments.elements.allSatisfy { RawJSON($0.bytes) == $0 })
    }
    if let arguments = packet.acknowledgement { _ = arguments.elements }
    if let payload = packet.payload { look(at: payload, depth: 0) }

    let attachments = packet.attachments
    packet.attachments = []
    if packet.kind.isBinary || !packet.query.isEmpty { return }
    var second = SocketIOPacketParser()
    guard let again = try? second.receive(text: packet.encodedText[...]) else { fatalError("what we write must parse") }
    precondition(again == packet && attachments.isEmpty)
}

/// The packet with as many attachments as it waits for.
private func complete(_ parser: inout SocketIOPacketParser) -> SocketIOPacket? {
    while parser.awaitsAttachments {
        if let packet = try? parser.receive(binary: [1, 2, 3]) { return packet }
    }
    return nil
}

private func look(at json: RawJSON, depth: Int) {
    precondition(RawJSON(json.bytes) == json)
    _ = (json.string, json.int, json.double, json.bool, json["a"])
    guard depth < 3, let elements = json.elements else { return }
    for element in elements.prefix(50) { look(at: element, depth: depth + 1) }
}
